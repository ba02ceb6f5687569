"""Value, slope and curvature of activations on one grid, and their left tails: lines to be drawn.

The grid is dyadic, in sixteenths where functions bend, so that their kinks (at 0, ±1/2, ±1, ±3, 6)
are points of it and a reading is what the kernel returns there. Both ends of a jump are added, and
a gap between them, so that no line bridges it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softgate.plotting.curves import QUANTITIES, Curve, curve
from softgate.runtime.activation import Activation
from softgate.runtime.records import Cell, Grid, Record
from softgate.runtime.registry import label

DRAWN = tuple(what for what in QUANTITIES if what != "difference")
LOW, HIGH, INNER = -10.0, 10.0, 4.0
FINE, COARSE = 1 / 16, 1 / 8
TAIL_LOW, TAIL_STEP = -12.0, 1 / 16
DIGITS = 9
"""Significant digits kept of a number that is drawn and read."""


@dataclass(frozen=True)
class Line:
    """One quantity of a function: points from left to right, y None at a gap."""

    quantity: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class Function:
    """A function, what its picture is styled by, and its lines; `tail` is |f(x)|, left of 0."""

    name: str
    label: str
    formula: str
    own: bool
    """Whether it is a formula of the user's."""
    lines: tuple[Line, ...]
    tail: Line

    def line(self, quantity: str) -> Line:
        """Return the line of a quantity."""
        return next(line for line in self.lines if line.quantity == quantity)


@dataclass(frozen=True)
class Curves(Record):
    """Lines of functions."""

    schema: ClassVar[str] = "softgate.report.curves"

    functions: tuple[Function, ...]

    def grids(self) -> tuple[Grid, ...]:
        """Return the functions and their formulas."""
        rows = tuple((one.label, one.formula) for one in self.functions)
        return (Grid("", ("function", "formula"), rows, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every point of every line."""
        rows: list[tuple[Cell, ...]] = [
            (one.label, line.quantity, x, y)
            for one in self.functions
            for line in (*one.lines, one.tail)
            for x, y in zip(line.x, line.y, strict=True)
        ]
        return ("function", "quantity", "x", "y"), rows


def curves(chosen: Iterable[Activation]) -> Curves:
    """Return the lines of activations."""
    return Curves(tuple(_function(activation) for activation in chosen))


def grid() -> list[float]:
    """Return the points at which every function is read."""
    inner = np.arange(-INNER, INNER + FINE / 2, FINE)
    outer = np.arange(INNER + COARSE, HIGH + COARSE / 2, COARSE)
    return [*(-outer[::-1]).tolist(), *inner.tolist(), *outer.tolist()]


def _function(activation: Activation) -> Function:
    lines = tuple(_line(activation, quantity) for quantity in DRAWN)
    entry = activation.entry
    return Function(
        name=activation.name,
        label=label(activation),
        formula=entry.formula,
        own=entry.user is not None,
        lines=lines,
        tail=_tail(activation),
    )


def _line(activation: Activation, quantity: str) -> Line:
    """Return a line: the grid's points, and what `curve` found at jumps."""
    places = np.array(grid())
    function = activation if quantity == "value" else getattr(activation, quantity)
    read = dict(zip(places.tolist(), function(places).tolist(), strict=True))
    points: list[tuple[float, float | None]] = []
    for i, (low, high, ends) in enumerate(_pieces(curve(activation, quantity, LOW, HIGH))):
        if i:
            points.append((low, None))
        inside = {x: y for x, y in read.items() if low <= x <= high}
        points += sorted((inside | ends).items())
    return Line(quantity, tuple(x for x, _ in points), tuple(kept(y) for _, y in points))


def _pieces(found: Curve) -> list[tuple[float, float, dict[float, float]]]:
    """Return from where to where each piece goes, and its values at both ends."""
    return [
        (float(x[0]), float(x[-1]), {float(x[k]): float(y[k]) for k in (0, -1)})
        for x, y in found.pieces
    ]


def _tail(activation: Activation) -> Line:
    x = np.arange(TAIL_LOW, TAIL_STEP / 2, TAIL_STEP)
    size = np.abs(activation(x))
    return Line("tail", tuple(x.tolist()), tuple(kept(y) if y else None for y in size.tolist()))


def kept(y: float | None) -> float | None:
    """Return a number with the digits that are read, None for what no line can show."""
    return float(f"{y:.{DIGITS}g}") if y is not None and np.isfinite(y) else None
