"""Tasks that come with softgate: the same model trained with each activation, on data at hand.

A task is a module here and a line in `TASKS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from softgate.frameworks.block_arguments import unknown

from .churn import Churn
from .digits import Deep, Digits, Mnist1d
from .images import Cifar10, FashionMnist, Mnist
from .task import Option, Task, read_options
from .transformers import Swap, Text

__all__ = ["Option", "Task", "task", "tasks"]

TASKS: tuple[type[Task], ...] = (
    Digits,
    Mnist1d,
    Text,
    Deep,
    Swap,
    Churn,
    Mnist,
    FashionMnist,
    Cifar10,
)


def tasks() -> dict[str, Task]:
    """Return every task by its name, with the usual settings.

    Examples
    --------
    >>> tasks()["digits"].settings["width"]
    128
    """
    return {
        kind.name: kind({name: option.usual for name, option in kind.options.items()})
        for kind in TASKS
    }


def task(
    name: str,
    data: str | PathLike[str] | None = None,
    data_dir: str | PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Task:
    """Return a task with settings of one's own.

    Parameters
    ----------
    name : str
        Such as "digits"; `tasks()` has them all.
    data : path, optional
        A file, for tasks that take one: a table for churn, a text for text.
    data_dir : path, optional
        A folder, for tasks that take one: mnist, fashion-mnist, cifar10.
    settings : mapping, optional
        What is not as usual; text is read as on a command line, a list ("8,48") makes conditions.

    Examples
    --------
    >>> task("digits", settings={"epochs": "3", "dropout": "0,0.5"}).conditions
    (('dropout=0', {'dropout': 0.0}), ('dropout=0.5', {'dropout': 0.5}))
    >>> task("digit")
    Traceback (most recent call last):
    ...
    ValueError: unknown task 'digit'; did you mean 'digits'? Known are: ...
    """
    known = {kind.name: kind for kind in TASKS}
    if name not in known:
        raise unknown("task", name, known)
    kind = known[name]
    found = kind(
        read_options(name, kind.options, settings or {}),
        _place(kind, "data", data),
        _place(kind, "data_dir", data_dir),
    )
    found.check()
    return found


def _place(kind: type[Task], which: str, given: str | PathLike[str] | None) -> str | None:
    """Return a file or a folder in full, so that it is the same one from anywhere; or raise."""
    if given is None:
        return None
    option = "--" + which.replace("_", "-")
    if which not in kind.takes:
        takers = ", ".join(one.name for one in TASKS if which in one.takes)
        raise ValueError(
            f"the task {kind.name} takes no {which} ({option}); those that do: {takers or 'none'}"
        )
    place = Path(fspath(given)).expanduser()
    wanted = place.is_dir() if which == "data_dir" else place.is_file()
    if not wanted:
        what = "folder" if which == "data_dir" else "file"
        raise FileNotFoundError(f"{option} {given}: there is no such {what}")
    return str(place.resolve())
