"""Regions of inputs, the counts of errors in each, and the largest error along the number line.

The boundaries of tails, middle and the neighbourhood of 0 are fixed; nonzero roots of the quantity
are centres of regions. Subnormal inputs, special values, and inputs with a subnormal, zero or
infinite exact result are separate regions, because errors there have other causes. Counts of parts
can be added. A mean is over all inputs of a region: one infinite error makes it infinite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.formats import Format, ulp

from ..properties.exact import BITS, to_float
from ..properties.piecewise import QUANTITIES, Curve
from .errors import Errors, Float64s

TAIL, NEAR = 4.0, 0.125
AROUND_ROOT = 2.0**-6
"""Half width of the region around a root, relative to the root."""
MOST_ROOTS = 8

FINE_BITS = 4
FIRST, LAST = -8, 8
"""Exponents of the binades that a profile divides into sixteen steps."""

SPECIAL_VALUES, ROOT = "±0, ±inf, NaN", "root "
"""The name of the region of special values, and the prefix of the regions around roots."""
SUBNORMAL_INPUTS, SUBNORMAL_RESULTS = "subnormal inputs", "subnormal results"
ZERO_RESULTS, INFINITE_RESULTS = "results that round to 0", "results that round to ±inf"
BY_TRUTH = (SUBNORMAL_INPUTS, SUBNORMAL_RESULTS, ZERO_RESULTS, INFINITE_RESULTS, SPECIAL_VALUES)


@lru_cache(maxsize=32)
def marks(entry: Entry, parameters: tuple[tuple[str, float], ...]) -> dict[str, tuple[float, ...]]:
    """Return the roots of value, slope and curvature, and the breaks between smooth pieces."""
    from softgate.lower.exact import precision

    with precision(BITS):
        curve = Curve(entry, dict(parameters))
        places = {
            quantity: tuple(
                sorted({to_float(zero) for p in curve.pieces for zero in curve.zeros(p, order)})
            )
            for order, quantity in enumerate(QUANTITIES)
        }
        places["breaks"] = tuple(to_float(x) for x in curve.breaks)
    return places


def roots_of(marked: Mapping[str, tuple[float, ...]], quantity: str) -> tuple[float, ...]:
    """Return the roots of a quantity, except a root at x = 0."""
    return tuple(root for root in marked[quantity] if root != 0)


class Regions:
    """The regions of one quantity in one format: their names, and the region of each input."""

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
        """Return the boundaries of intervals, and the index of each interval's region."""
        around = [(r - abs(r) * AROUND_ROOT, r + abs(r) * AROUND_ROOT) for r in roots]
        cuts = sorted({end for end, _ in pieces[:-1]} | {end for pair in around for end in pair})
        ids = []
        for low, high in zip([-math.inf, *cuts], [*cuts, math.inf], strict=True):
            inside = [i for i, (a, b) in enumerate(around) if a <= low and high <= b]
            plain = next(i for i, (end, _) in enumerate(pieces) if high <= end)
            ids.append(len(pieces) + inside[0] if inside else plain)
        return np.array(cuts), np.array(ids, np.int8)

    def by_input(self, x: Float64s) -> npt.NDArray[np.int8]:
        """Return the region of each input by the input alone, without regard to the result."""
        return self._ids[np.searchsorted(self._cuts, x)]

    def is_root(self, x: Float64s) -> npt.NDArray[np.bool_]:
        """Return which inputs lie in the region of a root."""
        near_root: npt.NDArray[np.bool_] = self.by_input(x) >= self._plain
        return near_root & np.isfinite(x)

    def assign(self, x: Float64s, truth: Float64s) -> npt.NDArray[np.int8]:
        """Return the region of each input; regions of the exact result take precedence."""
        region = self.by_input(x)
        size, first = np.abs(truth), self._first_by_truth
        region[size < self.smallest] = first + 1
        region[size <= self.vanishing] = first + 2
        region[size >= self.infinite] = first + 3
        region[np.abs(x) < self.smallest] = first
        region[~np.isfinite(x) | (x == 0)] = first + 4
        return region

    def split(self, errors: Errors) -> list[Errors]:
        """Return the errors in each region."""
        where = self.assign(errors.x, errors.truth)
        return [errors[where == i] for i in range(len(self.names))]

    def of_run(self, x: Float64s, truth: Float64s) -> int | None:
        """Return the region of a run of neighbouring inputs; None if there are several."""
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


@dataclass
class RegionTally:
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

    def add(self, part: Errors) -> None:
        """Count the results of a part."""
        error, own_ulp = part.error_ulp, part.own_ulp
        self.inputs += error.size
        self.include_largest(part)
        with np.errstate(invalid="ignore"):
            self.sum_ulp += float(np.sum(error))
            near, below = np.abs(own_ulp - 0.5) <= part.uncertainty_ulp, own_ulp < 0.5
        undecided = int(np.count_nonzero(near))
        self.undecided += undecided
        self.rounded += int(np.count_nonzero(below))
        if undecided:
            self.rounded -= int(np.count_nonzero(near & below))
        if not np.isfinite(error).all():
            self.not_numbers += int(np.count_nonzero(np.isinf(error)))
        ends = [float(end) for end in (part.x[0], part.x[-1]) if not np.isnan(end)]
        self.low, self.high = min([self.low, *ends]), max([self.high, *ends])
        for kind, where in part.flaws().items():
            setattr(self, kind, getattr(self, kind) + int(np.count_nonzero(where)))
        self._count_breaks(part)

    def include_largest(self, part: Errors) -> None:
        """Update the largest error alone."""
        at = int(np.argmax(part.error_ulp)) if part.x.size else 0
        if part.x.size and part.error_ulp[at] > self.max_ulp:
            self.max_ulp, self.worst = float(part.error_ulp[at]), float(part.x[at])
            self.computed, self.expected = float(part.computed[at]), float(part.truth[at])

    def _count_breaks(self, part: Errors) -> None:
        """Count neighbouring inputs where result and exact result change in opposite directions."""
        with np.errstate(invalid="ignore", over="ignore"):
            step, right = np.diff(part.computed), np.diff(part.truth)
            against = (step < 0) & (right > 0)
            against |= (step > 0) & (right < 0)
        places = np.flatnonzero(against)
        if places.size:
            self.breaks += int(places.size)
            unit = ulp(part.truth[places], part.fmt)
            largest = float(np.max(np.abs(step[places]) / unit))
            self.largest_break_ulp = max(self.largest_break_ulp, largest)

    def merge(self, other: RegionTally) -> None:
        """Add the counts of another part of the same region."""
        if other.max_ulp > self.max_ulp:
            for name in ("max_ulp", "worst", "computed", "expected"):
                setattr(self, name, getattr(other, name))
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_break_ulp = max(self.largest_break_ulp, other.largest_break_ulp)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


_NOT_SUMS = ("max_ulp", "worst", "computed", "expected", "largest_break_ulp", "low", "high")
SUMS = tuple(field.name for field in fields(RegionTally) if field.name not in _NOT_SUMS)


class ProfileAccumulator:
    """The largest error in each step along the number line of one format.

    Binades near 1 have sixteen steps each. Further out and nearer to 0 a step is a whole binade
    (eight binades in float64), so that no region takes up the whole chart.
    """

    def __init__(self, fmt: Format) -> None:
        self.fmt = fmt
        self.shift = fmt.mantissa_bits - FINE_BITS
        self.max_ulp = np.full(1 << (fmt.bits - self.shift), -1.0)

    def add(self, bits: npt.NDArray[np.unsignedinteger], error: Float64s) -> None:
        """Add errors at inputs given by their bit patterns."""
        np.maximum.at(self.max_ulp, (bits >> bits.dtype.type(self.shift)).astype(np.int64), error)

    def add_run(self, first: int, largest: float) -> None:
        """Add the largest error of neighbouring patterns that share a step."""
        index = first >> self.shift
        self.max_ulp[index] = max(self.max_ulp[index], largest)

    def merge(self, other: ProfileAccumulator) -> None:
        """Add the errors of another part."""
        np.maximum(self.max_ulp, other.max_ulp, out=self.max_ulp)

    def steps(self) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
        """Return the ends of the steps from left to right, and the largest error in each."""
        sides = np.split(self.max_ulp, 2)  # the sign is the first bit
        edges, right = self._side(sides[0])
        _, left = self._side(sides[1])
        places = [-edge for edge in reversed(edges[1:])] + edges
        return tuple(places), (*reversed(left), *right)

    def _side(self, values: Float64s) -> tuple[list[float], list[float | None]]:
        fmt, fine = self.fmt, 1 << FINE_BITS
        bias = fmt.max_exponent
        coarse = 8 if fmt.bits == 64 else 1
        edges, errors = [0.0], list[float | None]()
        field, top = 0, 2 * bias + 1
        largest = (2.0 - 2.0**-fmt.mantissa_bits) * 2.0**bias
        while field < top:
            exponent = field - bias
            if field > 0 and FIRST <= exponent < LAST:
                cells = values[field * fine : (field + 1) * fine]
                errors += [_shown(float(cell)) for cell in cells]
                edges += [2.0**exponent * (1 + (k + 1) / fine) for k in range(fine)]
                field += 1
                continue
            stop = min(field + coarse, top, FIRST + bias if exponent < FIRST else top)
            errors.append(_shown(float(values[field * fine : stop * fine].max())))
            edges.append(largest if stop == top else 2.0 ** (max(stop, 1) - bias))
            field = stop
        return edges, errors


def _shown(value: float) -> float | None:
    """Return an error rounded for a chart; None where nothing was measured."""
    return None if value < 0 else float(f"{value:.4g}")
