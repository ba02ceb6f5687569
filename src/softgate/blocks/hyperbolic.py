"""What tanh lacks of its argument near 0, and of 1 beyond: no numbers alike are subtracted.

Where a < 1, a - tanh(a) = a³/G(a²) with a fit G(y) = 3 + 6/5·y + ...; beyond, 1 - tanh(a) is
2·s·(T - r)/(T + r + s·(T - r)) with s, T and r of exp(-2·a), which adds to a - 1.
"""

from __future__ import annotations

from fractions import Fraction

from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Node

from . import hyperbolic_fits as fits
from .exponential import TWICE, Exponential


class Hyperbolic(Exponential):
    """The two parts of a - tanh(a), a >= 0; which one holds is for the caller to choose."""

    def over_shrink(self, numerator: Node, square: Node) -> Node:
        """Return numerator/G(square), right where a < 1; a³/G is a - tanh(a), square being a².

        The smallest numerators are raised to where a³ is 0 still: dividing a subnormal is slow.
        """
        fit = fits.SHRINK_FLOAT32 if self.fmt is FLOAT32 else fits.SHRINK_FLOAT64
        raised = numerator + Fraction(2) ** (self.fmt.min_exponent + 6)
        return raised / self.polynomial(square, fit.coefficients)

    def below_one(self, a: Node) -> Node:
        """Return 1 - tanh(a) where a >= 1, down to what counts beside 1; NaN is kept."""
        e = self.reduce(self.bound(a, 0, 20), rate=TWICE, bias=self.fmt.max_exponent)
        s = self.exponent_only(e.magic)
        even = self.fma(e.square, e.rest, e.leading)
        part = s * (even - e.r)
        return (part + part) / (part + (even + e.r))
