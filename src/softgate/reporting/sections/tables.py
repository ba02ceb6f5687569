"""What two articles print about GELU, with the true figures; and every activation's properties."""

from __future__ import annotations

from collections.abc import Iterable

from softgate.studies.properties import PropertyTable
from softgate.studies.properties.record import Properties, lines

from ..chart import swatch
from ..section import Found, Missing, Section
from ..studies.articles import Articles, Checked, Figure
from ..studies.printed import SUMMED_UP
from ..table import Markup, minus, of_grid, shown, table

TITLE = "Tables"
DIGITS = 4
WHOSE = {"first": "first article", "second": "second article", "both": "both articles"}
FALSE = '<span class="bad">does not hold</span>'
SHOWN = (
    ("range", "range"),
    ("smoothness", "smoothness"),
    ("monotone", "monotone"),
    ("minimum", "minimum"),
    ("largest_slope", "largest slope"),
    ("smallest_slope", "least slope"),
    ("small_slope_share", "|slope| < 0.01, share of N(0,1)"),
    ("negative_slope_share", "slope < 0, share of N(0,1)"),
    ("mean", "mean output"),
    ("sd", "sd of output"),
    ("gain", "initial gain"),
)
"""Keys of properties, and what their columns are called."""


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("articles", Articles)
    wrong = sum(not figure.right for figure in record.figures)
    body = (
        f"<p>Two articles on GELU, checked. The first prints {len(record.figures)} figures, of "
        f"which <strong>{wrong} are wrong</strong>: struck out here, the true one beside it. All "
        "true figures come from the definitions, computed with as many digits as it takes.</p>"
        + '<div class="tables">'
        + "".join(_checked(one) for one in record.tables)
        + "".join(of_grid(grid, "Your formula at the same points") for grid in record.own)
        + "</div>"
        + "<h3>What the articles say in words</h3>"
        + _statements(record)
        + "<h3>The second article's summary, in true figures</h3>"
        + _properties(found)
    )
    return Section("tables", TITLE, body)


def _checked(one: Checked) -> str:
    rows = [
        (minus(f"{x:g}"), *map(_figure, row)) for x, row in zip(one.points, one.rows, strict=True)
    ]
    return table(one.title, ("z", *one.header), rows)


def _figure(figure: Figure) -> Markup:
    true = shown(minus(figure.true))
    if figure.right:
        return Markup(true)
    printed = shown(minus(figure.printed))
    return Markup(
        f'<span class="wrong"><s><span class="hidden">wrong: </span>{printed}</s>'
        f'<span class="hidden">true: </span><strong>{true}</strong></span>'
    )


def _statements(record: Articles) -> str:
    rows = [
        (
            Markup(f'“{shown(one.says)}” <span class="note">({WHOSE[one.article]})</span>'),
            Markup('<span class="good">holds</span>' if one.holds else FALSE),
            minus(one.computed),
        )
        for one in record.statements
    ]
    head = ("it says", "verdict", "computed")
    return table("Statements, and what was computed", head, rows, labels=0, kind="words long")


def _properties(found: Found) -> str:
    """Return the table of the activations that are summed up there, and that of all."""
    try:
        record = found.take("properties", PropertyTable)
    except Missing as missing:
        return f'<p class="failed" role="note">{shown(str(missing))}.</p>'
    some = [one for name in SUMMED_UP for one in record if one.function == name]
    own, reason = _formulas(found)
    return (
        table("The activations of the second article", *_turned(*_rows([*some, *own])))
        + reason
        + f"<details><summary>All {len(record) + len(own)} activations</summary>"
        + table("Properties of every activation", *_rows([*own, *record]))
        + "</details>"
    )


def _formulas(found: Found) -> tuple[list[Properties], str]:
    """Return the properties of the user's formulas, if there are any, or why there are none."""
    if "formulas" not in found.records:
        return [], ""
    try:
        return list(found.take("formulas", PropertyTable)), ""
    except Missing as missing:
        return [], f'<p class="failed" role="note">{shown(str(missing))}.</p>'


def _rows(chosen: Iterable[Properties]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows = []
    for one in chosen:
        texts = {key: text for key, _, text in lines(one, DIGITS)}
        name = one.function.partition(":")[0]
        cells = (minus(texts[key].replace("\n", "; ")) for key, _ in SHOWN)
        head = f'<span class="nowrap">{swatch(name)}{shown(one.function)}</span>'
        rows.append((Markup(head), *cells))
    return ("activation", *(head for _, head in SHOWN)), rows


def _turned(
    header: tuple[str, ...], rows: list[tuple[str, ...]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a table with its rows as columns: a few activations fit a phone so."""
    first, *others = zip(header, *rows, strict=True)
    return first, others
