"""HTML elements of the sections: tables, numbers, figures, swatches, buttons."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from softgate.plotting.palette import style
from softgate.plotting.vega import WHOLE
from softgate.runtime.printable_text import escape
from softgate.runtime.records import Grid


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
