"""An activation as a card for notebooks: formula, curve and properties in plain HTML.

A card loads nothing and runs no script: the formula is MathML, the curve an SVG in the text's own
colour, so that a card looks right on light and dark pages, in mails and in files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from softgate.catalogue import Entry
from softgate.formula.graph import Node, walk
from softgate.lower.notation import (
    APPLIED,
    MATHML,
    MEANINGS,
    Term,
    fenced,
    mathml,
    meaning,
    render,
    write,
)
from softgate.plotting.palette import style
from softgate.plotting.polylines import Curve, Drawable, apart, curve, last_shown, span
from softgate.records.text import escape

from .record import Properties
from .record import lines as property_lines

LOW, HIGH = -5.0, 5.0
WIDTH, HEIGHT, MARGIN, ASIDE = 200, 130, 36, 40
"""The curve's size, and the room for numbers on the left and below and for names on the right."""

FONT = "font-family:system-ui,sans-serif;font-size:14px;line-height:1.5"
EQUALS = "<mo>=</mo>"
DIGITS = 4
SHOWN = (
    ("range", ("range",), "{}"),
    ("minimum", ("minimum", "minimum_at"), "{} at {}"),
    ("maximum", ("maximum", "maximum_at"), "{} at {}"),
    ("smoothness", ("smoothness",), "{}"),
    ("monotone", ("monotone",), "{}"),
    ("slope is 0 at", ("slope_roots",), "{}"),
    ("largest slope", ("largest_slope", "largest_slope_at"), "{} at {}"),
    ("limits at −∞, +∞", ("left_limit", "right_limit"), "{}, {}"),
    ("slope < 0, z from N(0,1)", ("negative_slope_share",), "{}"),
    ("initial gain", ("gain",), "{}"),
    ("float32 slope is 0 at", ("dead_float32",), "{}"),
)
"""The rows of a card: a name, the keys of its properties, and their format."""


class CardFunction(Drawable, Protocol):
    """A function with a definition, properties and a curve."""

    @property
    def entry(self) -> Entry: ...
    @property
    def properties(self) -> Properties: ...


def card(activation: CardFunction, label: str) -> str:
    """Return the card of a function, under the name `label`; of two operands without a curve."""
    head = heading(activation.entry, label, activation.parameters)
    if activation.entry.nin > 1:
        return frame(head)
    left = f"<div>{head}{picture(activation, label)}</div>"
    return frame(left + table(known_of(activation)))


def frame(inside: str) -> str:
    """Return the parts of a card side by side, or stacked if it is narrow."""
    return (
        f'<div class="softgate-activation" style="{FONT};display:flex;flex-wrap:wrap;'
        f'gap:0.5em 3em;align-items:center">{inside}</div>'
    )


def heading(entry: Entry, label: str, values: Mapping[str, float]) -> str:
    """Return name, formula, what its symbols mean, parameters and source."""
    root = entry.define()
    shown = formula(entry.name, entry.operands, root)
    return (
        f"<div><div><b>{escape(label)}</b></div>"
        f'<div style="font-size:17px;margin:0.5em 0">{shown}</div>'
        f"{explanations(root)}{source(entry, values)}</div>"
    )


def formula(name: str, arguments: Sequence[str], root: Node) -> str:
    """Return name(x) = formula."""
    inputs = [render(Term("name", text=argument), MATHML) for argument in arguments]
    comma = '<mo separator="true">,</mo>'
    left = f'<mi mathvariant="normal">{escape(name)}</mi>{APPLIED}'
    return mathml(root, left + fenced("(", comma.join(inputs), ")") + EQUALS)


def explanations(root: Node) -> str:
    """Return what the symbols σ, Φ and φ of a formula stand for."""
    lines = []
    whole = root.op in MEANINGS and root.args[0].op == "input"
    for op in MEANINGS:
        if whole or not any(node.op == op for node in walk(root)):
            continue
        node = root.graph.node(op, root.graph.input("x"))
        left = render(write(node), MATHML) + EQUALS
        lines.append(f"<div>where {mathml(meaning(node), left)}</div>")
    return "".join(lines)


def source(entry: Entry, values: Mapping[str, float]) -> str:
    """Return the parameters, and the source of the formula, if the entry has one."""
    lines = [f"{escape(p.name)} = {values[p.name]:g}. {escape(p.doc)}" for p in entry.parameters]
    lines += [escape(entry.paper)] if entry.paper else []
    return "".join(
        f'<div style="opacity:0.75;font-size:12px;max-width:36em">{line}</div>' for line in lines
    )


def known_of(activation: CardFunction) -> list[tuple[str, str]]:
    """Return the rows of the table; the reason for a formula that cannot be analysed.

    It must not raise, as a notebook would show a traceback in place of the card.
    """
    try:
        return highlights(activation.properties)
    except ValueError as error:
        return [("properties", str(error))]


def highlights(properties: Properties) -> list[tuple[str, str]]:
    """Return the most important properties, as names and values."""
    texts = {key: text.replace("\n", "; ") for key, _, text in property_lines(properties, DIGITS)}
    rows = []
    for name, keys, template in SHOWN:
        values = [texts[key] for key in keys]
        if values[0] != "none":
            rows.append((name, template.format(*values).replace("at never", "approached")))
    return rows


def table(properties: Sequence[tuple[str, str]]) -> str:
    """Return names and values in two columns."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left;font-weight:normal;opacity:0.75;'
        f'padding:0 1em 0 0;background:none">{escape(name)}</th>'
        f'<td style="text-align:left;padding:0;background:none">{escape(value)}</td></tr>'
        for name, value in properties
    )
    return f'<table style="border-collapse:collapse;font-size:13px">{rows}</table>'


def picture(activation: Drawable, label: str) -> str:
    """Return value and slope from -5 to 5 as an SVG."""
    value, slope = (curve(activation, what, LOW, HIGH) for what in ("value", "slope"))
    low, high = span([value, slope])
    title = escape(f"{label} (thick line) and its slope (thin line) from {LOW:g} to {HIGH:g}")
    colour = style(activation.name).colour
    width, height = WIDTH + MARGIN + ASIDE, HEIGHT + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        f'style="font:11px system-ui,sans-serif;display:block;margin-top:0.8em">'
        f"<title>{title}</title>{axes(low, high)}"
        f'<svg x="{MARGIN}" y="4" width="{WIDTH}" height="{HEIGHT}" overflow="hidden" fill="none" '
        f'stroke="{colour}" stroke-linejoin="round">'
        f"{lines(slope, low, high, 1.2, '4 2.5')}{lines(value, low, high, 2.4, '')}</svg>"
        f"{names({'value': value, 'slope': slope}, low, high)}</svg>"
    )


def place(x: float, y: float, low: float, high: float) -> tuple[float, float]:
    """Return the coordinates of a point in the inner chart."""
    return (x - LOW) / (HIGH - LOW) * WIDTH, (high - y) / (high - low) * (HEIGHT - 8) + 4


def lines(curve: Curve, low: float, high: float, width: float, dashes: str) -> str:
    """Return a curve's pieces as one path, broken where it jumps."""
    steps = []
    for x, y in curve.pieces:
        command = "M"
        for px, py in zip(x.tolist(), y.tolist(), strict=True):
            if not low - (high - low) < py < high + (high - low):  # a pole, or not a number
                command = "M"
                continue
            left, down = place(px, py, low, high)
            steps.append(f"{command}{left:.1f} {down:.1f}")
            command = "L"
    thinned = [step for i, step in enumerate(steps) if i == 0 or step[1:] != steps[i - 1][1:]]
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{"".join(thinned)}" stroke-width="{width:g}"{dash}/>'


def axes(low: float, high: float) -> str:
    """Return the lines x = 0 and y = 0 and the numbers at their ends, in the text's colour."""
    left, zero = MARGIN, place(0, 0, low, high)[1] + 4
    middle, bottom = MARGIN + WIDTH / 2, HEIGHT + 4
    parts = [
        f'<path d="M{left} {zero:.1f}H{left + WIDTH}M{middle:g} 4V{bottom}" '
        f'stroke="currentColor" stroke-opacity="0.4" fill="none"/>'
    ]
    for x in (LOW, 0, HIGH):
        across = MARGIN + place(x, 0, low, high)[0]
        parts.append(text(across, bottom + 14, f"{x:g}", "middle"))
    for y in sorted({low, 0.0, high}):
        down = place(0, y, low, high)[1] + 4
        if y == 0 or abs(down - zero) > 11:  # else it would cover the 0
            parts.append(text(left - 4, down + 4, tick(y), "end"))
    return "".join(parts)


def tick(y: float) -> str:
    """Return a number of the vertical axis in at most six characters, which fit in the margin."""
    if abs(y) < 100:
        return f"{y:.2g}"
    return f"{y:.0f}" if abs(y) < 1e4 else f"{y:.0e}"


def text(x: float, y: float, words: str, anchor: str) -> str:
    """Return words at a place."""
    shown = escape(words.replace("-", "−"))
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{shown}</text>'
    )


def names(curves: dict[str, Curve], low: float, high: float) -> str:
    """Return "value" and "slope" beside the right ends, a line apart."""
    ends = []
    for line in curves.values():
        last = last_shown(line, low, high) or (HIGH, low)
        ends.append(place(HIGH, last[1], low, high)[1] + 4)
    places = apart(ends, 8, HEIGHT, 12)
    return "".join(
        text(MARGIN + WIDTH + 4, down + 4, name, "start")
        for name, down in zip(curves, places, strict=True)
    )
