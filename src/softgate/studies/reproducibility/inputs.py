"""The fixed operands of the published digests.

They come from integer arithmetic defined here and from additions, multiplications and roundings
that IEEE defines, so that no version of NumPy and no CPU changes them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula import rounding
from softgate.formula.formats import BFLOAT16, FLOAT16, FORMATS, Format
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated

PER_INTERVAL, TIES, NEAR, PATTERNS = 1024, 2048, 8192, 8192
"""How many inputs of each kind float32 and float64 get."""

Function = Activation | Gated
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[Any]


def operands(function: Function, quantity: str, dtype: str) -> tuple[Floats, ...]:
    """Return the fixed operands of a quantity, in the order of a call."""
    fmt = FORMATS[dtype]
    entry = function.entry.act if isinstance(function, Gated) else function.entry
    x = inputs(fmt, entry.intervals)
    grad = (factors(fmt, x.size, stream=1),) if quantity in ("backward", "from_value") else ()
    if not isinstance(function, Gated):
        return (x, *grad)
    other = factors(fmt, x.size, stream=2)
    first = function.entry.position == "first"
    return ((x, other) if first else (other, x)) + grad


@lru_cache(maxsize=64)
def inputs(fmt: Format, intervals: tuple[tuple[float, float], ...]) -> Floats:
    """Return the fixed inputs of a format: all of a 16-bit one, else what is hard and at random.

    That is: special values and their neighbours, both ends and one more number of every binade,
    numbers halfway between two neighbours in float16 and bfloat16, numbers in `intervals` and
    beside their ends, numbers from 2**-10 to 2**10, and random bit patterns.
    """
    if fmt.bits == 16:
        return _floats(np.arange(1 << 16, dtype=np.uint64), fmt)
    kind = rounding.dtype_of(fmt)
    parts = [_floats(_specials(fmt), fmt), _floats(_binades(fmt), fmt)]
    parts += [_ties(narrow, 3 + i).astype(kind) for i, narrow in enumerate((FLOAT16, BFLOAT16))]
    for i, (low, high) in enumerate(intervals):
        unit = (words(16 + i, PER_INTERVAL) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        ends = np.array([low, high], kind)
        near = (np.nextafter(ends, kind.type(side)) for side in (-np.inf, np.inf))
        parts += [(low + (high - low) * unit).astype(kind), ends, *near]
    parts += [_floats(_near_one(fmt, words(5, NEAR), 10), fmt)]
    parts += [_floats(words(6, PATTERNS) >> np.uint64(64 - fmt.bits), fmt)]
    x = np.concatenate(parts)
    x.flags.writeable = False
    return x


@lru_cache(maxsize=64)
def factors(fmt: Format, count: int, stream: int) -> Floats:
    """Return `count` fixed numbers to multiply by: from 2**-8 to 2**8, every fourth any pattern."""
    random = words(stream, count)
    anything = random >> np.uint64(64 - fmt.bits)
    bits = np.where(np.arange(count) % 4 == 3, anything, _near_one(fmt, random, 8))
    return _floats(bits, fmt)


def words(stream: int, count: int) -> Words:
    """Return `count` random words of 64 bits: SplitMix64 started at a multiple of 2**32.

    Examples
    --------
    >>> [hex(word) for word in words(0, 2).tolist()]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(stream << 32)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def infinity_bits(fmt: Format) -> int:
    """Return the bits of +inf."""
    return (2 * fmt.max_exponent + 1) << fmt.mantissa_bits


def _floats(bits: Words, fmt: Format) -> Floats:
    floats = bits.astype(f"u{fmt.bits // 8}").view(rounding.dtype_of(fmt))
    floats.flags.writeable = False
    return floats


def _specials(fmt: Format) -> Words:
    mantissa, infinity = fmt.mantissa_bits, infinity_bits(fmt)
    smallest, one = 1 << mantissa, fmt.max_exponent << mantissa
    quiet = infinity | (1 << (mantissa - 1))
    magnitudes = [0, 1, 2, smallest - 1, smallest, smallest + 1, one - 1, one, one + 1]
    magnitudes += [infinity - 1, infinity, infinity + 1, quiet, quiet + 1]
    return _both_signs(np.array(magnitudes, np.uint64), fmt)


def _binades(fmt: Format) -> Words:
    fields = np.arange(2 * fmt.max_exponent + 1, dtype=np.uint64) << np.uint64(fmt.mantissa_bits)
    last = np.uint64((1 << fmt.mantissa_bits) - 1)
    inside = words(0, fields.size) & last
    return _both_signs(np.concatenate([fields, fields | last, fields | inside]), fmt)


def _near_one(fmt: Format, random: Words, exponents: int) -> Words:
    """Return patterns of both signs from 2**-exponents to 2**exponents."""
    sign = (random >> np.uint64(63)) << np.uint64(fmt.bits - 1)
    mantissa = random & np.uint64((1 << fmt.mantissa_bits) - 1)
    above = (random >> np.uint64(56)) % np.uint64(2 * exponents)
    field = above + np.uint64(fmt.max_exponent - exponents)
    bits: Words = sign | (field << np.uint64(fmt.mantissa_bits)) | mantissa
    return bits


def _ties(narrow: Format, stream: int) -> npt.NDArray[np.float64]:
    """Return numbers halfway between two neighbours in a 16-bit format."""
    magnitudes = words(stream, TIES) % np.uint64(infinity_bits(narrow) - 1)
    values = rounding.all16(narrow)
    halfway: npt.NDArray[np.float64] = (values[magnitudes] + values[magnitudes + np.uint64(1)]) / 2
    halfway[::2] *= -1.0
    return halfway


def _both_signs(bits: Words, fmt: Format) -> Words:
    return np.concatenate([bits, bits | np.uint64(1 << (fmt.bits - 1))])
