"""Tables for the page: captions, scopes, and a frame that scrolls where a phone is too narrow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

from softgate.runtime.records import Grid


class Markup(str):
    """HTML that a section has made itself; all other text in a table is escaped."""

    __slots__ = ()


Content = str | Markup
PLAIN = (0.01, 1000.0)
"""Numbers from here to there are written without a power of ten."""


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
        What the table is of.
    header, rows
        Text, which is escaped, or `Markup`.
    labels : int
        So many cells on the left name their row.
    kind : str
        Classes: "words" are set from the left, and "long" ones broken into lines.
    """
    head = "".join(_head(cell, i < labels) for i, cell in enumerate(header))
    body = "".join(f"<tr>{_row(row, labels)}</tr>" for row in rows)
    named = escape(_plain(caption))
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{named}">'
        f'<table class="{kind}">'
        f'<caption><span class="name">{shown(caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def of_grid(grid: Grid, caption: str | None = None) -> str:
    """Return a record's grid as a table."""
    title = grid.title if caption is None else caption
    rows = [tuple(map(minus, row)) for row in grid.rows]
    return table(title, grid.header, rows, labels=grid.labels, kind="words" if grid.text else "")


def notes(lines: Iterable[str]) -> str:
    """Return remarks that a reader should see before the figures; nothing where there are none."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<div class="warned" role="note"><ul>{items}</ul></div>' if items else ""


def shown(text: Content) -> str:
    """Return text for HTML: escaped, a break for each line's end."""
    return text if isinstance(text, Markup) else escape(text).replace("\n", "<br>")


def breakable(text: str) -> str:
    """Return text for HTML that a phone may break after a dot, as in torch.nn.functional.gelu."""
    return f'<span class="breakable">{escape(text).replace(".", ".<wbr>")}</span>'


def minus(text: str) -> str:
    """Return text in which numbers have a true minus sign.

    Examples
    --------
    >>> minus("-3e-5 at x = -1, C-1")
    '−3e−5 at x = −1, C-1'
    """
    return re.sub(r"(?<![^\s(\[,;=±e])-(?=[\d.])", "−", text)


def power(value: float, digits: int = 2) -> Markup:
    """Return a number as a · 10^b; plainly where that is as short."""
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


def _plain(text: Content) -> str:
    """Return what a caption says without its markup."""
    return re.sub("<[^>]*>", "", text) if isinstance(text, Markup) else text
