"""exp(-a²/2)·sqrt(2/pi) = 2**-((a² + L)/C), L = ln(pi/2), C = 2·ln 2: the constants as floats.

n·C is split off exactly: either C is so short that n·C + L is exact and a second part holds the
rest (EXACT), or C and L are single floats and what they lack, a smooth factor, is left to the
fit of G (QUICK, float32). QUICK of float64 moves C and L by as much as makes that fit best: with 19
coefficients it is 3.8 times as good as around the true constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..formats import FLOAT32, FLOAT64, Format

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
    """How G = a + base + T is added up: `ordered` takes the larger of a and base last."""

    exponent: Exponent
    base: float
    ordered: bool


def split(value: Fraction, bits: int, fmt: Format) -> tuple[float, float]:
    """Return `value` as a multiple of 2**-bits and the rest."""
    high = Fraction(round(value * 2**bits), 2**bits)
    return float(high), fmt.round(value - high)


def exponent(fmt: Format, stretch: str = "0", shift: str = "0") -> Exponent:
    """Return L·(…) + shift and C·(1 + stretch) with first parts that n multiplies exactly."""
    bits = {"float32": 16, "float64": 41}[fmt.name]
    step = split(TWO_LN2 * (1 + Fraction(stretch)), bits, fmt)
    return Exponent(*split(LN_HALF_PI + Fraction(shift), bits, fmt), *step)


QUICK = {
    "float32": Form(Exponent(29594 / 65536, 0.0, FLOAT32.round(TWO_LN2), 0.0), 0.625, False),
    "float64": Form(exponent(FLOAT64, "1.2734e-15", "4.446e-11"), 51 / 64, True),
}
EXACT = {
    "float32": Form(exponent(FLOAT32), 51 / 64, True),
    "float64": Form(exponent(FLOAT64), 51 / 64, True),
}
