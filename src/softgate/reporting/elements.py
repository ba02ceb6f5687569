"""Parts of the sections: records, HTML elements (tables, figures, buttons), and the section itself.

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

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from softgate.plotting.palette import style
from softgate.plotting.vega import WHOLE
from softgate.records.record import Grid, Record
from softgate.records.text import a_type, escape

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


class Markup(str):
    """HTML that is not escaped, unlike all other text in a table."""

    __slots__ = ()


Content = str | Markup
PLAIN = (0.01, 1000.0)
"""Numbers in this range are written without a power of ten."""


def table(
    caption: Content,
    header: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    labels: int = 1,
    kind: str = "",
) -> str:
    """Return a table.

    Parameters
    ----------
    caption : str
        The caption, also the name of the region for screen readers.
    header, rows
        Text, which is escaped, or `Markup`.
    labels : int
        The number of cells on the left that are row headers.
    kind : str
        CSS classes: "words" aligns text to the left, "long" wraps it.
    """
    head = "".join(_head(cell, i < labels) for i, cell in enumerate(header))
    body = "".join(f"<tr>{_row(row, labels)}</tr>" for row in rows)
    name = escape(re.sub("<[^>]*>", "", caption) if isinstance(caption, Markup) else caption)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f'<table class="{kind}">'
        f'<caption><span class="name">{shown(caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def of_grid(grid: Grid, caption: str | None = None) -> str:
    """Return a grid of a record as a table."""
    title = grid.title if caption is None else caption
    rows = [tuple(map(minus, row)) for row in grid.rows]
    return table(title, grid.header, rows, labels=grid.labels, kind="words" if grid.text else "")


def notes(lines: Iterable[str]) -> str:
    """Return a box with warnings, or an empty string without any."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<div class="warned" role="note"><ul>{items}</ul></div>' if items else ""


def shown(text: Content) -> str:
    """Return text for HTML: escaped, with line breaks."""
    return text if isinstance(text, Markup) else escape(text).replace("\n", "<br>")


def breakable(text: str) -> str:
    """Return text for HTML that may wrap after each dot, as in torch.nn.functional.gelu."""
    return f'<span class="breakable">{escape(text).replace(".", ".<wbr>")}</span>'


def minus(text: str) -> str:
    """Return text with minus signs instead of hyphens in numbers.

    Examples
    --------
    >>> minus("-3e-5 at x = -1, C-1")
    '−3e−5 at x = −1, C-1'
    """
    return re.sub(r"(?<![^\s(\[,;=±e])-(?=[\d.])", "−", text)


def power(value: float, digits: int = 2) -> Markup:
    """Return a number as a · 10^b, or without a power of ten if it is within `PLAIN`."""
    if not math.isfinite(value):
        return Markup("–")
    if value == 0 or PLAIN[0] <= abs(value) < PLAIN[1]:
        rounded = float(f"{value:.{digits + 1}g}")
        return Markup(minus(f"{rounded:g}"))
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    shown = f"{minus(mantissa)}&thinsp;·&thinsp;10<sup>{minus(str(int(exponent)))}</sup>"
    return Markup(f'<span class="nowrap">{shown}</span>')


def _head(cell: Content, label: bool) -> str:
    kind = ' class="label"' if label else ""
    return f'<th scope="col"{kind}>{shown(cell)}</th>'


def _row(row: Sequence[Content], labels: int) -> str:
    return "".join(
        f'<th scope="row">{shown(cell)}</th>' if i < labels else f"<td>{shown(cell)}</td>"
        for i, cell in enumerate(row)
    )


def figure(id: str, caption: str, alternative: str, spec: Mapping[str, Any]) -> str:
    """Return the HTML element of a chart.

    Parameters
    ----------
    id : str
        The id of the element, and of the chart in `Section.charts`.
    caption : str
        The visible caption.
    alternative : str
        The text alternative for screen readers: what can be read from the chart, with numbers.
    spec : mapping
        The Vega-Lite specification; its width and height set the size.
    """
    kind = "whole" if spec["width"] == WHOLE else "half"
    return (
        f'<figure class="{kind}"><figcaption>{escape(caption)}</figcaption>'
        f'<div class="chart" id="{escape(id)}" role="img" aria-label="{escape(alternative)}" '
        f'style="height:{int(spec["height"])}px">{marker(id)}</div></figure>'
    )


def marker(id: str) -> str:
    """Return the comment that the page replaces by the drawn chart."""
    return f"<!--chart {escape(id)}-->"


def swatch(name: str) -> str:
    """Return a short line in the colour of an activation, for legends and tables."""
    return coloured(style(name).colour)


def coloured(colour: str) -> str:
    """Return a short line in a colour."""
    return f'<span class="swatch" style="border-color:{escape(colour)}" aria-hidden="true"></span>'


def chips(id: str, about: str, lines: Iterable[tuple[str, str, bool]]) -> str:
    """Return buttons that show and hide lines, from their names, swatches and initial states.

    Unlike a legend inside the chart, buttons work with the keyboard and screen readers.
    """
    buttons = "".join(
        f'<button type="button" data-name="{escape(name)}" aria-pressed="{str(on).lower()}">'
        f"{drawn}{escape(name)}</button>"
        for name, drawn, on in lines
    )
    return (
        f'<div class="chips" id="{escape(id)}" role="group" aria-label="{escape(about)}">'
        f"{buttons}</div>"
    )


def toggle(buttons: str, charts: Iterable[str]) -> str:
    """Return JavaScript that connects buttons with charts.

    The names of the pressed buttons become the parameter `shown` of each chart.
    """
    return f"softgate.toggle({json.dumps(buttons)}, {json.dumps(list(charts))});"
