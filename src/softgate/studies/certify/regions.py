"""Where an input lies: tails, near zero, roots; and where its true result is no normal number.

Tails, middle and the neighbourhood of 0 are cut at fixed places, roots where the definition has
them. What the truth is comes first: a result that must be subnormal, or 0, or infinite is hard for
reasons of its own, wherever its input lies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.formats import Format
from softgate.runtime.kernels import BUILDING

from ..properties.curve import QUANTITIES, Curve
from ..properties.exact import to_float
from .record import ROOT, SPECIAL_VALUES

Float64s = npt.NDArray[np.float64]
TAIL, NEAR = 4.0, 0.125
AROUND_ROOT = 2.0**-6
"""How far around a root, relatively, its region reaches."""
MOST_ROOTS = 8

SUBNORMAL_INPUTS, SUBNORMAL_RESULTS = "subnormal inputs", "subnormal results"
ZERO_RESULTS, INFINITE_RESULTS = "results that round to 0", "results that round to ±inf"
BY_TRUTH = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS, ZERO_RESULTS, INFINITE_RESULTS, SPECIAL_VALUES)


@lru_cache(maxsize=32)
def marks(entry: Entry, parameters: tuple[tuple[str, float], ...]) -> dict[str, tuple[float, ...]]:
    """Return where the value, the slope and the curvature are 0, and where pieces meet."""
    with BUILDING:  # mpmath's context is shared
        curve = Curve(entry, dict(parameters))
        found = {
            quantity: tuple(
                sorted({to_float(zero) for p in curve.pieces for zero in curve.zeros(p, order)})
            )
            for order, quantity in enumerate(QUANTITIES)
        }
        found["breaks"] = tuple(to_float(x) for x in curve.breaks)
    return found


class Regions:
    """The regions of one quantity in one format: their names, and which one an input is in."""

    def __init__(self, fmt: Format, roots: Sequence[float]) -> None:
        self.fmt = fmt
        self.smallest = 2.0**fmt.min_exponent
        self.vanishing = 2.0 ** (fmt.smallest_exponent - 1)
        self.infinite = (2.0 - 2.0**-fmt.precision) * 2.0**fmt.max_exponent
        ends = [(-TAIL, "left tail"), (-NEAR, "negative"), (NEAR, "near zero"), (TAIL, "positive")]
        pieces = [*ends, (math.inf, "right tail")]
        chosen = sorted(sorted((r for r in roots if r != 0), key=abs)[:MOST_ROOTS])
        self._plain = len(pieces)
        self.names = tuple(name for _, name in pieces) + tuple(f"{ROOT}{r:.6g}" for r in chosen)
        self.names += BY_TRUTH
        self._first_by_truth = len(self.names) - len(BY_TRUTH)
        self._cuts, self._ids = self._intervals(pieces, chosen)

    def _intervals(
        self, pieces: Sequence[tuple[float, str]], roots: Sequence[float]
    ) -> tuple[Float64s, npt.NDArray[np.int8]]:
        """Return the places where one interval ends, and the region each interval belongs to."""
        around = [(r - abs(r) * AROUND_ROOT, r + abs(r) * AROUND_ROOT) for r in roots]
        cuts = sorted({end for end, _ in pieces[:-1]} | {end for pair in around for end in pair})
        ids = []
        for low, high in zip([-math.inf, *cuts], [*cuts, math.inf], strict=True):
            inside = [i for i, (a, b) in enumerate(around) if a <= low and high <= b]
            plain = next(i for i, (end, _) in enumerate(pieces) if high <= end)
            ids.append(len(pieces) + inside[0] if inside else plain)
        return np.array(cuts), np.array(ids, np.int8)

    def by_input(self, x: Float64s) -> npt.NDArray[np.int8]:
        """Return the region of each input, whatever the truth is there."""
        return self._ids[np.searchsorted(self._cuts, x)]

    def is_root(self, x: Float64s) -> npt.NDArray[np.bool_]:
        """Tell which inputs lie beside a root."""
        found: npt.NDArray[np.bool_] = self.by_input(x) >= self._plain
        return found & np.isfinite(x)

    def assign(self, x: Float64s, truth: Float64s) -> npt.NDArray[np.int8]:
        """Return the region of each input, by what the truth is there first."""
        found = self.by_input(x)
        size, first = np.abs(truth), self._first_by_truth
        found[size < self.smallest] = first + 1
        found[size <= self.vanishing] = first + 2
        found[size >= self.infinite] = first + 3
        found[np.abs(x) < self.smallest] = first
        found[~np.isfinite(x) | (x == 0)] = first + 4
        return found

    def of_run(self, x: Float64s, truth: Float64s) -> int | None:
        """Return the one region that neighbouring inputs lie in, None where there are several."""
        ends = self.by_input(x[[0, -1]])
        if ends[0] != ends[1] or np.signbit(x[0]) != np.signbit(x[-1]):
            return None
        near, far = np.sort(np.abs(x[[0, -1]]))
        if near == 0 or not np.isfinite(far) or (near < self.smallest <= far):
            return None
        if far < self.smallest:
            return self._first_by_truth
        low, high = float(truth.min()), float(truth.max())
        if low < 0 < high:
            return None
        small, large = sorted((abs(low), abs(high)))
        steps = (self.vanishing, self.smallest, self.infinite)
        if large <= steps[0]:
            return self._first_by_truth + 2
        if small > steps[0] and large < steps[1]:
            return self._first_by_truth + 1
        if small >= steps[1] and large < steps[2]:
            return int(ends[0])
        return self._first_by_truth + 3 if small >= steps[2] else None


def roots_of(marked: Mapping[str, tuple[float, ...]], quantity: str) -> tuple[float, ...]:
    """Return the roots of a quantity but 0 itself."""
    return tuple(root for root in marked[quantity] if root != 0)
