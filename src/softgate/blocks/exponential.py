"""exp(-b) = 2**n·(T - r)/(T + r), T = r·coth(r/2), b = n'·ln 2 + r with n = -n'.

The quotient form needs a polynomial of half the length, its rounding errors count only by the
factor r/2, and activations divide anyway: σ(-b) = E/(1 + E) is one division in all. With T = 2 + z
exact in its leading term, numerator and denominator are 2 + u and 2 + v of small u, v.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ..formats import FLOAT32
from ..graph import Node
from .exponential_fits import COTH_FLOAT32, COTH_FLOAT64
from .scaled import Scaled, Tail

LN2 = Fraction(
    "0.6931471805599453094172321214581765680755001343602552541206800094933936219696947"
)


class Ratio(NamedTuple):
    """The number exp(-b) = 2**n·(2 + u)/(2 + v), `magic` holding n in its low bits."""

    u: Node
    v: Node
    r: Node
    magic: Node


class Exponential(Scaled):
    """exp(-b) for b >= 0, as a ratio, as a tail, and minus one."""

    @property
    def exponential_limit(self) -> int:
        """Clamp b here: exp(-limit) times a limit is below every subnormal, times 2**scale normal."""
        return 112 if self.fmt is FLOAT32 else 760

    def reduce(self, b: Node, lo: Node | None = None, bias: int = 0) -> tuple[Node, Node]:
        """Return r = b + lo - n'·ln 2 with |r| <= ln(2)/2, and a float whose low bits are bias - n'."""
        magic = 3 * 2 ** (self.fmt.mantissa_bits - 1) + bias
        ln2 = self.number(LN2)
        t = self.fma(b, -1 / LN2, magic)
        n = t - magic
        # n·ln2.hi + b is exact: the sum cancels to few bits. Only what follows rounds.
        first = self.fma(n, ln2.hi, b)
        assert ln2.lo is not None
        if lo is None:
            return self.fma(n, ln2.lo, first), t
        return first + self.fma(n, ln2.lo, lo), t

    def ratio(self, b: Node, lo: Node | None = None, bias: int = 0) -> Ratio:
        """Return exp(-(b + lo)) as a quotient that is still to be divided."""
        fit = COTH_FLOAT32 if self.fmt is FLOAT32 else COTH_FLOAT64
        r, t = self.reduce(b, lo, bias)
        y = r * r
        z = y * self.polynomial(y, fit.coefficients)
        return Ratio(z - r, z + r, r, t)

    def exponential(self, b: Node, lo: Node | None = None) -> Tail:
        """Return exp(-(b + lo)) as the tail (1 + w)·2**n; 0 <= b <= `exponential_limit`.

        `hi` is 1, `lo` is w with |w| <= 0.42 and full relative accuracy, `power` is 2**(n + scale).
        """
        e = self.ratio(b, lo, self.fmt.scale)
        one = self.lift(1)
        return Tail(one, (e.u - e.v) / (2 + e.v), self.add_exponent(one, e.magic))

    def expm1(self, b: Node) -> Node:
        """Return exp(-b) - 1 for b >= 0, with full relative accuracy near 0; -0 at 0, -1 at inf.

        b = NaN gives -1: clamp and choose outside if NaN is to be kept.
        """
        b = self.clamp(b, 40)
        e = self.ratio(b, bias=self.fmt.max_exponent)
        power = self.exponent_only(e.magic)
        w = (-2 * e.r) / (2 + e.v)
        # power - 1 is exact down to 2**-24 (2**-53), where what is lost does not count any more.
        return self.fma(power, w, power - 1)
