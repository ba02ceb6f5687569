"""Approximations: the error f(x) - x·Φ(x) of GELU's cheaper forms over x, absolute and relative.

Lines are computed by float64 kernels, and from the definitions where these cannot resolve the
difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softgate.plotting.polylines import Floats, quantity
from softgate.plotting.vega import HALF, powers, quantitative, scales, shown_lines
from softgate.records.record import Cell, Grid, Record
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label

from ..elements import (
    Markup,
    Results,
    Section,
    chips,
    figure,
    minus,
    power,
    shown,
    swatch,
    table,
    toggle,
)
from .curves import drawable

TITLE = "Approximations"
REFERENCE = "gelu"
FORMS = ("gelu_tanh", "gelu_sigmoid")
LOW, HIGH, STEP = -6.0, 6.0, 1 / 16
SEARCHED = 1e-3
"""The step of the grid on which the largest difference is searched first."""
READ_AT = (-4.0, -3.0, -2.0, -1.0, 0.1, 1.0, 3.0)


@dataclass(frozen=True)
class Reading:
    """The difference f - gelu at one point, and the difference relative to gelu."""

    x: float
    difference: float
    relative: float


@dataclass(frozen=True)
class Approximation:
    """One function compared with GELU; the lines are absolute values, None where they are 0."""

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
    """Functions compared with GELU."""

    schema: ClassVar[str] = "softgate.report.approximations"

    reference: str
    x: tuple[float, ...]
    functions: tuple[Approximation, ...]

    def grids(self) -> tuple[Grid, ...]:
        """Return the largest and the mean difference of each function."""
        head = ("", "largest", "at x", "mean, x from N(0,1)", "largest of the slope", "at x")
        rows = tuple(
            (
                form.label,
                f"{form.largest:.3e}",
                f"{form.largest_at:.4f}",
                f"{form.mean:.3e}",
                f"{form.largest_slope:.3e}",
                f"{form.largest_slope_at:.4f}",
            )
            for form in self.functions
        )
        return (Grid(f"Difference from {self.reference}", head, rows),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every point of every line."""
        rows: list[tuple[Cell, ...]] = [
            (form.label, x, difference, relative)
            for form in self.functions
            for x, difference, relative in zip(self.x, form.difference, form.relative, strict=True)
        ]
        return ("function", "x", "difference", "relative"), rows


def approximations(formulas: Iterable[Activation] = ()) -> Approximations:
    """Compare GELU's approximate forms and the user's formulas with GELU."""
    catalogue = activations()
    x = np.arange(LOW, HIGH + STEP / 2, STEP)
    forms = [*(catalogue[name] for name in FORMS), *formulas]
    functions = tuple(_compare(form, catalogue[REFERENCE], x) for form in forms)
    return Approximations(REFERENCE, tuple(x.tolist()), functions)


def _compare(form: Activation, gelu: Activation, x: Floats) -> Approximation:
    difference = quantity(form, "difference", gelu, True)(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = difference / np.abs(gelu(x))
    largest, largest_at = _largest(lambda z: np.abs(form(z) - gelu(z)))
    largest_slope, largest_slope_at = _largest(lambda z: np.abs(form.slope(z) - gelu.slope(z)))
    fine = np.arange(-12.0, 12.0, SEARCHED)
    density = activations()["phi"](fine)
    mean = float(np.sum(np.abs(form(fine) - gelu(fine)) * density) * SEARCHED)
    return Approximation(
        name=form.name,
        label=label(form),
        own=form.entry.user is not None,
        largest=largest,
        largest_at=largest_at,
        mean=mean,
        largest_slope=largest_slope,
        largest_slope_at=largest_slope_at,
        readings=tuple(_reading(form, gelu, at) for at in READ_AT),
        difference=tuple(map(drawable, difference.tolist())),
        relative=tuple(map(drawable, relative.tolist())),
    )


def _reading(form: Activation, gelu: Activation, x: float) -> Reading:
    at = np.array([x])
    signed = float(quantity(form, "difference", gelu, False)(at)[0])
    exact = float(quantity(form, "difference", gelu, True)(at)[0])
    difference = float(np.copysign(0.0 if np.isnan(exact) else exact, signed))
    if np.isnan(signed):  # the formula is not defined there
        difference = signed
    return Reading(x, difference, difference / float(gelu(at)[0]))


def _largest(function: Callable[[Floats], Floats]) -> tuple[float, float]:
    """Return the maximum from -6 to 6 and its position, refining a grid twice."""
    low, high, count = LOW, HIGH, round((HIGH - LOW) / SEARCHED) + 1
    for _ in range(3):
        x = np.linspace(low, high, count)
        y = function(x)
        at = int(np.argmax(np.where(np.isnan(y), -np.inf, y)))
        low, high, count = float(x[max(at - 1, 0)]), float(x[min(at + 1, x.size - 1)]), 201
    return float(y[at]), float(x[at])


HEIGHT = 280
LEAST = 1e-8
"""The lower end of the axis of errors."""
CAPTIONS = {
    "difference": "Absolute error |f(x) − GELU(x)|",
    "relative": "Relative error |f(x)/GELU(x) − 1|",
}


def section(results: Results) -> Section:
    """Return the error of each form over x, and tables of the errors."""
    record = results.take("approximation", Approximations)
    charts = {f"approximation-{what}": _chart(record, what) for what in CAPTIONS}
    figures = "".join(
        figure(id, caption, _alternative(record, what), charts[id])
        for (what, caption), id in zip(CAPTIONS.items(), charts, strict=True)
    )
    named = [(form.label, swatch(form.name), True) for form in record.functions]
    body = (
        f"<p>{_introduction(record)}</p>"
        + chips("approximation-names", "Functions shown", named)
        + f'<div class="charts">{figures}</div>'
        + _summary(record)
        + _readings(record)
    )
    return Section("approximation", TITLE, body, charts, toggle("approximation-names", charts))


def _introduction(record: Approximations) -> str:
    parts = [
        f"{shown(form.label)} differs from it by at most {power(form.largest)} (at x = "
        f"{minus(f'{form.largest_at:.3f}')})"
        for form in record.functions
    ]
    return (
        f"GELU is x·Φ(x). {'; '.join(parts)}. In the left tail, where GELU is close to 0, compare "
        "the relative errors. A narrow dip in a curve is where the difference changes sign."
    )


def _alternative(record: Approximations, what: str) -> str:
    parts = []
    for form in record.functions:
        readings = ", ".join(
            f"{abs(getattr(reading, what)):.2e} at {reading.x:g}"
            for reading in form.readings
            if math.isfinite(reading.difference)
        )
        parts.append(f"{form.label}: {readings}")
    return f"{CAPTIONS[what]}, from {record.x[0]:g} to {record.x[-1]:g}. {'; '.join(parts)}."


def _summary(record: Approximations) -> str:
    rows = [
        (
            _named(form),
            power(form.largest),
            minus(f"{form.largest_at:.4f}"),
            power(form.mean),
            power(form.largest_slope),
            minus(f"{form.largest_slope_at:.4f}"),
        )
        for form in record.functions
    ]
    head = (
        "form", "largest error", "at x", "mean error, x from N(0,1)", "largest slope error", "at x",
    )  # fmt: skip
    return table("Differences from GELU, for x from −6 to 6", head, rows)


def _named(form: Approximation) -> Markup:
    return Markup(swatch(form.name) + shown(form.label))


def _readings(record: Approximations) -> str:
    points = [reading.x for reading in record.functions[0].readings]
    head = ("form", "error", *(minus(f"{x:g}") for x in points))
    rows = [
        (_named(form), kind, *(power(getattr(reading, what), 1) for reading in form.readings))
        for form in record.functions
        for kind, what in (("absolute", "difference"), ("relative", "relative"))
    ]
    return table("Error f − GELU at some x, absolute and relative", head, rows, labels=2)


def _chart(record: Approximations, what: str) -> dict[str, Any]:
    names = {form.label: form.name for form in record.functions}
    values = [
        {"f": form.label, "x": list(record.x), "y": list(getattr(form, what))}
        for form in record.functions
    ]
    most = max(1.0, *(y for line in values for y in line["y"] if y is not None))
    scale = {"type": "log", "clamp": True, "domain": [LEAST, most], "nice": False}
    decades = powers(-8, math.floor(math.log10(most)), 2)
    x = quantitative("x", "x", scale={"domain": [record.x[0], record.x[-1]]})
    y = quantitative("y", None, scale=scale, axis={**decades, "minExtent": 36})
    return {
        "width": HALF,
        "height": HEIGHT,
        "params": [{"name": "shown", "value": list(names)}],
        **shown_lines(values, x, y, scales(names, names), title="function"),
    }
