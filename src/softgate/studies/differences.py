"""How far two arrays of floats are apart: absolute, relative to their size, and in ulps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import inf
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
MOST_AXES = 5
"""The most axes of arrays whose order is tried."""


@dataclass(frozen=True)
class Difference:
    """The largest difference of two arrays; NaNs and equal infinities at one place are equal."""

    max_difference: float
    relative: float
    """The largest difference over the largest magnitude of the first array."""
    ulps: float
    """The most numbers of the coarser dtype between two elements; inf beside NaN or infinity."""
    index: tuple[int, ...]
    """Where the largest difference is."""
    first: float
    second: float
    """The elements there."""

    @property
    def equal(self) -> bool:
        """Whether all elements are equal."""
        return self.max_difference == 0


def difference(first: Array, second: Array) -> Difference:
    """Return the difference of two arrays of one shape."""
    coarse = min((first.dtype, second.dtype), key=_bits)
    if coarse.kind in "biu":
        coarse = np.dtype(np.float64)
    a, b = (np.asarray(array, np.float64) for array in (first, second))
    if not a.size:
        return Difference(0.0, 0.0, 0.0, (), 0.0, 0.0)
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, apart)
        apart = np.where(np.isnan(apart), inf, apart)
        at = np.unravel_index(int(np.argmax(apart)), apart.shape)
        largest = float(apart[at])
        finite = np.abs(a[np.isfinite(a)])
        size = float(finite.max()) if finite.size else 0.0
    relative = 0.0 if largest == 0 else largest / size if size else inf
    return Difference(
        largest,
        relative,
        _ulps(a, b, apart, coarse),
        tuple(int(i) for i in at),
        float(a[at]),
        float(b[at]),
    )


def _bits(dtype: np.dtype[Any]) -> int:
    return 64 if dtype.kind in "biu" else dtype.itemsize


def _ulps(a: Array, b: Array, apart: Array, dtype: np.dtype[Any]) -> float:
    """Return the most steps between two elements, counted in the numbers of a dtype."""
    if not apart.any():
        return 0.0
    if not np.isfinite(apart).all():
        return inf
    signed = np.dtype(f"i{dtype.itemsize}")
    steps = []
    with np.errstate(over="ignore"):
        for array in (a, b):
            bits = np.ascontiguousarray(array.astype(dtype)).view(signed).astype(np.float64)
            least = float(np.iinfo(signed).min)
            steps.append(np.where(bits < 0, least - bits, bits))
    return float(np.max(np.abs(steps[0] - steps[1])))


def aligned(first: Array, second: Array) -> Array | None:
    """Return the second array with the axes of the first; None if their sizes differ.

    Axes of length 1 may be missing, and the order of axes may be another, as with channels last;
    of several orders with the shape of the first array, the nearest one is returned.
    """
    if first.shape == second.shape:
        return second
    if first.size != second.size:
        return None
    a, b = first.squeeze(), second.squeeze()
    if a.shape == b.shape:
        return b.reshape(first.shape)
    if sorted(a.shape) != sorted(b.shape) or a.ndim > MOST_AXES:
        return None
    orders = [
        b.transpose(order)
        for order in permutations(range(b.ndim))
        if tuple(b.shape[i] for i in order) == a.shape
    ]
    nearest = min(orders, key=lambda array: difference(a, array).max_difference)
    return nearest.reshape(first.shape)
