"""The sections in the order of the page: a module for each, and a line here."""

from __future__ import annotations

from importlib import import_module

from ..section import Found, Missing, Section, failure

NAMES = (
    "answer",
    "curves",
    "tables",
    "approximation",
    "accuracy",
    "speed",
    "layer",
    "units",
    "training",
    "playground",
    "about",
)


def sections(found: Found) -> list[Section]:
    """Return all sections; one whose study has no record says why."""
    return [one(name, found) for name in NAMES]


def one(name: str, found: Found) -> Section:
    """Return the section of a module: `section(found)`, under its `TITLE`."""
    module = import_module(f".{name}", __name__)
    try:
        section: Section = module.section(found)
    except Missing as missing:
        return failure(name, module.TITLE, missing)
    except Exception as error:  # a record may come from a file, and be anything in its fields
        broken = f"its record cannot be shown: {type(error).__name__}: {error}"
        return failure(name, module.TITLE, Missing(name, broken))
    return section
