"""A section of the report (text, charts, a script) and the records that sections are made from.

A module of `sections/` has a `TITLE` and a function `section(results) -> Section`, and is listed in
`sections/__init__.py`. It reads its records with `Results.take`, which raises `MissingRecord` if
the study failed; the page then shows the reason in that section and keeps all others.

Charts are Vega-Lite specifications by the id of the element that `figure` returns for them. Each is
drawn once in Python, so that the curves are visible before any script runs, and becomes interactive
when the page's script has loaded. `width` in a specification is HALF or WHOLE, the width on a wide
screen. A script is plain JavaScript; `await softgate.view(id)` returns the live view of a chart.
Text from records must go through `escape`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from softgate.runtime.printable_text import a_type, escape
from softgate.runtime.records import Record

R = TypeVar("R", bound=Record)


class MissingRecord(Exception):
    """A study has no record: it failed, was not run, or its file cannot be read.

    `skipped` is whether it was not run because a package that it needs is not installed.
    """

    def __init__(self, study: str, reason: str, *, skipped: bool = False) -> None:
        super().__init__(study, reason)
        self.study, self.reason, self.skipped = study, reason, skipped

    def __str__(self) -> str:
        return f"{self.study}: {self.reason}"


@dataclass(frozen=True)
class Results:
    """The record of each study by the study's name, or the reason that there is none."""

    records: Mapping[str, Record | MissingRecord]

    def take(self, study: str, kind: type[R]) -> R:
        """Return the record of a study; raise `MissingRecord` if there is none of this type."""
        record = self.records.get(study)
        if record is None:
            raise MissingRecord(study, "this study was not run")
        if isinstance(record, MissingRecord):
            raise record
        if not isinstance(record, kind):
            raise MissingRecord(study, f"expected a {kind.__name__}, found {a_type(record)}")
        return record


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes
    ----------
    id, title : str
        The id of the element, which is the target of links, and the heading.
    body_html : str
        The content below the heading, with a `figure` for every chart.
    charts : mapping
        Vega-Lite specifications by the id of their figure.
    script : str
        JavaScript that runs when the page has loaded.
    failed : bool
        Whether the section shows only the reason that it has no content.
    """

    id: str
    title: str
    body_html: str
    charts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    script: str = ""
    failed: bool = False


def failure(id: str, title: str, missing: MissingRecord) -> Section:
    """Return a section that shows only why it has no content."""
    head = "Skipped." if missing.skipped else "No results."
    message = f'<p class="failed" role="note"><strong>{head}</strong> {escape(str(missing))}.</p>'
    return Section(id, title, message, failed=True)
