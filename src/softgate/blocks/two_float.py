"""Numbers in two parts, tails times a power of two, and the operations that round them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from softgate.formula.arithmetic import FloatArithmetic
from softgate.formula.graph import Node, Number

from .fits import Fit


class TwoFloat(NamedTuple):
    """The unevaluated sum hi + lo; `lo` is None where the number is one float exactly."""

    hi: Node
    lo: Node | None = None

    @property
    def is_one(self) -> bool:
        """Whether this is the constant 1, so that a product can be omitted."""
        return self.lo is None and self.hi.op == "const" and self.hi.attr == 1


class Tail(NamedTuple):
    """The number (hi + lo)·2**n with `power` = 2**(n + scale), still to be unscaled.

    `lo` is small beside `hi` or None; `hi` is of the order of 1 (or of a, or 1/a).
    """

    hi: Node
    lo: Node | None
    power: Node


class TwoFloatArithmetic(FloatArithmetic):
    """Two-part products, and the combinators that turn a tail into a result."""

    def fit(self, family: Mapping[str, Fit], name: str) -> Fit:
        """Return the fit `name` of one family of `fits`, in this format."""
        return family[f"{name}_{self.fmt.name.upper()}"]

    def number(self, value: Fraction | str | int) -> TwoFloat:
        """Return a constant to twice the format's precision."""
        exact = Fraction(value)
        hi = Fraction(self.fmt.round(exact))
        lo = Fraction(self.fmt.round(exact - hi))
        return TwoFloat(self.lift(hi), self.lift(lo) if lo else None)

    def parameter(self, name: str) -> TwoFloat:
        """Return the scalar parameter `name` to float64 precision, whatever the format."""
        hi = self.graph.parameter(name)
        return TwoFloat(hi, self.graph.parameter(f"{name}.lo") if self.fmt.bits < 64 else None)

    def times(self, a: Node, b: TwoFloat) -> TwoFloat:
        """Return a·b to about twice the format's precision; 0 has the sign +."""
        if b.is_one:
            return TwoFloat(a)
        hi = self.product(a, b.hi)
        lo = self.fma(a, b.hi, -hi)
        return TwoFloat(hi, lo if b.lo is None else self.fma(a, b.lo, lo))

    def ieee_product(self, x: Node, y: Node) -> Node:
        """Return x·y as IEEE 754 defines it, signs of zeros included; as fast as `product`."""
        return self.fma(x, y, -self.lift(0))

    def exceeds(self, x: Node, number: TwoFloat) -> Node:
        """Return the comparison x > number, exact for a number in two parts; false at NaN."""
        # If x differs from `hi`, |x - hi| > |lo|, so `lo` decides only where x == hi.
        return x > number.hi if number.lo is None else x - number.hi > number.lo

    def within(self, x: Node, number: TwoFloat) -> Node:
        """Return the comparison x <= number, exact for a number in two parts; false at NaN."""
        return x <= number.hi if number.lo is None else x - number.hi <= number.lo

    def reaches(self, x: Node, number: TwoFloat) -> Node:
        """Return the comparison x >= number, exact for a number in two parts; false at NaN."""
        return x >= number.hi if number.lo is None else x - number.hi >= number.lo

    def scaled_sum(self, tail: Tail) -> Node:
        """Return the tail times 2**scale as one float."""
        total = tail.hi if tail.lo is None else tail.hi + tail.lo
        return total * tail.power

    def ramp(self, x: Node, tail: Tail) -> Node:
        """Return max(x, 0) - tail; correct at -0 and -inf; NaN propagates from `x`."""
        positive = self.where(x < 0, 0, x)
        return self.fma(self.scaled_sum(tail), -self.unit, positive)

    def step(self, x: Node, tail: Tail) -> Node:
        """Return the tail where x < 0, else 1 - tail; NaN propagates from `x`."""
        return self.keep_nan(x, self.side(x, tail))

    def side(self, x: Node, tail: Tail) -> Node:
        """Return the tail where x < 0, else 1 - tail, as `step`; NaN propagates from the tail."""
        sign = self.where(x < 0, self.unit, -self.unit)
        return self.fma(self.scaled_sum(tail), sign, self.where(x < 0, 0, 1))

    def keep_nan(self, x: Node, result: Node | Number) -> Node:
        """Return `result`, or `x` where `x` is NaN."""
        return self.where(x.same(x), result, x)

    @property
    def unit(self) -> Fraction:
        """2**-scale."""
        return Fraction(1, 1 << self.fmt.scale)

    def clamp(self, a: Node, limit: Node | Number) -> Node:
        """Return `a`, or `limit` where `a` is larger or NaN."""
        return self.minimum(a, limit)
