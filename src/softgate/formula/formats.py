"""Float formats: bits, exponent range, and rounding of a real number.

The kernels' scale is defined here too: tails are carried times 2**scale, so that only the last
operation can have a subnormal result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


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
