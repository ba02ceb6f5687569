"""The style sheet and the scripts of the page, as files beside this one."""

from __future__ import annotations

from importlib.resources import files


def asset(name: str) -> str:
    """Return a file of this package as text."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
