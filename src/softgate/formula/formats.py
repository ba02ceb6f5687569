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

    @property
    def mantissa_bits(self) -> int:
        """Stored bits of the significand."""
        return self.precision - 1

    @property
    def smallest_exponent(self) -> int:
        """Exponent of the smallest subnormal number."""
        return self.min_exponent - self.mantissa_bits

    def round(self, value: Fraction) -> float:
        """Return the float of this format nearest to `value`, ties to even, as a Python float."""
        if value == 0:
            return 0.0
        numerator, denominator = abs(value.numerator), value.denominator
        exponent = numerator.bit_length() - denominator.bit_length()
        if Fraction(2) ** exponent > abs(value):
            exponent -= 1
        unit = max(exponent, self.min_exponent) - self.mantissa_bits
        whole = round(value / Fraction(2) ** unit)
        if exponent > self.max_exponent or abs(whole) >= 1 << (self.max_exponent - unit + 1):
            return math.inf if value > 0 else -math.inf
        return math.ldexp(whole, unit)


FLOAT16 = Format("float16", 16, 11, -14, 15)
BFLOAT16 = Format("bfloat16", 16, 8, -126, 127)
FLOAT32 = Format("float32", 32, 24, -126, 127, scale=64)
FLOAT64 = Format("float64", 64, 53, -1022, 1023, scale=128)
FORMATS = {fmt.name: fmt for fmt in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)}
