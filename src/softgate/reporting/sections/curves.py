"""Value, slope and curvature of every activation, and the logarithm of its left tail."""

from __future__ import annotations

from html import escape
from typing import Any

from softgate.plotting.vega import colours, dashes, powers, quantitative, rule

from ..assets import asset
from ..chart import chips, swatch
from ..section import HALF, Found, Section, figure
from ..studies.curves import Curves, Function
from ..table import minus

TITLE = "Curves"
FIRST = ("gelu", "relu", "silu", "elu", "tanh")
"""What is shown before anything is chosen, beside formulas of the user's."""
LOW, HIGH = -5, 5
HEIGHT = 280
CAPTIONS = {
    "value": "Value f(x)",
    "slope": "Slope f′(x)",
    "curvature": "Curvature f″(x)",
    "tail": "Left tail |f(x)|, logarithmic",
}


def section(found: Found) -> Section:
    """Return the section."""
    record = _ordered(found.take("curves", Curves))
    shown = [one.label for one in record.functions if one.own or one.label in FIRST]
    charts = {f"curves-{what}": _chart(record, what, shown) for what in CAPTIONS}
    figures = "".join(
        figure(id, caption, _says(record, what, shown), charts[id])
        for (what, caption), id in zip(CAPTIONS.items(), charts, strict=True)
    )
    return Section("curves", TITLE, _body(record, shown, figures), charts, asset("curves.js"))


def _ordered(record: Curves) -> Curves:
    """Return the functions as people look for them: their own and the usual ones first."""
    rank = {name: place for place, name in enumerate(FIRST)}
    key = lambda one: (not one.own, rank.get(one.label, len(rank)), one.label.lower())  # noqa: E731
    return Curves(tuple(sorted(record.functions, key=key)))


def _body(record: Curves, shown: list[str], figures: str) -> str:
    named = [(one.label, swatch(one.name), one.label in shown) for one in record.functions]
    return (
        "<p>Point at a curve, or move the slider, to read every function at one x. Names switch "
        "curves on and off. Drag to move along x; zoom with the buttons or with Ctrl and the "
        "wheel.</p>"
        + chips("curves-names", "Functions shown", named)
        + f"""<div class="controls"><label>x <input type="range" id="curves-x" min="{LOW}"
max="{HIGH}" step="0.0625" value="1"></label><output id="curves-at" for="curves-x">1</output>
<button type="button" data-zoom="in">Zoom in</button>
<button type="button" data-zoom="out">Zoom out</button>
<button type="button" data-zoom="reset">Reset</button></div>
<div class="charts">{figures}</div>
{_readings(record, shown)}"""
    )


def _readings(record: Curves, shown: list[str]) -> str:
    """Return the table that follows the cursor, filled at x = 1."""
    rows = "".join(_reading(one) for one in record.functions if one.label in shown)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("f(x)", "f′(x)", "f″(x)"))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Readings at x">'
        '<table id="curves-readings"><caption>Readings at x = <span class="at">1</span></caption>'
        f'<thead><tr><th scope="col">function</th>{head}</tr></thead><tbody>{rows}</tbody>'
        "</table></div>"
    )


def _reading(one: Function) -> str:
    cells = "".join(f"<td>{_number(_at(one, q, 1.0))}</td>" for q in list(CAPTIONS)[:3])
    return f'<tr><th scope="row">{swatch(one.name)}{escape(one.label)}</th>{cells}</tr>'


def _at(one: Function, quantity: str, x: float) -> float | None:
    line = one.tail if quantity == "tail" else one.line(quantity)
    return dict(zip(line.x, line.y, strict=True)).get(x)


def _number(value: float | None) -> str:
    return "–" if value is None else minus(f"{value:.4f}")


def _says(record: Curves, what: str, shown: list[str]) -> str:
    """Return what the chart shows, in words."""
    at = -3.0 if what == "tail" else 1.0
    read = [
        f"{one.label} {_at(one, what, at):.4g}"
        for one in record.functions
        if one.label in shown and _at(one, what, at) is not None
    ]
    return f"{CAPTIONS[what]} of {', '.join(shown)}. At x = {at:g}: {', '.join(read) or 'all 0'}."


def _chart(record: Curves, what: str, shown: list[str]) -> dict[str, Any]:
    names = {one.label: one.name for one in record.functions}
    lines = [
        (one.label, one.tail if what == "tail" else one.line(what)) for one in record.functions
    ]
    values = [{"f": label, "x": list(line.x), "y": list(line.y)} for label, line in lines]
    tail = what == "tail"
    across: dict[str, Any] = {"nice": False, "zero": False}
    across |= (
        {"domain": [-12, 0]}
        if tail
        else {"domainMin": {"expr": "low"}, "domainMax": {"expr": "high"}}
    )
    upright: dict[str, Any] = {"type": "log"} if tail else {"zero": False, "nice": True}
    numbers: dict[str, Any] = powers(-100, 10, 10) if tail else {"format": "~g", "tickCount": 6}
    numbers["minExtent"] = 36
    inside = [] if tail else [{"filter": "datum.x >= low - 0.2 && datum.x <= high + 0.2"}]
    return {
        "width": HALF,
        "height": HEIGHT,
        "params": [
            {"name": "shown", "value": shown},
            {"name": "low", "value": LOW},
            {"name": "high", "value": HIGH},
            {"name": "cursor", "value": 1},
        ],
        "layer": [
            {
                "data": {"values": values},
                "transform": [
                    {"filter": "indexof(shown, datum.f) >= 0"},
                    {"flatten": ["x", "y"]},
                    *inside,
                ],
                "mark": {"type": "line", "clip": True},
                "encoding": {
                    "x": quantitative("x", "x", scale=across, axis={"tickCount": 8}),
                    "y": quantitative("y", None, scale=upright, axis=numbers),
                    "color": {"field": "f", "scale": colours(names), "legend": None},
                    "strokeDash": {"field": "f", "scale": dashes(names), "legend": None},
                },
            },
            rule("cursor"),
        ],
    }
