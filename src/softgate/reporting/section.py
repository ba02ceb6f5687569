"""A section of the report: text, charts and a script; and what its studies found.

A module of `sections/` has a `TITLE` and `section(found) -> Section`, and a line in
`sections/__init__.py`. It asks `found` for the records it shows; where a study failed, asking
raises `Missing`, and the section shows the reason in place of its content. The rest stands.

Charts are Vega-Lite specifications by the id of the element that `figure` makes for them. The page
draws each once in Python, so that curves are there before any script runs, and makes it live when
the script has loaded. `width` in a specification is that on a wide screen: HALF or WHOLE.
A script is plain JavaScript; `await softgate.view(id)` gives it the live view of a chart. All text
that is not the module's own goes through `escape`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, TypeVar

from softgate.runtime.records import Record

HALF, WHOLE = 524, 1080
"""Widths of a chart on a wide screen, in pixels: two side by side, or one alone."""

R = TypeVar("R", bound=Record)


class Missing(Exception):
    """A study has no record: it failed, was left out, or its file cannot be read."""

    def __init__(self, study: str, reason: str) -> None:
        super().__init__(study, reason)
        self.study, self.reason = study, reason

    def __str__(self) -> str:
        return f"{self.study}: {self.reason}"


@dataclass(frozen=True)
class Found:
    """What the studies found: a record by the study's name, or why there is none."""

    records: Mapping[str, Record | Missing]

    def take(self, study: str, kind: type[R]) -> R:
        """Return the record of a study; raise `Missing` where there is none."""
        found = self.records.get(study)
        if found is None:
            raise Missing(study, "this study was not run")
        if isinstance(found, Missing):
            raise found
        if not isinstance(found, kind):
            raise Missing(study, f"expected a {kind.__name__}, found a {type(found).__name__}")
        return found


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Attributes
    ----------
    id, title : str
        The element's id, which links lead to, and the heading.
    body_html : str
        What stands below the heading, with a `figure` for every chart.
    charts : mapping
        Vega-Lite specifications by the id of their figure.
    script : str
        JavaScript that runs when the page is there.
    failed : bool
        Whether it only says why there is nothing to show.
    """

    id: str
    title: str
    body_html: str
    charts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    script: str = ""
    failed: bool = False


def figure(id: str, caption: str, says: str, spec: Mapping[str, Any]) -> str:
    """Return the place of a chart.

    Parameters
    ----------
    id : str
        Of the element, and of the chart in `Section.charts`.
    caption : str
        What the chart shows, for everybody.
    says : str
        What can be read from it, numbers included: its text alternative.
    spec : mapping
        The Vega-Lite specification; its width and height set the size.
    """
    kind = "whole" if spec["width"] == WHOLE else "half"
    return (
        f'<figure class="{kind}"><figcaption>{escape(caption)}</figcaption>'
        f'<div class="chart" id="{escape(id)}" role="img" aria-label="{escape(says)}" '
        f'style="height:{int(spec["height"])}px">{marker(id)}</div></figure>'
    )


def marker(id: str) -> str:
    """Return the comment that the page replaces by the drawn chart."""
    return f"<!--chart {escape(id)}-->"


def failure(id: str, title: str, missing: Missing) -> Section:
    """Return the section of a study that has nothing to show."""
    says = (
        f'<p class="failed" role="note"><strong>There is nothing to show here.</strong> '
        f"{escape(str(missing))}.</p>"
    )
    return Section(id, title, says, failed=True)
