"""Softplus as PyTorch has it: x itself beyond a threshold, where beta·x is too large to matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .families import Columns, Family, Values
from .fitting import Fit, fit
from .observation import Float64s, Observation

Probe = Callable[[Float64s], Observation]

THRESHOLD = "threshold"


class Clipped(Family):
    """softplus(x) where beta·x <= threshold, else x; without a threshold softplus itself."""

    def accepts(self, values: Values) -> bool:
        """Tell whether the function has these parameters at all."""
        return super().accepts({name: v for name, v in values.items() if name != THRESHOLD})

    def evaluate(self, x: Float64s, values: Columns) -> Float64s:
        """Return the function at `x`."""
        rest = {name: value for name, value in values.items() if name != THRESHOLD}
        smooth = super().evaluate(x, rest)
        if THRESHOLD not in values:
            return smooth
        return np.where(rest["beta"] * x > values[THRESHOLD], x, smooth)


def with_threshold(observed: Observation, found: Fit, call: Probe) -> Fit:
    """Return a fit of softplus with the threshold that was seen, if one was."""
    linear = observed.y == observed.x
    if not linear[-1] or linear.all():
        return found
    first = int(np.flatnonzero(~linear)[-1]) + 1
    low, high = observed.x[first - 1], observed.x[first]
    if high <= 0 or _invisible(observed, found, high):
        return found
    low, high = _narrowed(low, high, call)
    beta = found.values["beta"]
    threshold = _shortest(beta * low, beta * high)
    return fit(observed, found.family, {**found.values, THRESHOLD: threshold}, found.way)


def _invisible(observed: Observation, found: Fit, x: float) -> bool:
    """Tell whether at `x` softplus is x anyway, but for rounding."""
    value = found.family.evaluate(np.array([x]), found.values)[0]
    return abs(float(value) - x) <= 4 * 2.0**-observed.fmt.precision * abs(x)


def _narrowed(low: float, high: float, call: Probe) -> tuple[float, float]:
    """Return the last point that is seen to be smooth and the first that is x itself."""
    for _ in range(4):
        seen = call(np.linspace(low, high, 66))
        x, same = seen.x, seen.x == seen.y
        if same.all() or not same[-1]:
            return low, high
        last = int(np.flatnonzero(~same)[-1])
        low, high = float(x[last]), float(x[last + 1])
    return low, high


def _shortest(low: float, high: float) -> float:
    """Return the number of fewest digits in [low, high)."""
    for digits in range(1, 17):
        step = 10.0 ** (np.floor(np.log10(abs(high))) - digits + 1)
        value = float(f"{np.ceil(low / step) * step:.15g}")
        if low <= value < high:
            return value
    return low
