"""Phi(-a) = 2**-n/(2·G·2**(r/C)), a² + L = n·C + r: the normal distribution's tail and density.

G(a) = phi(a)/Phi(-a), the inverse Mills ratio, is a + g + T(a) with a constant g and a small
rational T = P/Q: rounding errors of P and Q are scaled by |T|/G <= 0.2; in a fit of G or 1/G they
would have full weight. phi(0) is part of the exponent as L, which saves a final multiplication and
keeps a² + L from being subnormal.

In float64 the terms of G·2**(r/C) are added from the smallest, and the sum is the divisor. In
float32, where each operation adds to the time, 1/G is Q/((a + g)·Q + P): one division, not two.

exp(-a²/2)·sqrt(2/pi) = 2**-((a² + L)/C) with L = ln(pi/2), C = 2·ln 2, and r = a² + L - n·C needs
full precision. Either C has so few bits that n·C is exact and a second float holds the rest
(EXACT), or C and L are single floats and the fit of G includes the smooth factor due to their
rounding (QUICK). QUICK also shifts both to minimise the error of that fit: in float64 it is four
times smaller with the same 19 coefficients, in float32 twice. (The shifts are from a simplex search
over the fit's error; coefficients can be derived for any other pair.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from softgate.formula.formats import FLOAT32, FLOAT64, Format
from softgate.formula.graph import Node

from .fits import GAUSSIAN, Fit
from .two_float import Tail, TwoFloatArithmetic

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


class Ratio(NamedTuple):
    """Numerator and denominator of T = above/below."""

    above: Node
    below: Node


LIFT = 2**52
"""Factor that makes every float64 normal and does not let scaled 1/Phi(-38.9) overflow."""
LIFT_FLOAT32 = 2**24
"""The same for float32 and 1/Phi(-14.7)."""


class Gaussian(TwoFloatArithmetic):
    """Tail and density of the normal distribution for 0 <= a <= `gaussian_limit`."""

    @property
    def gaussian_limit(self) -> float:
        """The a to clamp at: a²·phi(a) underflows to 0 there, and 2**(n ± scale) is normal."""
        return 14.7 if self.fmt is FLOAT32 else 38.9

    def normal_tail(self, a: Node, fine: bool = False) -> Tail:
        """Return Phi(-a) as a tail; in float32 `fine` lowers the relative error."""
        if self.fmt is FLOAT32 and not fine:
            mills, w = self._scaled_mills(a)
            return Tail(self.fma(mills, w, mills), None, self.lift(1))
        return Tail(1 / self._inverse_tail(a), None, self.lift(1))

    def normal_gate(self, a: Node, fine: bool = False) -> Tail:
        """Return a·Phi(-a); in float32 `fine` lowers the relative error for a tenth more time."""
        if self.fmt is FLOAT32 and not fine:
            mills, w = self._scaled_mills(a)
            product = self.product(mills, a)
            lost = self.fma(mills, a, -product)
            return Tail(product, self.fma(product, w, lost), self.lift(1))
        # Division of a subnormal is slow: both operands are multiplied by a power of two.
        lift = LIFT_FLOAT32 if self.fmt is FLOAT32 else LIFT
        return Tail(self.product(a, lift) / self._inverse_tail(a, lift), None, self.lift(1))

    def normal_density(self, a: Node) -> Tail:
        """Return phi(a) as a tail."""
        w, magic = self._power(a, EXACT[self.fmt.name], self.fit(GAUSSIAN, "EXACT_POWER"), sign=-1)
        one = self.lift(1)
        return Tail(one, w, self.add_exponent(one, magic))

    def normal_gate_slope(self, a: Node) -> Tail:
        """Return Phi(-a) - a·phi(a) = phi(a)·(1/G - a) as a tail."""
        form = EXACT[self.fmt.name]
        w, magic = self._power(a, form, self.fit(GAUSSIAN, "EXACT_POWER"), sign=-1)
        ratio = self._ratio(a, self.fit(GAUSSIAN, "EXACT"))
        small = a + ratio.above / ratio.below
        inverse = small + form.base
        mills = 1 / inverse
        difference = mills - a
        if self.fmt is not FLOAT32:
            # Add back the rounding errors of G and 1/G. For a > g that of G is incomplete, but
            # the weight of 1/G beside a decreases.
            rest = (form.base - inverse) + small
            lost = self.fma(-mills, rest, self.fma(-mills, inverse, 1))
            difference = self.fma(mills, lost, difference)
        total = self.fma(difference, w, difference)
        return Tail(total, None, self.add_exponent(self.lift(1), magic))

    def normal_gate_both(self, a: Node) -> tuple[Tail, Tail]:
        """Return a·Phi(-a) and Phi(-a) - a·phi(a) from one exponential and one G.

        Rounding errors of G and 1/G are added back, so relative errors are smaller than those of
        `normal_gate` and `normal_gate_slope`.
        """
        form = EXACT[self.fmt.name]
        w, magic = self._power(a, form, self.fit(GAUSSIAN, "EXACT_POWER"), sign=-1)
        ratio = self._ratio(a, self.fit(GAUSSIAN, "EXACT_BOTH"))
        small = a + ratio.above / ratio.below
        inverse = small + form.base
        mills = 1 / inverse
        rest = (form.base - inverse) + small
        lost = self.fma(-mills, rest, self.fma(-mills, inverse, 1))
        power = self.add_exponent(self.lift(1), magic)
        # Scaled first: products with a subnormal are slow.
        product = self.product(mills * power, a)
        gate = Tail(self.fma(product, w + lost, product), None, self.lift(1))
        # The larger part is `hi`, which is added last.
        difference = mills - a
        return gate, Tail(difference, self.fma(difference, w, mills * lost), power)

    def inverse_mills(self, a: Node) -> Node:
        """Return G(a) = phi(a)/Phi(-a)."""
        ratio = self._ratio(a, self.fit(GAUSSIAN, "EXACT_BOTH"))
        return (a + ratio.above / ratio.below) + EXACT[self.fmt.name].base

    def _scaled_mills(self, a: Node) -> tuple[Node, Node]:
        """Return 2**(scale - n)/(2·G) and 2**(-r/C) - 1."""
        form = QUICK[self.fmt.name]
        w, magic = self._power(a, form, self.fit(GAUSSIAN, "QUICK_POWER"), sign=-1)
        above, below = self._ratio(a, self.fit(GAUSSIAN, "QUICK"))
        inverse = self.fma(a, below, self.fma(form.base, below, above))
        return self.add_exponent(below / inverse, magic), w

    def _inverse_tail(self, a: Node, lift: int = 1) -> Node:
        """Return lift·2**-scale/Phi(-a): dividing by it gives a number times 2**scale."""
        form = QUICK[self.fmt.name]
        w, magic = self._power(a, form, self.fit(GAUSSIAN, "QUICK_POWER"), sign=1, lift=lift)
        ratio = self._ratio(a, self.fit(GAUSSIAN, "QUICK"))
        # Small terms first: only the rounding error of the last sum has full weight.
        small = self.minimum(a, form.base) + ratio.above / ratio.below
        inverse = self.maximum(a, form.base) + small
        return self.add_exponent(self.fma(inverse, w, inverse), magic)

    def _ratio(self, a: Node, fit: Fit) -> Ratio:
        square = self.product(a, a)
        above = self._evaluate(a, square, fit.coefficients)
        return Ratio(above, self._evaluate(a, square, fit.denominator))

    def _power(
        self, a: Node, form: Form, fit: Fit, *, sign: int, lift: int = 1
    ) -> tuple[Node, Node]:
        """Return 2**(±r/C) - 1 and a float with ±n and the bias in its low bits."""
        magic, n = self._nearest_power(a, form.exponent, sign, lift.bit_length() - 1)
        r = self._remainder(a, n, form.exponent, sign)
        if self.fmt is FLOAT32:
            return self.polynomial(r, (0.5, *fit.coefficients)) * r, magic
        square = r * r
        rest = self._evaluate(r, square, fit.coefficients)
        return self.fma(rest, square, r * 0.5), magic

    def _nearest_power(
        self, a: Node, exponent: Exponent, sign: int, lift: int
    ) -> tuple[Node, Node]:
        # The exponential is that of 2·Phi(-a) and 2·phi(a): the 1 in the bias divides by 2.
        bias = (3 << (self.fmt.mantissa_bits - 1)) - sign * (self.fmt.scale - 1) + lift
        argument = self.fma(a, a, exponent.offset)
        magic = self.fma(argument, sign / TWO_LN2, bias)
        return magic, magic - bias

    def _remainder(self, a: Node, n: Node, exponent: Exponent, sign: int) -> Node:
        """Return ±r with an error of about one ulp of r."""
        if exponent.step_low:
            whole = self.fma(n, -exponent.step, sign * exponent.offset)
            low = self.fma(n, -exponent.step_low, sign * exponent.offset_low)
            return self.fma(sign * a, a, whole) + low
        argument = self.fma(a, a, exponent.offset)
        low = self.fma(a, a, exponent.offset - argument)
        # The fma cancels and is therefore exact.
        if sign < 0:
            return self.fma(n, -exponent.step, -argument) - low
        return self.fma(n, -exponent.step, argument) + low

    def _evaluate(self, x: Node, square: Node, coefficients: Sequence[float]) -> Node:
        """Return the polynomial; in float64 by even and odd powers: half the dependency chain."""
        if self.fmt is FLOAT32:
            return self.polynomial(x, coefficients)
        even = self.polynomial(square, coefficients[0::2])
        return self.fma(self.polynomial(square, coefficients[1::2]), x, even)
