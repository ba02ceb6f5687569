"""What is counted in a region: errors, signs, zeros, breaks of monotonicity; sums of parts add up.

An error is the distance to the truth in ulps of the truth's scale, infinite where a result is no
number and should be one, or the other way round. Nothing is left out of a mean: one infinite error
makes it infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula import rounding
from softgate.formula.formats import Format

Float64s = npt.NDArray[np.float64]
SIGN_ULP = 4.0
"""A sign counts as wrong from this error on: beside a root of a slope nobody's is right."""


@dataclass
class Part:
    """Results at inputs in ascending or descending order, with their truths and errors."""

    x: Float64s
    y: Float64s
    truth: Float64s
    error: Float64s
    own: Float64s
    """The error in ulps of the truth itself, which decides whether a result is rounded right."""
    doubt: Float64s | float
    """How far that may be off."""

    def __getitem__(self, which: Any) -> Part:
        doubt = self.doubt[which] if isinstance(self.doubt, np.ndarray) else self.doubt
        x, y, truth = self.x[which], self.y[which], self.truth[which]
        return Part(x, y, truth, self.error[which], self.own[which], doubt)


@dataclass
class Tally:
    """The counts of one region so far."""

    inputs: int = 0
    max_ulp: float = -1.0
    worst: float = 0.0
    computed: float = 0.0
    expected: float = 0.0
    sum_ulp: float = 0.0
    rounded: int = 0
    undecided: int = 0
    not_numbers: int = 0
    wrong_signs: int = 0
    wrong_zeros: int = 0
    lost: int = 0
    flushed: int = 0
    breaks: int = 0
    largest_break_ulp: float = 0.0
    low: float = float("inf")
    high: float = float("-inf")

    def add(self, part: Part, fmt: Format) -> None:
        """Count the results of a part."""
        error, own = part.error, part.own
        self.inputs += error.size
        at = int(np.argmax(error))
        if error[at] > self.max_ulp:
            self.max_ulp, self.worst = float(error[at]), float(part.x[at])
            self.computed, self.expected = float(part.y[at]), float(part.truth[at])
        with np.errstate(invalid="ignore"):
            self.sum_ulp += float(np.sum(error))
            near, below = np.abs(own - 0.5) <= part.doubt, own < 0.5
        undecided = int(np.count_nonzero(near))
        self.undecided += undecided
        self.rounded += int(np.count_nonzero(below))
        if undecided:
            self.rounded -= int(np.count_nonzero(near & below))
        if not np.isfinite(error[at]):
            self.not_numbers += int(np.count_nonzero(np.isinf(error)))
        self._extent(part.x)
        self._signs(part, fmt)
        self._order(part, fmt)

    def _extent(self, x: Float64s) -> None:
        ends = [float(end) for end in (x[0], x[-1]) if not np.isnan(end)]
        self.low, self.high = min([self.low, *ends]), max([self.high, *ends])

    def _signs(self, part: Part, fmt: Format) -> None:
        y, truth = part.y, part.truth
        other = np.signbit(y) != np.signbit(truth)
        zero = y == 0
        if other.any():
            known = other & (truth != 0) & ~np.isnan(y) & ~np.isnan(truth)
            # Beside a root of a slope 0 of either sign is as good as any number of that size.
            far = (part.error >= 1.0) | (np.abs(truth) < 2.0**fmt.smallest_exponent)
            self.wrong_zeros += int(np.count_nonzero(known & zero & far))
            self.wrong_signs += int(np.count_nonzero(known & ~zero & (part.error >= SIGN_ULP)))
        if zero.any():
            size = np.abs(truth)
            normal = size >= 2.0**fmt.min_exponent
            self.lost += int(np.count_nonzero(zero & normal & (part.error >= 1.0)))
            small = (size >= 2.0**fmt.smallest_exponent) & (part.own >= 1.0)
            self.flushed += int(np.count_nonzero(zero & ~normal & small))

    def _order(self, part: Part, fmt: Format) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            step, right = np.diff(part.y), np.diff(part.truth)
            against = (step < 0) & (right > 0)
            against |= (step > 0) & (right < 0)
        places = np.flatnonzero(against)
        if places.size:
            self.breaks += int(places.size)
            unit = rounding.ulp(part.truth[places], fmt)
            largest = float(np.max(np.abs(step[places]) / unit))
            self.largest_break_ulp = max(self.largest_break_ulp, largest)

    def merge(self, other: Tally) -> None:
        """Add what another part of the same region had."""
        if other.max_ulp > self.max_ulp:
            for name in ("max_ulp", "worst", "computed", "expected"):
                setattr(self, name, getattr(other, name))
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_break_ulp = max(self.largest_break_ulp, other.largest_break_ulp)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


SUMS = tuple(
    field.name
    for field in fields(Tally)
    if field.name
    not in ("max_ulp", "worst", "computed", "expected", "largest_break_ulp", "low", "high")
)


def errors(x: Float64s, y: Float64s, truth: Float64s, scale: Float64s, fmt: Format) -> Float64s:
    """Return errors in ulps of `scale`, as the kernel of `lower.error` has them for float32."""
    largest = (2.0 - 2.0**-fmt.precision) * 2.0**fmt.max_exponent
    with np.errstate(invalid="ignore", over="ignore"):
        exact = np.where(np.abs(truth) >= largest, np.copysign(np.inf, truth), truth)
        found = np.abs(y - exact) / rounding.ulp(scale, fmt)
    found = np.where(np.isnan(found), np.inf, found)
    found = np.where(y == exact, 0.0, found)
    given, result = np.isnan(x), np.isnan(y)
    return np.where(given | result, np.where(given & result, 0.0, np.inf), found)
