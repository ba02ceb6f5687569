"""log(1 + E) = E - s·(E - z·P(z)), s = E/(2 + E), z = s², for E = (1 + w)·2**n <= 1.

Terms are subtracted from E = 2**n + 2**n·w, which is kept in two parts: all rounding errors but the
last are small beside the leading 2**n. The exponential is a polynomial: one more division would not
overlap with those that follow.
"""

from __future__ import annotations

from fractions import Fraction

from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Node

from .exponential import MIRRORED, Exponential
from .fits import LOGARITHM, Fit
from .two_float import Tail, TwoFloat

LIFT = 2**24
"""Factor that makes every float32 normal and does not let scaled 1 + exp(115) overflow."""


class Logarithm(Exponential):
    """exp(-b) by a polynomial, log(1 + exp(-b)), and tails times a parameter."""

    @property
    def deepest(self) -> int:
        """The largest b for which exp(-b) times 2**scale is a normal number.

        A result exp(-b)·c underflows to 0 before b reaches it as long as |c| <= 1e11.
        """
        return 131 if self.fmt is FLOAT32 else 796

    def _quadratic(self, r: Node, sign: int = 1) -> tuple[Node, Node]:
        """Return r² and Q with exp(-sign·r) = 1 - sign·r + r²·Q, |r| <= ln(2)/2."""
        coefficients = self.fit(LOGARITHM, "EXPM1").coefficients
        signed = [c * sign**k for k, c in enumerate(coefficients)]
        return self.product(r, r), self.polynomial(r, signed)

    def expand(self, b: Node, lo: Node | None = None) -> Tail:
        """Return exp(-(b + lo)) as the tail (1 + w)·2**n for 0 <= b <= `deepest`."""
        e = self.reduce(b, lo)
        square, q = self._quadratic(e.r)
        one = self.lift(1)
        return Tail(one, self.fma(square, q, -e.r), self.add_exponent(one, e.magic))

    def expand_upwards(self, x: Node) -> Tail:
        """Return exp(min(x, 0)) as the tail (1 + w)·2**n: 1 where x > 0; NaN is kept."""
        x = self.where(x > 0, 0, x)
        e = self.reduce(self.where(x < -self.deepest, -self.deepest, x), rate=MIRRORED)
        square, q = self._quadratic(e.r, -1)
        one = self.lift(1)
        return Tail(one, self.fma(square, q, e.r), self.add_exponent(one, e.magic))

    def saturation(self, b: Node, lo: Node | None = None) -> Node:
        """Return 1 - exp(-(b + lo)) for b >= 0, with full relative accuracy near 0; 1 at NaN.

        At 0 it is +0. With a `lo`, b is at most 40.
        """
        b = self.clamp(b, 40) if lo is None else b
        e = self.reduce(b, lo, bias=self.fmt.max_exponent)
        square, q = self._quadratic(e.r)
        s = self.exponent_only(e.magic)
        return self.fma(s, self.fma(-square, q, e.r), 1 - s)

    def gate_upwards(self, x: Node, lo: Node | None = None) -> Node:
        """Return sigma(x + lo) for -`deepest` <= x <= 40; NaN is kept.

        With exp(r) = (r - T)/(-r - T) this is one division, N/(N - r - T), N = 2**n·(r - T).
        """
        fit: Fit = getattr(MIRRORED, self.fmt.name)
        e = self.reduce(x, lo, MIRRORED)
        t = self.polynomial(self.product(e.r, e.r), fit.coefficients)
        above = self.add_exponent(e.r - t, e.magic)
        return self.product(above / self.fma(above, self.unit, -(e.r + t)), self.unit)

    def logistic_gate(self, a: Node) -> Tail:
        """Return a·sigma(-a) as a tail for 0 <= a <= `exponential_limit`.

        In float32 this is a/(1 + exp(a)): one division and, besides the polynomial's, two
        roundings. In float64 that polynomial takes longer than a second division.
        """
        if self.fmt is not FLOAT32:
            return self.gate(self.logistic(self.reduce(a), fine=False), a)
        # Division of a subnormal is slow: both operands are multiplied by a power of two.
        unit = LIFT * self.unit
        bias = self.fmt.max_exponent - self.fmt.scale + (LIFT.bit_length() - 1)
        e = self.reduce(a, rate=MIRRORED, bias=bias)
        square, q = self._quadratic(e.r, -1)
        power = self.exponent_only(e.magic)
        below = power + self.fma(power, self.fma(square, q, e.r), unit)
        return self.scaled(self.product(a, LIFT) / below)

    def plain_power(self, power: Node, factor: Node | int = 1) -> Node:
        """Return factor·2**n from `power` = 2**(n + scale), for sums with numbers near 1.

        A constant far below the last bit of such a sum is added, so that products with the result
        stay normal: subnormal ones are slow.
        """
        return self.fma(power, self.unit * factor, Fraction(1, 1 << 2 * self.fmt.precision))

    def log1p(self, tail: Tail) -> Tail:
        """Return log(1 + tail) for a tail (1 + w)·2**n <= 1; the result has the same form."""
        assert tail.lo is not None
        fit = self.fit(LOGARITHM, "LOG1P")
        power = self.plain_power(tail.power)
        e = self.fma(power, tail.lo, power)
        inverse = 1 / self.fma(power, tail.lo, 2 + power)
        s = e * inverse
        z = s * s
        rest = self.fma(-z, self.polynomial(z, fit.coefficients), e)
        share = self.fma(tail.lo, inverse, inverse)
        return Tail(tail.hi, self.fma(-share, rest, tail.lo), tail.power)

    def amplify(self, tail: Tail, factor: TwoFloat) -> Tail:
        """Return `factor` times a tail (1 + w)·2**n, without another rounding."""
        assert tail.lo is not None
        if factor.is_one:
            return tail
        if factor.lo is None:
            return Tail(factor.hi, factor.hi * tail.lo, tail.power)
        return Tail(factor.hi, self.fma(factor.hi, tail.lo, factor.lo), tail.power)

    def reciprocal(self, number: TwoFloat) -> TwoFloat:
        """Return 1/number to about twice the format's precision."""
        if number.is_one:
            return number
        hi = 1 / number.hi
        rest = self.fma(-hi, number.hi, 1)
        if number.lo is not None:
            rest = self.fma(-hi, number.lo, rest)
        return TwoFloat(hi, rest * hi)

    def same_sign(self, number: TwoFloat) -> TwoFloat:
        """Return `number` with both parts of one sign, so that 0 times it is not 0 - 0."""
        if number.lo is None:
            return number
        hi = number.hi * (1 - Fraction(1, 1 << self.fmt.mantissa_bits))
        return TwoFloat(hi, (number.hi - hi) + number.lo)

    def divided(self, x: Node, number: TwoFloat) -> Node:
        """Return x/number without a division for each element, ±inf included; 0 has the sign +."""
        if number.is_one:
            return x
        inverse = self.same_sign(self.reciprocal(number))
        assert inverse.lo is not None
        return self.fma(x, inverse.hi, self.product(x, inverse.lo))

    def scaled_sum(self, tail: Tail) -> Node:
        """Return the tail times 2**scale as one float."""
        if tail.lo is not None and tail.hi is self.lift(1):
            return self.fma(tail.power, tail.lo, tail.power)
        return super().scaled_sum(tail)

    def raised(self, x: Node, tail: Tail) -> Node:
        """Return max(x, 0) + tail; NaN propagates from `x`."""
        return self.fma(self.scaled_sum(tail), self.unit, self.where(x < 0, 0, x))
