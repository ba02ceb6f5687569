"""The contents of a plot, for every renderer: curves, styles, ranges, positions of names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .palette import Style
from .polylines import Curve, Floats, height

FLAT = 1e-9
"""Curves that vary by less than this fraction of their magnitude show only rounding errors."""


@dataclass(frozen=True)
class PlotSpec:
    """Curves, their styles, and the text around them."""

    curves: tuple[Curve, ...]
    styles: tuple[Style, ...]
    title: str
    axis: str
    low: float
    high: float
    log: bool = False
    zero: str = ""
    """The name of the function that the line at 0 represents in a plot of differences."""
    absent: tuple[str, ...] = ()
    """Functions without a curve: 0 everywhere, on a logarithmic scale."""


def span(curves: Sequence[Curve], log: bool = False) -> tuple[float, float]:
    """Return the lowest and the highest y to show, as logarithms if `log`.

    A pole, or a root on a logarithmic scale, is clipped, as it would flatten all curves. 0 is
    included if its distance from the curves is at most their height, or if they are flat.
    """
    y = np.concatenate([curve.points()[:, 1] for curve in curves])
    even = np.concatenate([evenly(curve) for curve in curves])
    y, even = (values[np.isfinite(values)] for values in (y, even))
    if log:
        y, even = (np.log10(values[values > 0]) for values in (y, even))
    if not y.size:
        return (-1.0, 0.0) if log else (0.0, 1.0)
    low, high = float(y.min()), float(y.max())
    usual = height(even)
    if high - low > 20 * usual:
        inner = np.percentile(even, [2, 98])
        low, high = float(inner[0]) - usual, float(inner[1]) + usual
    if not log:
        flat = high - low <= FLAT * max(abs(low), abs(high))
        if flat or max(low, -high) <= high - low:
            low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def evenly(curve: Curve, count: int = 400) -> Floats:
    """Return a curve's y at equidistant x; the points of a curve are dense where it bends."""
    x, y = curve.points().T
    even = np.linspace(x[0], x[-1], count)
    return np.asarray(y[np.minimum(np.searchsorted(x, even), x.size - 1)], dtype=np.float64)


def last_shown(curve: Curve, low: float, high: float) -> tuple[float, float] | None:
    """Return the last finite point of a curve, clipped to the range; None if there is none."""
    data = curve.points()
    data = data[np.isfinite(data[:, 1])]
    if not data.size:
        return None
    return float(data[-1, 0]), min(max(float(data[-1, 1]), low), high)


def apart(ends: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """Return places near `ends`, in order, at least `gap` apart and from `low` to `high`."""
    order = sorted(range(len(ends)), key=lambda i: (ends[i], -i))
    gap = min(gap, (high - low) / max(len(ends) - 1, 1))
    places = dict.fromkeys(order, 0.0)
    below = -math.inf
    for i in order:
        below = places[i] = max(ends[i], below + gap)
    above = high
    for i in reversed(order):
        above = places[i] = min(places[i], above)
        above -= gap
    return [places[i] for i in range(len(ends))]
