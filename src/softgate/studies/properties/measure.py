"""All properties of a function, computed from its definition and its kernels.

Shapes come from the definition with many digits. Shares of N(0,1) inputs come from the exact points
where a slope crosses a level. Means come from Gauss-Legendre panels, split at every break and
halved until two estimates agree to 1e-15 of the whole; if a kernel's rounding errors prevent that,
1e-10 suffices, or there is no result.

Flat regions, where the computed slope is exactly 0 and no gradient passes, come from the kernels of
each format: GELU's exact slope is not 0 in the left tail, but every format rounds it to 0 there.
16-bit formats are evaluated at all inputs, float32 and float64 at samples of every binade and
around every root and break; the ends of a run of zeros are located by bisection, and their
neighbourhood is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.formats import FORMATS, Format, all_values
from softgate.lower.exact import precision
from softgate.runtime import kernels, tables
from softgate.runtime.routes import Route, Runner

from . import exact, shape
from .piecewise import Curve, Floats
from .record import Extreme, Interval, Properties
from .shape import extremes

REACH = 39
"""Beyond this the normal density is below every float64."""
NODES = 24
MOST_HALVINGS = 100
MOST_PANELS = 4000
AGREE = 1e-15
ROUGHLY = 1e-10


def mass(low: float, high: float) -> float:
    """Return the probability of an interval under N(0,1), without cancellation in the tails."""
    if low > 0:
        low, high = -high, -low
    if high <= 0:
        return _below(high) - _below(low)
    return 1.0 - _below(low) - _below(-high)


def _below(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def share(
    curve: Curve, levels: tuple[Fraction, ...], holds: Callable[[exact.Number], bool]
) -> float | None:
    """Return the share of N(0,1) inputs at which `holds(slope)`, which changes only at `levels`.

    None if the function is not defined everywhere.
    """
    total = []
    for piece in curve.pieces:
        if not piece.defined:
            return None
        zeros = [z for level in levels for z in curve.zeros(piece, 1, level)]
        ends = [piece.low, *sorted(set(zeros)), piece.high]
        for low, high in pairwise(ends):
            between = type(piece)(low, high, piece.branch).inside()[0]
            if holds(exact.at(piece.derivative(1), between)):
                left = -math.inf if low is None else exact.to_float(low)
                right = math.inf if high is None else exact.to_float(high)
                total.append(mass(left, right))
    return math.fsum(total)


def expectation(curve: Curve, order: int, of: Callable[[Floats], Floats]) -> float | None:
    """Return E of(quantity(z)) for z from N(0,1); None if it does not exist."""
    if not all(piece.defined for piece in curve.pieces):
        return None

    def integrand(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return of(curve.kernel(order, x)) * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    inner = {float(x) for x in curve.breaks if abs(x) < REACH}
    edges = np.array(sorted({*map(float, range(-REACH, REACH + 1)), *inner}))
    return integral(integrand, edges)


def integral(function: Callable[[Floats], Floats], edges: Floats) -> float | None:
    """Return the integral over consecutive panels; None if it does not converge.

    Terms are summed exactly by `fsum`, so that an odd function integrates to 0.
    """
    low, high = edges[:-1], edges[1:]
    terms: list[Floats] = []
    scale: float | None = None
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        whole = _panels(function, low, high)
        left, right = _panels(function, low, middle), _panels(function, middle, high)
        halves = np.concatenate([left, right], axis=1)
        if not np.isfinite(halves).all():
            return None
        if scale is None:
            scale = float(np.abs(halves).sum())
            ends = np.abs(function(edges[[0, -1]]))
            if not np.isfinite(ends).all() or ends.max() > AGREE * scale:
                return None
        error = np.abs(whole.sum(axis=1) - halves.sum(axis=1))
        open_ = error > AGREE * scale
        if open_.sum() > MOST_PANELS:
            # Rounding errors of a user's formula: halving does not improve the agreement.
            if error.sum() > ROUGHLY * scale:
                return None
            open_[:] = False
        terms.append(halves[~open_].ravel())
        if not open_.any():
            return math.fsum(np.concatenate(terms))
        low, middle, high = low[open_], middle[open_], high[open_]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return None


@cache
def _rule() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def _panels(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the weighted values of each panel, a row each."""
    nodes, weights = _rule()
    half = (high - low) / 2
    x = ((low + high) / 2)[:, None] + half[:, None] * nodes
    return function(x.ravel()).reshape(x.shape) * weights * half[:, None]


SAMPLES = 1 << 16
AROUND = 64
KINDS: dict[str, tuple[Any, Any]] = {
    "float16": (np.uint16, np.float16),
    "bfloat16": (np.uint16, None),
    "float32": (np.uint32, np.float32),
    "float64": (np.uint64, np.float64),
}

Keys = npt.NDArray[np.uint64]


class Slopes:
    """The slopes of a function in one format; inputs are indexed by their order among floats."""

    def __init__(self, entry: Entry, fmt: Format, parameters: Mapping[str, float]) -> None:
        self.fmt = fmt
        self.unsigned, self.kind = KINDS[fmt.name]
        self.sign = 1 << (fmt.bits - 1)
        infinity = ((1 << (fmt.bits - 1 - fmt.mantissa_bits)) - 1) << fmt.mantissa_bits
        self.first = self.sign - 1 - infinity
        """The position of -inf; those of -0 and +0 are neighbours."""
        self.last = self.sign + infinity
        """The position of +inf."""
        self.entry, self.parameters = entry, dict(parameters)

    def patterns(self, keys: Keys) -> npt.NDArray[Any]:
        """Return the bit patterns at these positions; those of negative numbers descend."""
        negative = np.uint64(2 * self.sign - 1) - keys
        bits = np.where(keys >= self.sign, keys - np.uint64(self.sign), negative)
        return bits.astype(self.unsigned)

    def key(self, x: float) -> int:
        """Return the position of the float nearest to `x`."""
        with np.errstate(over="ignore"):
            bits = int(np.array([x]).astype(self.kind).view(self.unsigned)[0])
        return 2 * self.sign - 1 - bits if bits >= self.sign else bits + self.sign

    def number(self, key: int) -> float:
        """Return the float at a position."""
        bits = self.patterns(np.array([key], np.uint64))
        if self.fmt.bits == 16:
            return float(all_values(self.fmt)[int(bits[0])])
        return float(bits.view(self.kind)[0])

    @cached_property
    def runner(self) -> Runner:
        """The runner that computes slopes of this format in a call."""
        with np.errstate(all="ignore"):  # a user's formula may overflow
            route = Route(self.entry, "slope", self.fmt, None, tuple(self.parameters.items()))
            return route.runner()

    def zero(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return a mask of the positions at which the slope is exactly 0."""
        x = self.patterns(keys)
        if self.fmt.bits == 16:
            # Avoids building the table, which is slow because of ties: only a tie at half the
            # smallest number can change the result.
            with np.errstate(all="ignore"):
                exact = all_values(self.fmt)[x]
                slopes = np.abs(kernels.evaluate64(self.entry, "slope", exact, self.parameters))
            half = math.ldexp(0.5, self.fmt.smallest_exponent)
            if not np.any(np.abs(slopes - half) < tables.MARGIN * half):
                return slopes <= half
        out = np.empty_like(x)
        self.runner.run(out.ctypes.data, x.ctypes.data, self.runner.address, x.size)
        flat: npt.NDArray[np.bool_] = (out << self.unsigned(1)) == 0  # ignores the sign
        return flat

    def end(self, inside: int, outside: int) -> int:
        """Return the last zero between a zero and a position with a nonzero slope."""
        while abs(inside - outside) > 1:
            middle = (inside + outside) // 2
            if self.zero(np.array([middle], np.uint64))[0]:
                inside = middle
            else:
                outside = middle
        return inside

    def places(self, special: tuple[float, ...]) -> Keys:
        """Return positions to evaluate: all in 16 bits, else in each binade and near `special`."""
        if self.fmt.bits == 16:
            return np.arange(self.first, self.last + 1, dtype=np.uint64)
        step = (self.last - self.first) // SAMPLES
        parts = [np.arange(self.first, self.last, step, dtype=np.uint64)]
        parts.append(np.array([self.last], np.uint64))
        for x in (0.0, *special):
            at = self.key(x)
            low, high = max(at - AROUND, self.first), min(at + AROUND, self.last)
            parts.append(np.arange(low, high + 1, dtype=np.uint64))
        # Sorted runs: this sort merges them, which is ten times faster than np.unique.
        keys = np.sort(np.concatenate(parts), kind="stable")
        distinct: Keys = keys[np.append(True, keys[1:] != keys[:-1])]
        return distinct


def flat_regions(
    entry: Entry, parameters: Mapping[str, float], special: Iterable[float]
) -> dict[str, tuple[Interval, ...]]:
    """Return per format the inputs with slope exactly 0; all inputs near `special` are tried."""
    special = tuple(special)
    return {
        name: flat_region(Slopes(entry, fmt, parameters), special) for name, fmt in FORMATS.items()
    }


def flat_region(slopes: Slopes, special: tuple[float, ...] = ()) -> tuple[Interval, ...]:
    """Return the runs of zeros of one format, from left to right."""
    keys = slopes.places(special)
    dead = np.concatenate([[False], slopes.zero(keys), [False]])
    changes = np.flatnonzero(dead[1:] != dead[:-1])
    regions = []
    for start, stop in zip(changes[::2], changes[1::2], strict=True):
        low, high = int(keys[start]), int(keys[stop - 1])
        if start > 0:
            low = slopes.end(low, int(keys[start - 1]))
        if stop < keys.size:
            high = slopes.end(high, int(keys[stop]))
        low, high = _checked(slopes, low, high)
        ends = (slopes.number(low), slopes.number(high))
        if low <= high and not (math.isinf(ends[0]) and ends[0] == ends[1]):
            regions.append(Interval(*ends))
    return tuple(regions)


def _checked(slopes: Slopes, low: int, high: int) -> tuple[int, int]:
    """Return a run of zeros, shortened if there are nonzero slopes near its ends."""
    inner = min(16 * AROUND, high - low)
    alive_left = np.flatnonzero(~slopes.zero(np.arange(low, low + inner + 1, dtype=np.uint64)))
    alive_right = np.flatnonzero(~slopes.zero(np.arange(high - inner, high + 1, dtype=np.uint64)))
    if alive_left.size:
        low += int(alive_left[-1]) + 1
    if alive_right.size:
        high -= inner - int(alive_right[0]) + 1
    return low, high


SMALL = Fraction(1, 100)
"""A slope smaller than this almost blocks the gradient."""


def study(entry: Entry, parameters: Mapping[str, float], name: str | None = None) -> Properties:
    """Return the properties of an entry with these parameters, under the name `name`."""
    with precision(exact.BITS):
        curve = Curve(entry, parameters)
        roots = shape.slope_roots(curve)
        smallest_slope, largest_slope = extremes(curve, 1)
        special = (*roots, *map(exact.to_float, curve.breaks))
        minimum, maximum = extremes(curve, 0)
        moments = _moments(curve)
        return Properties(
            function=name or entry.name,
            formula=entry.formula,
            minimum=minimum,
            maximum=maximum,
            smoothness=shape.smoothness(curve),
            jumps=shape.jumps(curve),
            monotone=shape.monotone(curve),
            slope_roots=roots,
            level=shape.level(curve),
            largest_slope=largest_slope,
            smallest_slope=smallest_slope,
            largest_curvature=_largest_curvature(curve),
            limits=shape.limits(curve, 0),
            slope_limits=shape.limits(curve, 1),
            asymptotes=shape.asymptotes(curve),
            small_slope_share=share(curve, (-SMALL, SMALL), _is_small),
            negative_slope_share=share(curve, (Fraction(0),), lambda slope: bool(slope < 0)),
            **moments,
            dead=flat_regions(entry, parameters, special),
            undefined=shape.undefined(curve),
            many_roots=curve.oscillates,
        )


def _is_small(slope: exact.Number) -> bool:
    size = abs(slope) * SMALL.denominator
    return bool(size < SMALL.numerator) and not exact.same(size, SMALL.numerator)


def _largest_curvature(curve: Curve) -> Extreme | None:
    extrema = [e for e in extremes(curve, 2) if e is not None]
    if not extrema:
        return None
    largest = max(extrema, key=lambda e: abs(e.value))
    same = [e for e in extrema if abs(e.value) == abs(largest.value)]
    places = dict.fromkeys(place for e in same for place in e.at)
    return Extreme(abs(largest.value), tuple(sorted(places, key=lambda place: place.low)))


def _moments(curve: Curve) -> dict[str, float | None]:
    """Return mean, spread and gains; None for each integral that does not exist."""
    mean = expectation(curve, 0, lambda y: y)
    square = expectation(curve, 0, _square)
    slope_square = expectation(curve, 1, _square)
    variance = None
    if mean is not None:
        variance = expectation(curve, 0, lambda y: _square(y - mean))
    return {
        "mean": mean,
        "sd": None if variance is None else math.sqrt(variance),
        "mean_square": square,
        "mean_squared_slope": slope_square,
        "gain": _gain(square),
        "backward_gain": _gain(slope_square),
    }


def _square(y: Floats) -> Floats:
    return y * y


def _gain(mean_square: float | None) -> float | None:
    return math.sqrt(1 / mean_square) if mean_square else None
