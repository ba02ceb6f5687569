"""Which inputs are looked at: all of 16 bits; of more bits a sample that leaves no region out.

Every exponent and sign, the scale on which activations bend and decay, the ends of every binade;
runs of neighbouring floats around roots, extrema, breaks and the places where results become
subnormal, 0 or infinite; and hard points, whose truth lies nearest to a rounding boundary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from softgate.formula import rounding
from softgate.formula.formats import Format

from .. import samples
from .reference import Truths
from .regions import NEAR, TAIL, Regions

Bits = npt.NDArray[np.unsignedinteger]
Array = npt.NDArray[np.floating]

ORDER = ("float32", "float64", "float16", "bfloat16")
"""Formats in the order in which they are measured."""
DEFAULT = {"float32": 2_000_000, "float64": 20_000}
"""Inputs of a sample; float64 is measured against arb, one by one."""
FEWEST = 1000
HARD = 1 << 13


def choose(
    truths: Truths,
    regions: Regions,
    fmt: Format,
    marks: Mapping[str, tuple[float, ...]],
    count: int,
    seed: int,
) -> Array:
    """Return the inputs to look at, from left to right, NaNs last, none twice."""
    dtype = rounding.dtype_of(fmt)
    if fmt.bits == 16:
        return _sorted(np.arange(1 << 16, dtype=np.uint16).view(dtype))
    spread = samples.stratified(fmt, truths.entry.intervals, count, seed)
    rng = np.random.default_rng(seed + 3)
    if spread.size > count:  # the ends of float64's 4,092 binades alone are more
        special = samples.specials(fmt)
        kept = rng.permutation(spread[special.size :])[: max(count - special.size, 0)]
        spread = np.concatenate([special, kept])
    centres = {x for places in marks.values() for x in places}
    centres |= {end for pair in truths.entry.intervals for end in pair}
    centres |= {-TAIL, -NEAR, NEAR, TAIL, *_turns(truths, regions, fmt)}
    run = max(4, count // (64 * len(centres)))
    around = [_run(fmt, centre, run) for centre in sorted(centres)]
    hard = _hard(truths, fmt, min(HARD, count // 16), seed + 4)
    return _sorted(np.concatenate([spread, *around, hard]))


def _sorted(x: Array) -> Array:
    """Return distinct inputs by their value: -0 before +0, NaNs last."""
    unsigned = np.dtype(f"u{x.itemsize}")
    bits = np.sort(x.view(unsigned))
    bits = bits[np.append(True, bits[1:] != bits[:-1])]
    sign = unsigned.type(1 << (8 * x.itemsize - 1))
    negative = bits[bits >= sign][::-1]
    positive = bits[bits < sign]
    ordered: Array = np.concatenate([negative, positive]).view(x.dtype)
    with np.errstate(invalid="ignore"):
        nan = np.isnan(ordered)
    return np.concatenate([ordered[~nan], ordered[nan]])


def _run(fmt: Format, centre: float, length: int) -> Array:
    """Return neighbouring floats on both sides of a place, and others ever further away."""
    dtype = rounding.dtype_of(fmt)
    middle = int(np.array([centre], dtype).view(f"i{dtype.itemsize}")[0])
    near = np.arange(-length, length + 1, dtype=np.int64)
    far = np.concatenate(
        [(1 << np.arange(fmt.mantissa_bits)), -(1 << np.arange(fmt.mantissa_bits))]
    )
    largest = (1 << (fmt.bits - 1)) - 1
    sign, size = middle & ~largest, middle & largest
    sizes = np.clip(size + np.concatenate([near, far]), 0, largest)
    patterns = sizes.astype(np.uint64) | np.uint64(sign & ((1 << fmt.bits) - 1))
    found: Array = patterns.astype(f"u{dtype.itemsize}").view(dtype)
    return found


def _turns(truths: Truths, regions: Regions, fmt: Format) -> Iterable[float]:
    """Yield the inputs at which the truth becomes subnormal, 0 or infinite, or ends to be so."""
    dtype = rounding.dtype_of(fmt)
    step = fmt.bits - 13
    steps = (np.arange(1 << 13, dtype=np.uint64) << np.uint64(step)).astype(f"u{dtype.itemsize}")
    for sign in (0, 1 << (fmt.bits - 1)):
        half = steps[: 1 << 12] | steps.dtype.type(sign)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            half = half[np.isfinite(half.view(dtype))]
        x = half.view(dtype).astype(np.float64)
        kinds = regions.assign(x, truths.kernel(x))
        for i in np.flatnonzero(np.diff(kinds)):
            yield _bisect(truths, regions, dtype, int(half[i]), int(half[i + 1]))


def _bisect(
    truths: Truths, regions: Regions, dtype: np.dtype[np.floating], a: int, b: int
) -> float:
    def at(bits: int) -> tuple[float, int]:
        x = np.array([bits], f"u{dtype.itemsize}").view(dtype).astype(np.float64)
        return float(x[0]), int(regions.assign(x, truths.kernel(x))[0])

    first = at(a)[1]
    while b - a > 1:
        middle = (a + b) // 2
        a, b = (middle, b) if at(middle)[1] == first else (a, middle)
    return at(b)[0]


def _hard(truths: Truths, fmt: Format, count: int, seed: int) -> Array:
    """Return those of many inputs whose truth lies nearest to where its rounding changes.

    In float64 the kernel cannot tell: there its fraction of an ulp is no more than a guess.
    """
    pool = samples.logarithmic(fmt, 1e-3, 110.0, 64 * count, seed)
    x = pool.astype(np.float64)
    truth = truths.kernel(x)
    with np.errstate(all="ignore"):
        places = np.abs(truth) / rounding.ulp(truth, fmt)
        from_tie = np.abs(places - np.floor(places) - 0.5)
    from_tie[~np.isfinite(from_tie)] = 1.0
    return pool[np.argsort(from_tie, kind="stable")[:count]]
