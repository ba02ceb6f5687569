"""Correct rounding to formats of at most 8 bits, from ml_dtypes' values alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from softgate.formula.formats import BYTE_FORMATS
from softgate.lower import exact

NAMES = tuple(BYTE_FORMATS)
DIGITS, SURE = 200, 190
"""Bits of a truth; one that agrees with a tie in `SURE` bits is that tie."""

TINY = Fraction(1, 1 << 900)


def dtype(name: str) -> np.dtype[Any]:
    """The dtype of a format."""
    return np.dtype(getattr(ml_dtypes, name))


def patterns(name: str) -> Any:
    """All bit patterns of a format as an array of it: 256, 64 or 16 elements."""
    return np.arange(1 << ml_dtypes.finfo(dtype(name)).bits, dtype=np.uint8).view(dtype(name))


def truths(graph: Any, points: Any, **parameters: float) -> dict[float, Fraction]:
    """A graph at finite points, from arb, with `DIGITS` bits; ±TINY far below all formats."""
    results = {}
    numbers = [float(x) for x in points]
    for x, ball in zip(numbers, exact.truths(graph, numbers, DIGITS, **parameters), strict=True):
        if ball.abs_upper() < 2.0**-900:
            results[x] = TINY * ((ball > 0) - (ball < 0))
        else:
            mantissa, exponent = ball.mid().man_exp()
            results[x] = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return results


class Rounding:
    """Rounding to the nearest value of a format, ties to the even bit pattern."""

    def __init__(self, name: str) -> None:
        x = patterns(name)
        wide = x.astype(np.float64)
        order = [i for i in np.argsort(wide, kind="stable") if np.isfinite(wide[i])]
        self.values = np.array(sorted(set(wide[order])))
        even = {float(wide[i]): i % 2 == 0 for i in order}
        self.even = np.array([even[v] for v in self.values.tolist()])
        # Beyond the largest value the next would follow at the same distance.
        step = self.values[-1] - self.values[-2]
        ends = (self.values[0] - step, self.values[-1] + step)
        full = np.concatenate([ends[:1], self.values, ends[1:]])
        self.midpoints = (full[1:] + full[:-1]) / 2
        with np.errstate(all="ignore"):
            low, high = np.array([-np.inf, np.inf]).astype(dtype(name)).astype(np.float64)
        self.results = np.concatenate([[low], self.values, [high]])
        self.even = np.concatenate([[not self.even[0]], self.even, [not self.even[-1]]])

    def __call__(self, exact: list[Fraction]) -> Any:
        """Numbers rounded, as float64."""
        near = np.array([_float(q) for q in exact])
        place = np.searchsorted(self.midpoints, near)
        distance = np.minimum(
            np.abs(near - self.midpoints[np.maximum(place - 1, 0)]),
            np.abs(near - self.midpoints[np.minimum(place, self.midpoints.size - 1)]),
        )
        for i in np.flatnonzero(np.isfinite(near) & (distance <= 2.0**-40 * np.abs(near))):
            place[i] = self._exact(exact[i], int(np.argmin(np.abs(self.midpoints - near[i]))))
        return self.results[place]

    def _exact(self, q: Fraction, middle: int) -> int:
        difference = q - Fraction(self.midpoints[middle])
        if abs(difference) < abs(q) * Fraction(2) ** -SURE:
            return middle if self.even[middle] else middle + 1
        return middle + (difference > 0)


def _float(q: Fraction) -> float:
    try:
        return float(q)
    except OverflowError:
        return float("inf") if q > 0 else float("-inf")
