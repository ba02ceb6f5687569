"""The catalogue: every module here with an `entry` is an activation, of one operand or two.

A new file is picked up by the package, the tests and every table.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from .entry import Entry, ErrorBound, Parameter

__all__ = ["Entry", "ErrorBound", "Parameter", "entries"]


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by name, in the order of their names."""
    by_name: dict[str, Entry] = {}
    for info in sorted(iter_modules(__path__), key=lambda module: module.name):
        entry = getattr(import_module(f"{__name__}.{info.name}"), "entry", None)
        if isinstance(entry, Entry):
            by_name[entry.name] = entry
    return by_name
