"""log(1 + E) = E - s·(E - z·P(z)), s = E/(2 + E), z = s², for E = (1 + w)·2**n <= 1.

Written downwards from E, with E = 2**n + 2**n·w kept in its two parts, the logarithm rounds
little more than once: all that rounds before is small beside the leading 2**n.
"""

from __future__ import annotations

from fractions import Fraction

from ..formats import FLOAT32
from ..graph import Node
from .logarithm_fits import LOG1P_FLOAT32, LOG1P_FLOAT64
from .scaled import Scaled, Tail, TwoFloat


class Logarithm(Scaled):
    """Logarithms of one plus a tail, tails times a parameter, and how they end."""

    @property
    def deepest(self) -> int:
        """The largest b for which exp(-b) times 2**scale is a normal number.

        A result exp(-b)·c underflows to 0 before b reaches it as long as |c| <= 1e11.
        """
        return 131 if self.fmt is FLOAT32 else 796

    def plain(self, tail: Tail) -> Node:
        """Return the tail as one unscaled float, to be added to something of the order of 1.

        A floor far below that something's last bit keeps what is computed from it normal: were the
        float to become subnormal, each operation on it would be many times slower.
        """
        assert tail.lo is not None
        total = self.fma(tail.power, tail.lo, tail.power)
        return self.fma(total, self.unit, Fraction(1, 1 << 2 * self.fmt.precision))

    def log1p(self, tail: Tail) -> Tail:
        """Return log(1 + tail) for a tail (1 + w)·2**n <= 1; the result has the same form."""
        assert tail.lo is not None
        fit = LOG1P_FLOAT32 if self.fmt is FLOAT32 else LOG1P_FLOAT64
        e = self.plain(tail)
        double = 2 + e
        s = e / double
        z = s * s
        rest = self.fma(-z, self.polynomial(z, fit.coefficients), e)
        return Tail(tail.hi, self.fma((1 + tail.lo) / double, -rest, tail.lo), tail.power)

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

    def raised(self, x: Node, tail: Tail) -> Node:
        """Return max(x, 0) + tail; NaN goes through `x`."""
        return self.fma(self.scaled_sum(tail), self.unit, self.where(x < 0, 0, x))
