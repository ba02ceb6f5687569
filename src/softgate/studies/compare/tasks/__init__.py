"""Tasks that come with softgate. A new task is a subclass of `Task` and an entry in `TASKS`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from softgate.frameworks.block_arguments import unknown

from .images import DeepDigits, Digits, FashionMnist, Mnist, Mnist1d
from .tabular import Churn
from .task import Option, Task, read_options
from .transformers import ActivationSwap, CharacterModel

__all__ = ["Option", "Task", "task", "tasks"]

TASKS: tuple[type[Task], ...] = (
    Digits,
    Mnist1d,
    CharacterModel,
    DeepDigits,
    ActivationSwap,
    Churn,
    Mnist,
    FashionMnist,
)


def tasks() -> dict[str, Task]:
    """Return all tasks by name, with default settings.

    Examples
    --------
    >>> tasks()["digits"].settings["width"]
    128
    """
    return {
        kind.name: kind({name: option.default for name, option in kind.options.items()})
        for kind in TASKS
    }


def task(
    name: str,
    data: str | PathLike[str] | None = None,
    data_dir: str | PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Task:
    """Return a task with the given settings.

    Parameters
    ----------
    name : str
        Such as "digits"; `tasks()` returns all.
    data : path, optional
        A file, for tasks that take one: a table for churn, a text for text.
    data_dir : path, optional
        A folder, for tasks that take one: mnist, fashion-mnist.
    settings : mapping, optional
        Settings other than the defaults, as values or text; a list ("8,48") makes conditions.

    Examples
    --------
    >>> task("digits", settings={"epochs": "3", "dropout": "0,0.5"}).conditions
    (('dropout=0', {'dropout': 0.0}), ('dropout=0.5', {'dropout': 0.5}))
    >>> task("digit")
    Traceback (most recent call last):
    ...
    ValueError: unknown task 'digit'; did you mean 'digits'? ...
    """
    known = {kind.name: kind for kind in TASKS}
    if name not in known:
        raise unknown("task", name, known)
    kind = known[name]
    chosen = kind(
        read_options(name, kind.options, settings or {}),
        _absolute(kind, "data", data),
        _absolute(kind, "data_dir", data_dir),
    )
    chosen.check()
    return chosen


def _absolute(kind: type[Task], which: str, path: str | PathLike[str] | None) -> str | None:
    """Return the absolute path of a file or folder; raise if it is not accepted or missing."""
    if path is None:
        return None
    option = "--" + which.replace("_", "-")
    if which not in kind.takes:
        takers = ", ".join(task.name for task in TASKS if which in task.takes)
        raise ValueError(
            f"the task {kind.name} takes no {which} ({option}); those that do: {takers or 'none'}"
        )
    absolute = Path(fspath(path)).expanduser().resolve()
    exists = absolute.is_dir() if which == "data_dir" else absolute.is_file()
    if not exists:
        what = "folder" if which == "data_dir" else "file"
        raise FileNotFoundError(f"{option} {path}: there is no such {what}")
    return str(absolute)
