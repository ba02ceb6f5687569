"""The sections of the page, one module each: its record and study, if it has one, and its view.

To add a section, write a module with `TITLE` and `section(results)` and list it in `MODULES`; list
its study in `STUDIES` and `RECORDS` of `run.py`.
"""

from __future__ import annotations

from ..section import Missing, Results, Section, failure
from . import (
    about,
    accuracy,
    answer,
    approximation,
    curves,
    layer,
    playground,
    speed,
    tables,
    training,
    units,
)

MODULES = {
    "answer": answer,
    "curves": curves,
    "tables": tables,
    "approximation": approximation,
    "accuracy": accuracy,
    "speed": speed,
    "layer": layer,
    "units": units,
    "training": training,
    "playground": playground,
    "about": about,
}
"""Modules by the id of their section, in the order of the page."""


def build_sections(results: Results) -> list[Section]:
    """Return all sections; one without its record shows the reason."""
    return [build_section(name, results) for name in MODULES]


def build_section(name: str, results: Results) -> Section:
    """Return the section of a module, or one that shows why it has no content."""
    module = MODULES[name]
    try:
        section: Section = module.section(results)
    except Missing as missing:
        return failure(name, module.TITLE, missing)
    except Exception as error:  # the fields of a record from a file may hold anything
        reason = f"its record cannot be shown: {type(error).__name__}: {error}"
        return failure(name, module.TITLE, Missing(name, reason))
    return section
