"""What can be trained, from what a user says: a task's name, a `build` and data, or a script."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from .plan import Trainable


def trainable(
    what: str | os.PathLike[str] | Callable[..., Any],
    data: Any = None,
    data_dir: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Trainable:
    """Return what is trained.

    Parameters
    ----------
    what : str or callable
        A task's name, `build(activation)`, or "train.py:run".
    data : optional
        What a `build` is trained on, or a task's file.
    data_dir : path, optional
        A task's folder.
    settings : mapping, optional
        What is not as usual.

    Raises
    ------
    ValueError, TypeError
        Where there is no such task, or what is given does not go together.
    """
    chosen = dict(settings or {})
    if callable(what):
        from .user_model import Own

        _unused("a build function takes its data as (x, y)", data_dir=data_dir)
        if data is None:
            raise ValueError(
                "a build function was given and no data: compare(build, (x, y)), or a mapping "
                "with train, validation and test"
            )
        return Own(what, data, **chosen)
    if not isinstance(what, str | os.PathLike):
        raise TypeError(
            f"{what!r} is a {type(what).__name__}: expected a task such as 'digits', a function "
            "build(activation), or 'train.py:run'"
        )
    place = os.fspath(what)
    if is_script(place):
        from .scripts import Script

        _unused("a script reads its data itself", data=data, data_dir=data_dir)
        return Script(place, **chosen)
    from .tasks import task

    if isinstance(data, list | tuple):
        raise TypeError(
            f"data = {data!r} is no file: were these activations? Then compare({place!r}, "
            f"activations={data!r})"
        )
    return task(place, data=data, data_dir=data_dir, settings=chosen)


def split_place(text: str) -> tuple[str, str]:
    """Return the file and the function of a place such as train.py:run; the function may be "".

    Examples
    --------
    >>> split_place("train.py:run"), split_place("C:/models/train.py")
    (('train.py', 'run'), ('C:/models/train.py', ''))
    """
    path, _, name = text.rpartition(":")
    return (path, name) if path.endswith(".py") else (text, "")


def is_script(text: str) -> bool:
    """Tell whether a text is a place in a file, as "train.py:run", and no task's name."""
    return split_place(text)[0].endswith(".py")


def _unused(why: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} = {value!r} has no use here: {why}")
