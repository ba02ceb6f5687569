"""exp(-a²/2)·sqrt(2/pi) = 2**-((a² + L)/C), L = ln(pi/2), C = 2·ln 2: the constants as floats.

r = a² + L - n·C needs full precision. Either C has so few bits that n·C is exact and a second float
holds the rest (EXACT), or C and L are single floats and the fit of G includes the smooth factor due
to their rounding (QUICK). QUICK also shifts both to minimise the error of that fit: in float64
it is four times smaller with the same 19 coefficients, in float32 twice. (The shifts are from a
simplex search over the fit's error; coefficients can be derived for any other pair.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softgate.formula.formats import FLOAT32, FLOAT64, Format

TWO_LN2 = Fraction("1.38629436111989061883446424291635313615100026872051050824136")
LN_HALF_PI = Fraction("0.45158270528945486472619522989488214357179467855505631739")


@dataclass(frozen=True)
class Exponent:
    """L and C in two parts each; n·step + offset is exact unless step_low is 0."""

    offset: float
    offset_low: float
    step: float
    step_low: float


@dataclass(frozen=True)
class Form:
    """Constants of the exponential, and g of G = a + g + T."""

    exponent: Exponent
    base: float


def split(value: Fraction, bits: int, fmt: Format) -> tuple[float, float]:
    """Return `value` as a multiple of 2**-bits and the rest."""
    high = Fraction(round(value * 2**bits), 2**bits)
    return float(high), fmt.round(value - high)


def exponent(fmt: Format, bits: int) -> Exponent:
    """Return L and C to twice the format's precision; n times the first part of C is exact."""
    return Exponent(*split(LN_HALF_PI, bits, fmt), *split(TWO_LN2, bits, fmt))


def short_exponent(fmt: Format, bits: int, stretch: str = "0", shift: str = "0") -> Exponent:
    """Return L + shift as a multiple of 2**-bits, C·(1 + stretch) as one float."""
    offset, _ = split(LN_HALF_PI + Fraction(shift), bits, fmt)
    return Exponent(offset, 0.0, fmt.round(TWO_LN2 * (1 + Fraction(stretch))), 0.0)


QUICK = {
    "float32": Form(short_exponent(FLOAT32, 16, shift="-1.41e-5"), 25 / 32),
    "float64": Form(short_exponent(FLOAT64, 42, "1.2734e-15", "4.446e-11"), 51 / 64),
}
EXACT = {
    "float32": Form(exponent(FLOAT32, 16), 51 / 64),
    "float64": Form(exponent(FLOAT64, 41), 51 / 64),
}
