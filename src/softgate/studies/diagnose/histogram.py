"""A histogram of values whose range is not known before: bins of width 2^k around 0.

Where a value falls outside, pairs of bins are joined and the width doubles; bins of two histograms
then always nest, so that any two can be added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

HALF = 48
"""Bins on each side of 0."""
NARROWEST, WIDEST = -60, 1000
"""Exponents of the width: narrower bins tell nothing, wider ones no float64 fills."""

Float64s = npt.NDArray[np.float64]


@dataclass
class Histogram:
    """Counts of values in [i·2^k, (i+1)·2^k) for i from -HALF to HALF - 1."""

    exponent: int
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Float64s) -> Self:
        """Return the histogram of finite values, as narrow as they allow."""
        largest = float(np.max(np.abs(values), initial=0.0))
        exponent = NARROWEST
        if largest > 0:
            # floor(largest/2^k) <= HALF - 1
            exponent = max(NARROWEST, math.frexp(largest / (HALF - 1))[1])
        found = cls(min(exponent, WIDEST), np.zeros(2 * HALF, np.int64))
        index = np.floor(np.ldexp(values, -found.exponent)).astype(np.int64)
        index = np.clip(index, -HALF, HALF - 1) + HALF
        found.counts += np.bincount(index, minlength=2 * HALF)
        return found

    def widened(self, exponent: int) -> Histogram:
        """Return the same with wider bins."""
        counts = self.counts
        for _ in range(min(exponent - self.exponent, 2 * HALF)):
            pairs = counts.reshape(-1, 2).sum(axis=1)
            counts = np.zeros_like(counts)
            counts[HALF // 2 : HALF // 2 + HALF] = pairs
        return Histogram(exponent, counts)

    def __add__(self, other: Histogram) -> Histogram:
        if not other.counts.any() or not self.counts.any():
            return self if self.counts.any() else other
        exponent = max(self.exponent, other.exponent)
        a, b = self.widened(exponent), other.widened(exponent)
        return Histogram(exponent, a.counts + b.counts)
