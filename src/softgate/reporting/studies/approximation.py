"""How far GELU's cheaper forms are from GELU: f(x) - x·Φ(x) over x, absolute and relative.

Lines come from float64 kernels, from the definitions where these do not resolve a difference. The
largest differences are searched on a fine grid and then between its points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softgate.plotting.curves import Floats, quantity
from softgate.runtime.activation import Activation
from softgate.runtime.records import Cell, Grid, Record
from softgate.runtime.registry import activations, label

from .curves import kept

REFERENCE = "gelu"
FORMS = ("gelu_tanh", "gelu_sigmoid")
LOW, HIGH, STEP = -6.0, 6.0, 1 / 16
SEARCHED = 1e-3
"""The step of the grid on which the largest difference is searched."""
READ_AT = (-4.0, -3.0, -2.0, -1.0, 0.1, 1.0, 3.0)


@dataclass(frozen=True)
class Reading:
    """The difference at one point: f - gelu, and that over gelu."""

    x: float
    difference: float
    relative: float


@dataclass(frozen=True)
class Approximation:
    """One function held against GELU; the lines are absolute values, None where they are 0."""

    name: str
    label: str
    own: bool
    largest: float
    """The largest |f - gelu| from -6 to 6, and where."""
    largest_at: float
    mean: float
    """The mean of |f - gelu| for x from N(0,1)."""
    largest_slope: float
    largest_slope_at: float
    readings: tuple[Reading, ...]
    difference: tuple[float | None, ...]
    relative: tuple[float | None, ...]


@dataclass(frozen=True)
class Approximations(Record):
    """Functions held against GELU."""

    schema: ClassVar[str] = "softgate.report.approximations"

    reference: str
    x: tuple[float, ...]
    functions: tuple[Approximation, ...]

    def grids(self) -> tuple[Grid, ...]:
        """Return the largest and the mean differences."""
        head = ("", "largest", "at x", "mean, x from N(0,1)", "largest of slope", "at x")
        rows = tuple(
            (
                one.label,
                f"{one.largest:.3e}",
                f"{one.largest_at:.4f}",
                f"{one.mean:.3e}",
                f"{one.largest_slope:.3e}",
                f"{one.largest_slope_at:.4f}",
            )
            for one in self.functions
        )
        return (Grid(f"Difference to {self.reference}", head, rows),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every point of every line."""
        rows: list[tuple[Cell, ...]] = [
            (one.label, x, difference, relative)
            for one in self.functions
            for x, difference, relative in zip(self.x, one.difference, one.relative, strict=True)
        ]
        return ("function", "x", "difference", "relative"), rows


def approximations(own: Iterable[Activation] = ()) -> Approximations:
    """Return how far GELU's other forms, and formulas of the user's, are from it."""
    known = activations()
    x = np.arange(LOW, HIGH + STEP / 2, STEP)
    chosen = [*(known[name] for name in FORMS), *own]
    return Approximations(
        REFERENCE, tuple(x.tolist()), tuple(_study(one, known[REFERENCE], x) for one in chosen)
    )


def _study(one: Activation, gelu: Activation, x: Floats) -> Approximation:
    size = quantity(one, "difference", gelu, True)
    at = size(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = at / np.abs(gelu(x))
    largest, largest_at = _largest(lambda z: np.abs(one(z) - gelu(z)))
    steepest, steepest_at = _largest(lambda z: np.abs(one.slope(z) - gelu.slope(z)))
    fine = np.arange(-12.0, 12.0, SEARCHED)
    density = activations()["phi"](fine)
    mean = float(np.sum(np.abs(one(fine) - gelu(fine)) * density) * SEARCHED)
    return Approximation(
        name=one.name,
        label=label(one),
        own=one.entry.user is not None,
        largest=largest,
        largest_at=largest_at,
        mean=mean,
        largest_slope=steepest,
        largest_slope_at=steepest_at,
        readings=tuple(_reading(one, gelu, place) for place in READ_AT),
        difference=tuple(map(kept, at.tolist())),
        relative=tuple(map(kept, relative.tolist())),
    )


def _reading(one: Activation, gelu: Activation, x: float) -> Reading:
    at = np.array([x])
    signed = float(quantity(one, "difference", gelu, False)(at)[0])
    exact = float(quantity(one, "difference", gelu, True)(at)[0])
    difference = float(np.copysign(0.0 if np.isnan(exact) else exact, signed))
    if np.isnan(signed):  # the formula is no number there
        difference = signed
    return Reading(x, difference, difference / float(gelu(at)[0]))


def _largest(function: Callable[[Floats], Floats]) -> tuple[float, float]:
    """Return the largest value from -6 to 6 and where it is: of a grid, then between its points."""
    low, high, count = LOW, HIGH, round((HIGH - LOW) / SEARCHED) + 1
    for _ in range(3):
        x = np.linspace(low, high, count)
        y = function(x)
        at = int(np.argmax(np.where(np.isnan(y), -np.inf, y)))
        low, high, count = float(x[max(at - 1, 0)]), float(x[min(at + 1, x.size - 1)]), 201
    return float(y[at]), float(x[at])
