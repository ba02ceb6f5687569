"""Softplus as PyTorch has it: x itself beyond a threshold, where beta·x is too large to matter.

The threshold is a jump. For every place where it could lie, what was seen left of it is compared
with the smooth function and what lies right of it with the line: cumulated sums tell the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .families import Columns, Family, Values
from .fitting import FLOOR, PRICE, Fit, affine_of, fit, neat, refine
from .observation import Float64s, Observation

Probe = Callable[[Float64s], Observation]

THRESHOLD, PLACE = "threshold", "place"
"""What is told of, and what is searched for: threshold/beta, which stays where it is seen."""
PLACES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Where a search begins, too: jumps that are so large that without them nothing fits."""
TRIED = 2.0 ** np.arange(-2, 4.1, 0.25)
ROUNDS = 6
"""After so many the scale, the offset and beta have settled beside the threshold."""


class Clipped(Family):
    """softplus(x) where beta·x <= threshold, else x; without a threshold softplus itself."""

    def accepts(self, values: Values) -> bool:
        """Tell whether the function has these parameters at all."""
        return super().accepts(_smooth(values))

    def variants(self, values: Values) -> Iterator[Values]:
        """Yield what a search may begin with beside these parameters."""
        yield values
        for place in PLACES:
            yield {**values, PLACE: place}

    def evaluate(self, x: Float64s, values: Columns) -> Float64s:
        """Return the function at `x`."""
        smooth = super().evaluate(x, _smooth(values))
        if THRESHOLD in values:
            return np.where(values["beta"] * x > values[THRESHOLD], x, smooth)
        return np.where(x > values[PLACE], x, smooth) if PLACE in values else smooth


def _smooth(values: Columns) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in (THRESHOLD, PLACE)}


def with_threshold(observed: Observation, found: Fit, call: Probe) -> Fit:
    """Return a fit of softplus with the threshold that was seen, if one was."""
    place, found = 0, _placed(observed, found)
    for _ in range(ROUNDS):
        previous, place = place, _first_on_line(observed, found)
        if place in (0, previous):
            break
        middle = float(observed.x[place - 1] + observed.x[place]) / 2
        values = {**_smooth(found.values), PLACE: middle}
        found = refine(observed, fit(observed, found.family, values, found.way))
    if not place or not _is_seen(observed, found, place):
        values = _smooth(found.values)
        return found if values == found.values else fit(observed, found.family, values, found.way)
    found = neat(observed, found)
    low, high = _narrowed(float(observed.x[place - 1]), float(observed.x[place]), found, call)
    beta = found.values["beta"]
    values = {**_smooth(found.values), THRESHOLD: _shortest(beta * low, beta * high)}
    rms, worst = observed.misfit(found.affine.of(found.family.evaluate(observed.x, values)))
    return replace(found, values=values, rms=float(rms), worst=float(worst))


def _placed(observed: Observation, found: Fit) -> Fit:
    """Return the best fit with a jump at one of some places, or without one."""
    if PLACE in found.values:
        return found
    smooth = found.family.evaluate(observed.x, found.values)
    rows = np.where(observed.x > TRIED[:, None], observed.x, smooth)
    rms, _ = observed.misfit(affine_of(observed, rows, found.way).of(rows))
    best = int(np.argmin(rms))
    if not rms[best] < found.rms:
        return found
    values = {**found.values, PLACE: float(TRIED[best])}
    return fit(observed, found.family, values, found.way)


def _sides(observed: Observation, found: Fit) -> tuple[Float64s, Float64s]:
    """Return the squares of the differences from the smooth function and from the line."""
    beta, x = {"beta": found.values["beta"]}, observed.x
    with np.errstate(all="ignore"):
        smooth = (found.affine.of(found.family.evaluate(x, beta)) - observed.y) / observed.unit
        line = (found.affine.of(x) - observed.y) / observed.unit
    return smooth**2, line**2


def _gained(observed: Observation, found: Fit) -> Float64s:
    """Return what a threshold right before each point explains better than none."""
    smooth, line = _sides(observed, found)
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.cumsum((smooth - line)[::-1])[::-1], nan=-np.inf)


def _first_on_line(observed: Observation, found: Fit) -> int:
    """Return the first point beyond the best threshold; 0 where there is no such."""
    gained = _gained(observed, found)
    place = int(np.argmax(gained))
    x = observed.x[place : place + 1]
    ends = (x, found.family.evaluate(x, _smooth(found.values)))
    line, smooth = (found.affine.of(values).item() for values in ends)
    # The scaled value was rounded, too, before an offset made it smaller.
    size = max(abs(line), abs(smooth), abs(line - found.affine.offset))
    visible = abs(line - smooth) > 2.0**-observed.fmt.mantissa_bits * size
    return place if x[0] > 0 and gained[place] > 0 and visible else 0


def _is_seen(observed: Observation, found: Fit, place: int) -> bool:
    """Tell whether a threshold explains more than chance would."""
    smooth, line = _sides(observed, found)
    noise = float(np.mean(np.minimum(smooth, line))) + FLOOR**2
    return bool(_gained(observed, found)[place] / (2 * noise) >= 2 * PRICE)


def _narrowed(low: float, high: float, found: Fit, call: Probe) -> tuple[float, float]:
    """Return the last point that is seen to be smooth and the first that is on the line."""
    for _ in range(4):
        seen = call(np.linspace(low, high, 66))
        gained = _gained(seen, found)
        first = max(int(np.argmax(gained)), 1)
        if seen.x.size < 3 or not gained[first] > 0:
            break
        low, high = float(seen.x[first - 1]), float(seen.x[first])
    return low, high


def _shortest(low: float, high: float) -> float:
    """Return the number of fewest digits in [low, high)."""
    for digits in range(1, 17):
        step = 10.0 ** (np.floor(np.log10(abs(high))) - digits + 1)
        value = float(f"{np.ceil(low / step) * step:.15g}")
        if low <= value < high:
            return value
    return low
