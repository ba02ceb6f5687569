"""Where the computed slope is exactly 0: no gradient passes, whatever comes from above.

This is a question to the kernels, not to the formula: GELU's slope is never 0 far out, but below
some input each float format rounds it to 0. 16-bit formats, where slopes are those of the float64
kernel rounded, are looked at in full. Of float32 and float64 many bit patterns of every binade are,
and around every root and break; each end of a run of zeros is then found by bisection, and its
neighbourhood checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula import rounding
from softgate.formula.formats import FORMATS, Format
from softgate.runtime import kernels, tables
from softgate.runtime.routes import Route, Runner

from .intervals import Interval

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
    """The slopes of a function in one format, by the position of its inputs among all floats."""

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
        """Return the bit patterns at these positions: those of negative numbers run backwards."""
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
            return float(rounding.all16(self.fmt)[int(bits[0])])
        return float(bits.view(self.kind)[0])

    @cached_property
    def runner(self) -> Runner:
        """What computes slopes of this format for users."""
        with np.errstate(all="ignore"):  # a user's formula may overflow
            route = Route(self.entry, "slope", self.fmt, None, tuple(self.parameters.items()))
            return route.runner()

    def zero(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Tell at which positions the slope is exactly 0."""
        x = self.patterns(keys)
        if self.fmt.bits == 16:
            # Without the table, whose ties take long: they matter here only around half the
            # smallest number.
            with np.errstate(all="ignore"):
                exact = rounding.all16(self.fmt)[x]
                slopes = np.abs(kernels.evaluate64(self.entry, "slope", exact, self.parameters))
            half = math.ldexp(0.5, self.fmt.smallest_exponent)
            if not np.any(np.abs(slopes - half) < tables.MARGIN * half):
                return slopes <= half
        out = np.empty_like(x)
        self.runner.run(out.ctypes.data, x.ctypes.data, self.runner.address, x.size)
        dead: npt.NDArray[np.bool_] = (out << self.unsigned(1)) == 0  # but for the sign
        return dead

    def end(self, inside: int, outside: int) -> int:
        """Return the last zero on the way from a zero to a position that is none."""
        while abs(inside - outside) > 1:
            middle = (inside + outside) // 2
            if self.zero(np.array([middle], np.uint64))[0]:
                inside = middle
            else:
                outside = middle
        return inside

    def places(self, special: tuple[float, ...]) -> Keys:
        """Return where to look: everywhere in 16 bits, else in each binade and around `special`."""
        if self.fmt.bits == 16:
            return np.arange(self.first, self.last + 1, dtype=np.uint64)
        step = (self.last - self.first) // SAMPLES
        parts = [np.arange(self.first, self.last, step, dtype=np.uint64)]
        parts.append(np.array([self.last], np.uint64))
        for x in (0.0, *special):
            at = self.key(x)
            low, high = max(at - AROUND, self.first), min(at + AROUND, self.last)
            parts.append(np.arange(low, high + 1, dtype=np.uint64))
        return np.unique(np.concatenate(parts))


def regions(
    entry: Entry, parameters: Mapping[str, float], special: Iterable[float]
) -> dict[str, tuple[Interval, ...]]:
    """Return per format the inputs at which the slope is exactly 0; `special`: where to look."""
    special = tuple(special)
    return {name: region(Slopes(entry, fmt, parameters), special) for name, fmt in FORMATS.items()}


def region(slopes: Slopes, special: tuple[float, ...] = ()) -> tuple[Interval, ...]:
    """Return the runs of zeros of one format, from left to right."""
    keys = slopes.places(special)
    dead = np.concatenate([[False], slopes.zero(keys), [False]])
    changes = np.flatnonzero(dead[1:] != dead[:-1])
    found = []
    for start, stop in zip(changes[::2], changes[1::2], strict=True):
        low, high = int(keys[start]), int(keys[stop - 1])
        if start > 0:
            low = slopes.end(low, int(keys[start - 1]))
        if stop < keys.size:
            high = slopes.end(high, int(keys[stop]))
        low, high = _checked(slopes, low, high)
        ends = (slopes.number(low), slopes.number(high))
        if low <= high and not (math.isinf(ends[0]) and ends[0] == ends[1]):
            found.append(Interval(*ends))
    return tuple(found)


def _checked(slopes: Slopes, low: int, high: int) -> tuple[int, int]:
    """Return a run of zeros, shortened where near its ends not all are zeros."""
    inner = min(16 * AROUND, high - low)
    alive_left = np.flatnonzero(~slopes.zero(np.arange(low, low + inner + 1, dtype=np.uint64)))
    alive_right = np.flatnonzero(~slopes.zero(np.arange(high - inner, high + 1, dtype=np.uint64)))
    if alive_left.size:
        low += int(alive_left[-1]) + 1
    if alive_right.size:
        high -= inner - int(alive_right[0]) + 1
    return low, high
