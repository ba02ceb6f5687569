"""Float formats: bits, exponent range, NumPy dtype, and correct rounding to each format.

The kernels' scale is defined here too: tails are carried times 2**scale, so that only the last
operation can have a subnormal result.

Rounding float64 arrays to a narrower format through float32 would round twice. Scaled so that the
format's last place is 1, a float64 rounds with `rint`, exactly and to even, subnormals and overflow
included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Format:
    """A binary floating-point format, named as NumPy names it."""

    name: str
    bits: int
    precision: int
    min_exponent: int
    """Exponent of the smallest normal number."""
    max_exponent: int
    """Exponent of the largest number."""
    scale: int = 0
    """Tails are carried times 2**scale."""
    reserved: int = 0
    """How many of the largest significands of `max_exponent` encode NaN in place of numbers."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element of an array; formats of 4 and 6 bits take a byte too."""
        return max(self.bits, 8) // 8

    @property
    def mantissa_bits(self) -> int:
        """Stored bits of the significand."""
        return self.precision - 1

    @property
    def smallest_exponent(self) -> int:
        """Exponent of the smallest subnormal number."""
        return self.min_exponent - self.mantissa_bits

    @property
    def largest(self) -> float:
        """The largest finite number."""
        significand = (1 << self.precision) - 1 - self.reserved
        return math.ldexp(significand, self.max_exponent - self.mantissa_bits)

    def round(self, value: Fraction) -> float:
        """Return the float of this format nearest to `value`, ties to even, as a Python float.

        Beyond the range it is infinite, also if the format has no infinity.
        """
        if value == 0:
            return 0.0
        numerator, denominator = abs(value.numerator), value.denominator
        exponent = numerator.bit_length() - denominator.bit_length()
        if Fraction(2) ** exponent > abs(value):
            exponent -= 1
        unit = max(exponent, self.min_exponent) - self.mantissa_bits
        whole = round(value / Fraction(2) ** unit)
        if exponent > self.max_exponent or abs(whole) * Fraction(2) ** unit > self.largest:
            return math.inf if value > 0 else -math.inf
        return math.ldexp(whole, unit)


FLOAT16 = Format("float16", 16, 11, -14, 15)
BFLOAT16 = Format("bfloat16", 16, 8, -126, 127)
FLOAT32 = Format("float32", 32, 24, -126, 127, scale=64)
FLOAT64 = Format("float64", 64, 53, -1022, 1023, scale=128)
FORMATS = {fmt.name: fmt for fmt in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)}
"""The formats that have kernels."""

BYTE_FORMATS = {
    fmt.name: fmt
    for fmt in (
        Format("float8_e5m2", 8, 3, -14, 15),
        Format("float8_e4m3", 8, 4, -6, 7),
        Format("float8_e3m4", 8, 5, -2, 3),
        Format("float8_e4m3fn", 8, 4, -6, 8, reserved=1),
        Format("float8_e5m2fnuz", 8, 3, -15, 15),
        Format("float8_e4m3fnuz", 8, 4, -7, 7),
        Format("float8_e4m3b11fnuz", 8, 4, -10, 4),
        Format("float6_e3m2fn", 6, 3, -2, 4),
        Format("float6_e2m3fn", 6, 4, 0, 2),
        Format("float4_e2m1fn", 4, 2, 0, 2),
    )
}
"""The formats of at most 8 bits, computed by tables of all inputs.

float8_e8m0fnu is absent: it holds powers of two, as scales of blocks, without sign and zero.
"""


def ulp(y: Float64s | np.float64, fmt: Format) -> Float64s:
    """Return the spacing of `fmt` at each |y| (that of the smallest normal number below it)."""
    _, exponent = np.frexp(np.where(np.isfinite(y), y, 1.0))
    exponent = np.where(y == 0, fmt.min_exponent, exponent)  # where frexp returns 0
    unit = np.maximum(exponent - 1, fmt.min_exponent) - fmt.mantissa_bits
    spacing: Float64s = np.ldexp(1.0, unit)
    return spacing


def round_to(y: Float64s | np.float64, fmt: Format) -> Float64s:
    """Return `y` rounded to `fmt`, to nearest, ties to even, still as float64.

    Beyond the range it is infinite, also if the format has no infinity.
    """
    unit = ulp(y, fmt)
    with np.errstate(all="ignore"):  # y / unit with NaN, or a y far below the format's range
        rounded: Float64s = np.copysign(np.rint(y / unit) * unit, y)
    return np.where(np.abs(rounded) > fmt.largest, np.copysign(np.inf, y), rounded)


def near_tie(y: Float64s, fmt: Format, margin: float) -> npt.NDArray[np.bool_]:
    """Return a mask of the `y` within `margin` (relative) of a rounding boundary of `fmt`."""
    unit = ulp(y, fmt)
    with np.errstate(all="ignore"):  # as in round_to; margin * y may underflow
        from_tie = np.abs(np.abs(y / unit - np.floor(y / unit)) - 0.5) * unit
        close = from_tie <= margin * np.abs(y)
    doubtful: npt.NDArray[np.bool_] = close & np.isfinite(y) & (y != 0)
    return doubtful


def encode(y: Float64s, fmt: Format) -> npt.NDArray[Any]:
    """Return the bit patterns of `y`, which must be values of a format of at most 16 bits.

    NaN and infinities that the format does not have are converted as ml_dtypes converts them.
    """
    with np.errstate(all="ignore"):  # signalling NaNs, underflow
        if fmt.bits <= 8:
            # One NaN: the sign of a computed one depends on the CPU.
            values = np.where(np.isnan(y), np.nan, y).astype(dtype_of(fmt))
            return values.view(np.uint8)
        if fmt.name == "float16":
            return y.astype(np.float16).view(np.uint16)
        words = y.astype(np.float32).view(np.uint32)
    return (words >> 16).astype(np.uint16)


def all_values(fmt: Format) -> Float64s:
    """Return the values of all bit patterns of a format of at most 16 bits, in order.

    65,536 values, or 256: in formats of 4 and 6 bits the upper bits of a byte have no meaning, and
    the values repeat.
    """
    values: npt.NDArray[Any]
    if fmt.bits <= 8:
        patterns = np.arange(256) & ((1 << fmt.bits) - 1)
        values = patterns.astype(np.uint8).view(dtype_of(fmt))
    elif fmt.name == "float16":
        values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    else:
        values = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return values.astype(np.float64)


@lru_cache(maxsize=256)
def format_of(dtype: np.dtype[Any]) -> Format | None:
    """Return the format of a NumPy dtype, or None if softgate computes nothing in it."""
    return FORMATS.get(dtype.name) or BYTE_FORMATS.get(dtype.name)


def dtype_of(fmt: Format) -> np.dtype[Any]:
    """Return the NumPy dtype of a format."""
    return np.dtype(getattr(ml_dtypes, fmt.name, fmt.name))
