"""Curves: value, slope and curvature of every activation, and the logarithm of its left tail.

The grid is dyadic, in sixteenths near 0, so that kinks of functions (at 0, ±1/2, ±1, ±3, 6) are
grid points and values at the cursor are computed by the kernel, not interpolated. Both sides of a
jump are added with a gap between them, so that no line is drawn across it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softgate.plotting.polylines import QUANTITIES, curve
from softgate.plotting.vega import HALF, powers, quantitative, rule, scales, shown_lines
from softgate.records.record import Cell, Grid, Record
from softgate.records.text import escape
from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from ..elements import Results, Section, chips, figure, minus, swatch
from ..page import asset

TITLE = "Curves"
DRAWN = tuple(what for what in QUANTITIES if what != "difference")
GRID_LOW, GRID_HIGH, INNER = -10.0, 10.0, 4.0
FINE, COARSE = 1 / 16, 1 / 8
TAIL_LOW, TAIL_STEP = -12.0, 1 / 16
DIGITS = 9
"""Significant digits of the numbers that are drawn."""


@dataclass(frozen=True)
class Polyline:
    """One quantity of a function: points from left to right, with y = None at a gap."""

    quantity: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class FunctionLines:
    """A function, the name that determines its style, and its lines; `tail` is |f(x)|, x < 0."""

    name: str
    label: str
    formula: str
    own: bool
    """Whether it is one of the user's formulas."""
    lines: tuple[Polyline, ...]
    tail: Polyline

    def line(self, quantity: str) -> Polyline:
        """Return the line of a quantity."""
        return next(line for line in self.lines if line.quantity == quantity)


@dataclass(frozen=True)
class Curves(Record):
    """The lines of several functions."""

    schema: ClassVar[str] = "softgate.report.curves"

    functions: tuple[FunctionLines, ...]

    def grids(self) -> tuple[Grid, ...]:
        """Return the functions and their formulas."""
        rows = tuple((function.label, function.formula) for function in self.functions)
        return (Grid("", ("function", "formula"), rows, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every point of every line."""
        rows: list[tuple[Cell, ...]] = [
            (function.label, line.quantity, x, y)
            for function in self.functions
            for line in (*function.lines, function.tail)
            for x, y in zip(line.x, line.y, strict=True)
        ]
        return ("function", "quantity", "x", "y"), rows


def curves(functions: Iterable[Activation]) -> Curves:
    """Return the lines of activations."""
    return Curves(tuple(_function(activation) for activation in functions))


def grid() -> list[float]:
    """Return the points at which every function is evaluated."""
    inner = np.arange(-INNER, INNER + FINE / 2, FINE)
    outer = np.arange(INNER + COARSE, GRID_HIGH + COARSE / 2, COARSE)
    return [*(-outer[::-1]).tolist(), *inner.tolist(), *outer.tolist()]


def _function(activation: Activation) -> FunctionLines:
    lines = tuple(_line(activation, quantity) for quantity in DRAWN)
    entry = activation.entry
    x = np.arange(TAIL_LOW, TAIL_STEP / 2, TAIL_STEP)
    tail = np.abs(activation(x)).tolist()
    return FunctionLines(
        name=activation.name,
        label=label(activation),
        formula=entry.formula,
        own=entry.user is not None,
        lines=lines,
        tail=Polyline("tail", tuple(x.tolist()), tuple(drawable(y) if y else None for y in tail)),
    )


def _line(activation: Activation, quantity: str) -> Polyline:
    """Return a line: the points of the grid, and both sides of each jump that `curve` returns."""
    x_grid = np.array(grid())
    function = activation if quantity == "value" else getattr(activation, quantity)
    values = dict(zip(x_grid.tolist(), function(x_grid).tolist(), strict=True))
    points: list[tuple[float, float | None]] = []
    for x, y in curve(activation, quantity, GRID_LOW, GRID_HIGH).pieces:
        low, high = float(x[0]), float(x[-1])
        ends = {low: float(y[0]), high: float(y[-1])}
        if points:
            points.append((low, None))
        inside = {at: value for at, value in values.items() if low <= at <= high}
        points += sorted((inside | ends).items())
    return Polyline(quantity, tuple(x for x, _ in points), tuple(drawable(y) for _, y in points))


def drawable(y: float | None) -> float | None:
    """Return a number rounded to `DIGITS` digits, or None if it is not finite."""
    return float(f"{y:.{DIGITS}g}") if y is not None and np.isfinite(y) else None


FIRST = ("gelu", "relu", "silu", "elu", "tanh")
"""The functions shown at first, in addition to the user's formulas."""
LOW, HIGH = -5, 5
"""The range of x shown at first."""
HEIGHT = 280
CAPTIONS = {
    "value": "Value f(x)",
    "slope": "Slope f′(x)",
    "curvature": "Curvature f″(x)",
    "tail": "Left tail |f(x)|, logarithmic",
}


def section(results: Results) -> Section:
    """Return the charts, and a table of the functions at the cursor."""
    record = _ordered(results.take("curves", Curves))
    shown = [f.label for f in record.functions if f.own or f.label in FIRST]
    charts = {f"curves-{what}": _chart(record, what, shown) for what in CAPTIONS}
    figures = "".join(
        figure(id, caption, _alternative(record, what, shown), charts[id])
        for (what, caption), id in zip(CAPTIONS.items(), charts, strict=True)
    )
    return Section("curves", TITLE, _body(record, shown, figures), charts, asset("curves.js"))


def _ordered(record: Curves) -> Curves:
    """Return the user's formulas first, then the common functions, then all others."""
    rank = {name: place for place, name in enumerate(FIRST)}
    key = lambda f: (not f.own, rank.get(f.label, len(rank)), f.label.lower())  # noqa: E731
    return Curves(tuple(sorted(record.functions, key=key)))


def _body(record: Curves, shown: list[str], figures: str) -> str:
    named = [(f.label, swatch(f.name), f.label in shown) for f in record.functions]
    return (
        "<p>Point at a curve or move the slider for the values of all functions at one x. Click "
        "a name to show or hide its curve. Drag to move along x; zoom with the buttons or with "
        "Ctrl and the mouse wheel.</p>"
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
    """Return the table that follows the cursor, with the values at x = 1."""
    rows = "".join(_reading(f) for f in record.functions if f.label in shown)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("f(x)", "f′(x)", "f″(x)"))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Values at x">'
        '<table id="curves-readings"><caption>Values at x = <span class="at">1</span></caption>'
        f'<thead><tr><th scope="col">function</th>{head}</tr></thead><tbody>{rows}</tbody>'
        "</table></div>"
    )


def _reading(function: FunctionLines) -> str:
    values = [_at(function, quantity, 1.0) for quantity in DRAWN]
    cells = "".join(f"<td>{'–' if y is None else minus(f'{y:.4f}')}</td>" for y in values)
    name = f"{swatch(function.name)}{escape(function.label)}"
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def _at(function: FunctionLines, quantity: str, x: float) -> float | None:
    line = function.tail if quantity == "tail" else function.line(quantity)
    return dict(zip(line.x, line.y, strict=True)).get(x)


def _alternative(record: Curves, what: str, shown: list[str]) -> str:
    """Return the text alternative of a chart."""
    at = -3.0 if what == "tail" else 1.0
    values = [
        f"{function.label} {_at(function, what, at):.4g}"
        for function in record.functions
        if function.label in shown and _at(function, what, at) is not None
    ]
    return f"{CAPTIONS[what]}: {', '.join(shown)}. At x = {at:g}: {', '.join(values) or 'all 0'}."


def _chart(record: Curves, what: str, shown: list[str]) -> dict[str, Any]:
    names = {function.label: function.name for function in record.functions}
    tail = what == "tail"
    lines = [(f.label, f.tail if tail else f.line(what)) for f in record.functions]
    values = [{"f": label, "x": list(line.x), "y": list(line.y)} for label, line in lines]
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
    x = quantitative("x", "x", scale=across, axis={"tickCount": 8})
    y = quantitative("y", None, scale=upright, axis=numbers)
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
            shown_lines(values, x, y, scales(names, names), *inside),
            rule("cursor"),
        ],
    }
