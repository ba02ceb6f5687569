"""The logistic function, tanh and exp(-k·b) = s·(T - r)/(T + r), s = 2**n, T = r·coth(k·r/2).

T is even and nearly constant: its polynomial has half as many coefficients as one for exp.
The logistic function is not computed as E/(1 + E), where all rounding errors have full weight, but

    sigma(-k·b) = s/(1 + s)·(1 - c),    c = 2·r/(T·(1 + s) + r·(1 - s)),    |c| <= 0.35:

s and 1 + s are exact, and the rounding errors of T, r and their sum are multiplied by c.

a - tanh(a) is a³/G(a²) for a < 1, with a fit G(y) = 3 + 6/5·y + ...; beyond, 1 - tanh(a) is added
to a - 1: neither subtracts numbers of similar size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Node, Number

from .fits import EXPONENTIAL, HYPERBOLIC, Fit
from .two_float import Tail, TwoFloat, TwoFloatArithmetic

LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068")
SQRT_8_OVER_PI = Fraction("1.59576912160573071175978423973752747390343452465957141180515")
CUBIC = (Fraction(9375, 8192), Fraction(26829, 524288))
"""A and C, floats with few bits; C/A is 0.044715: A·(a + 0.044715·a³) = a·(A + C·a²)."""


@dataclass(frozen=True)
class Rate:
    """The k of exp(-k·b), with the fit of T in each format."""

    k: Fraction
    float32: Fit
    float64: Fit

    @property
    def mirrored(self) -> Rate:
        """The rate -k: exp(k·b), where T has the opposite sign."""
        return Rate(-self.k, *map(_negative, (self.float32, self.float64)))


def _negative(fit: Fit) -> Fit:
    return replace(
        fit,
        target=f"-({fit.target})",
        coefficients=tuple(-c for c in fit.coefficients),
    )


def _rate(k: Fraction, name: str) -> Rate:
    return Rate(k, EXPONENTIAL[f"{name}_FLOAT32"], EXPONENTIAL[f"{name}_FLOAT64"])


UNIT = _rate(Fraction(1), "UNIT")
TWICE = _rate(Fraction(2), "TWICE")
QUICK = _rate(Fraction("1.702"), "QUICK")
MIRRORED = UNIT.mirrored
GELU_TANH = _rate(SQRT_8_OVER_PI / CUBIC[0], "CUBIC")


class ReducedExponential(NamedTuple):
    """k·b = -n·ln 2 + k·r with |k·r| <= ln(2)/2, and T(r) = leading + square·rest.

    `magic` is a float that holds n + bias in its low bits.
    """

    r: Node
    leading: float
    square: Node
    rest: Node
    magic: Node


class Logistic(NamedTuple):
    """sigma(-b) = s·(1 - c)/total, total = 1 + s, `power` = s·2**scale.

    `s` has a lower bound that is negligible beside 1: for products use `power`.
    """

    c: Node
    s: Node
    total: Node
    power: Node


class Exponential(TwoFloatArithmetic):
    """exp(-b) for b >= 0 as a tail and minus one; the logistic function, its slope, its gates."""

    @property
    def exponential_limit(self) -> int:
        """The b to clamp at: b²·exp(-b) underflows to 0 there, and 2**(n + scale) is normal."""
        return 115 if self.fmt is FLOAT32 else 780

    @property
    def floor(self) -> Fraction:
        """Added to terms that are negligible beside 1, to avoid slow subnormal arithmetic."""
        return Fraction(1, 1 << (2 * self.fmt.precision + 12))

    def reduce(
        self, b: Node, lo: Node | None = None, rate: Rate = UNIT, bias: int | None = None
    ) -> ReducedExponential:
        """Return exp(-k·(b + lo)) in reduced form; n is biased by the scale by default."""
        step = self.number(LN2 / rate.k)
        assert step.lo is not None
        magic, n = self._round(b, rate, bias)
        # n·step.hi + b cancels and is therefore exact.
        first = self.fma(n, step.hi, b)
        if lo is None:
            return self._even_part(self.fma(n, step.lo, first), magic, rate)
        return self._even_part(first + self.fma(n, step.lo, lo), magic, rate)

    def reduce_cubic(self, a: Node) -> ReducedExponential:
        """Return exp(-sqrt(8/pi)·(a + 0.044715·a³)) in reduced form.

        The argument is up to 2**10 times as large as r, so a·(A + C·a²) is carried in two parts;
        with n·step added in the same fma, the product needs no second part.
        """
        square = self._square(a)
        inner = self.fma(CUBIC[1], square, CUBIC[0])
        rest = self.fma(CUBIC[1], square, CUBIC[0] - inner)
        rest = self.fma(CUBIC[1], self.fma(a, a, -square), rest)
        magic, n = self._round(self.product(a, inner), GELU_TANH, None)
        step = LN2 / GELU_TANH.k
        # `coarse` has few enough bits that n·coarse is exact.
        digits = Fraction(2) ** (self.fmt.precision - (8 if self.fmt is FLOAT32 else 11))
        coarse = Fraction(int(step * digits)) / digits
        r = self.fma(a, inner, n * coarse) + self.fma(a, rest, n * (step - coarse))
        return self._even_part(r, magic, GELU_TANH)

    def cubic_change(self, a: Node) -> TwoFloat:
        """Return a·db/da in two parts, b = sqrt(8/pi)·(a + 0.044715·a³) as in `reduce_cubic`."""
        square = self._square(a)
        bend = self.lift(3 * SQRT_8_OVER_PI * CUBIC[1] / CUBIC[0])
        rise = self.fma(square, bend, SQRT_8_OVER_PI)
        rest = self.fma(square, bend, SQRT_8_OVER_PI - rise)
        rest = self.fma(self.fma(a, a, -square), bend, rest)
        hi = self.product(a, rise)
        return TwoFloat(hi, self.fma(a, rest, self.fma(a, rise, -hi)))

    def _round(self, b: Node, rate: Rate, bias: int | None) -> tuple[Node, Node]:
        magic = 3 * 2 ** (self.fmt.mantissa_bits - 1) + (self.fmt.scale if bias is None else bias)
        rounded = self.fma(b, -rate.k / LN2, magic)
        return rounded, rounded - magic

    def _even_part(self, r: Node, magic: Node, rate: Rate) -> ReducedExponential:
        fit: Fit = getattr(rate, self.fmt.name)
        leading, *rest = fit.coefficients
        square = self._square(r)
        return ReducedExponential(r, leading, square, self.polynomial(square, rest), magic)

    def _square(self, r: Node) -> Node:
        return self.fma(r, r, self.floor)

    def logistic(self, e: ReducedExponential, fine: bool = True) -> Logistic:
        """Return sigma(-b) from the reduced exp(-b), b of either sign, n biased by the scale.

        `fine=False` saves one operation and adds up to a quarter ulp of error.
        """
        power = self.add_exponent(self.lift(1), e.magic)
        s = self.fma(power, self.unit, self.floor)
        return Logistic(self._correction(e, s, fine), s, 1 + s, power)

    def _correction(self, e: ReducedExponential, s: Node, fine: bool = True) -> Node:
        total = 1 + s
        odd = self.fma(-s, e.r, e.r)
        # Division of a subnormal r would be slow.
        twice = self.fma(e.r, 2, self.floor)
        if fine:
            # T's leading term is added last: the other terms and their rounding errors are small.
            small = self.fma(e.square * e.rest, total, odd)
            return twice / self.fma(total, e.leading, small)
        even = self.fma(e.square, e.rest, e.leading)
        return twice / self.fma(even, total, odd)

    def gate(self, g: Logistic, a: Node | None = None) -> Tail:
        """Return a·sigma(-b), or sigma(-b) alone, as a tail."""
        if a is None:
            return Tail(self.portion(g), None, g.power)
        v = self.product(a, g.power) / g.total
        return self.scaled(self.fma(-v, g.c, v))

    def rising(self, x: Node) -> Tail:
        """Return sigma(x) as a tail for -`exponential_limit` <= x <= 40; NaN is kept.

        With exp(-x) = S·(T - r)/(T + r) this is the product (1 + c)/(1 + S) of the module's
        docstring. Numerators and denominators carry the factor 2**-scale as part of the exponent of
        S, so scaling takes no operation; `_correction` would take two more.
        """
        e = self.reduce(x, bias=self.fmt.max_exponent - self.fmt.scale)
        power = self.exponent_only(e.magic)
        total = power + self.unit
        small = self.fma(e.square * e.rest, total, e.r * (self.unit - power))
        # T's leading term is 2: sums instead of products, since adders are less busy here.
        above = self.fma(e.r, power + power, self.floor * self.unit)
        c = above / ((total + total) + small)
        inverse = 1 / total
        return self.scaled(self.fma(inverse, c, inverse))

    @property
    def wide_limit(self) -> Fraction:
        """The b to clamp at: exp(-b) times any number of the format underflows to 0 there."""
        return (self.fmt.max_exponent - self.fmt.smallest_exponent + 4) * LN2

    def wide_ramp(self, x: Node, e: ReducedExponential, a: Node) -> Node:
        """Return max(x, 0) - a·sigma(-b), for any a and b <= `wide_limit`.

        There s = 2**n is out of the exponent range even when scaled, and scaled a may overflow: s
        is carried as two powers of two, which may be subnormal but are exact.
        """
        magic = 3 * 2 ** (self.fmt.mantissa_bits - 1)
        bias = magic + self.fmt.max_exponent + self.fmt.scale
        n = e.magic - (magic + self.fmt.scale)
        half = self.fma(n, Fraction(1, 2), bias)
        power = self.exponent_only(half) * self.unit
        rest = self.exponent_only((n - (half - bias)) + bias) * self.unit
        s = power * rest
        v = a * power / (1 + s)
        tail = self.fma(-v, self._correction(e, s), v)
        return self.fma(tail, -rest, self.where(x < 0, 0, x))

    def portion(self, g: Logistic) -> Node:
        """Return (1 - c)/(1 + s), which is sigma(-b)/s."""
        v = 1 / g.total
        return self.fma(-v, g.c, v)

    def gate_slope(self, g: Logistic) -> Tail:
        """Return sigma'(b) = q - q² as a tail, q = sigma(-b); relative errors of q are reduced."""
        portion = self.portion(g)
        q = portion * g.power
        return self.scaled(self.fma(-(portion * g.s), q, q))

    def product_slope(self, g: Logistic, b: Node, lo: Node | None = None) -> Tail:
        """Return sigma(-b)·(1 - (b + lo)·sigma(b)) as a tail: the slope of x·sigma(x) at -b.

        If b is a function of a = |x|, pass a·db/da as b + lo: the slope of x·sigma(b(x)).
        """
        below = self.portion(g)
        above = self.fma(-g.s, below, 1)
        factor = self.fma(-b, above, 1)
        if lo is not None:
            factor = self.fma(-lo, above, factor)
        return Tail(below * factor, None, g.power)

    def fine_product_slope(self, g: Logistic, b: Node, lo: Node) -> Tail:
        """Return what `product_slope` does, with a smaller relative error and six more operations.

        The rounding errors of 1 + s and of the factor are added back, the former as part of c.
        """
        c = g.c + (g.s - (g.total - 1))
        inverse = 1 / g.total
        below = self.fma(-inverse, c, inverse)
        above = self.fma(-g.s, below, 1)
        factor = self.fma(-b, above, 1)
        rest = self.fma(-lo, above, 1 + self.fma(-b, above, -factor))
        large = factor * inverse
        return Tail(large, self.fma(-large, c, rest * below), g.power)

    def half_tanh(self, g: Logistic, half: Node | None = None) -> Node:
        """Return tanh(b/2) = 1 - 2·sigma(-b), without cancellation where b is small.

        With `half`, which is b/2 >= 0, accurate down to the smallest b: tanh(h) <= h, so below the
        lower bound of the correction the result is h. NaN propagates from `g`.
        """
        result = self.fma(g.s + g.s, g.c, 1 - g.s) / g.total
        return result if half is None else self.minimum(half, result)

    def tanh(self, a: Node) -> Node:
        """Return tanh(a) for a >= 0 with full relative accuracy near 0; NaN is kept.

        Like `half_tanh`, but with s unscaled, since 1 - tanh(a) soon becomes negligible.
        """
        e = self.reduce(self.bound(a, 0, 20), rate=TWICE, bias=self.fmt.max_exponent)
        s = self.exponent_only(e.magic)
        if self.fmt is not FLOAT32:
            return self.half_tanh(Logistic(self._correction(e, s), s, 1 + s, s), a)
        # (T·(1 - s) + r·(1 + s))/(T·(1 + s) + r·(1 - s)): one division, half an ulp less accurate.
        even = self.fma(e.square, e.rest, e.leading)
        above = self.fma(even, (1 - s) + self.floor, self.fma(s, e.r, e.r))
        below = self.fma(even, 1 + s, self.fma(-s, e.r, e.r))
        # tanh(a) <= a: below `floor` the result is a.
        return self.minimum(a, above / below)

    def over_shrink(self, numerator: Node, square: Node) -> Node:
        """Return numerator/G(square) for a < 1; a³/G(a²) is a - tanh(a), without cancellation.

        The smallest numerators are raised to a normal number: division of a subnormal is slow.
        """
        raised = numerator + Fraction(2) ** (self.fmt.min_exponent + 6)
        return raised / self.polynomial(square, self.fit(HYPERBOLIC, "SHRINK").coefficients)

    def below_one(self, a: Node) -> Node:
        """Return 1 - tanh(a) for a >= 1, until it is negligible beside 1; NaN is kept.

        With s, T and r of exp(-2·a) it is 2·s·(T - r)/(T + r + s·(T - r)).
        """
        e = self.reduce(self.bound(a, 0, 20), rate=TWICE, bias=self.fmt.max_exponent)
        s = self.exponent_only(e.magic)
        even = self.fma(e.square, e.rest, e.leading)
        part = s * (even - e.r)
        return (part + part) / (part + (even + e.r))

    def bound(self, x: Node, low: Node | Number, high: Node | Number) -> Node:
        """Return `x` between `low` and `high`; NaN is kept."""
        x = self.where(x > high, high, x)
        return x if isinstance(low, int) and low == 0 else self.where(x < low, low, x)

    def scaled(self, total: Node) -> Tail:
        """Return `total`, which is already multiplied by 2**scale, as a tail."""
        return Tail(total, None, self.lift(1))

    def scaled_sum(self, tail: Tail) -> Node:
        """Return the tail times 2**scale as one float."""
        if tail.lo is None and tail.power is self.lift(1):
            return tail.hi
        return super().scaled_sum(tail)

    def unscale(self, tail: Tail, factor: int = 1) -> Node:
        """Return the tail (times a power of two) as one float, the only one that may be subnormal.

        By fma, since a product with a subnormal result is far slower on some processors.
        """
        return self.fma(self.scaled_sum(tail), factor * self.unit, 0)
