"""Phi(-a) = 2**-n/(2·G·2**(r/C)), a² + L = n·C + r: the normal distribution's tail and density.

G(a) = phi(a)/Phi(-a), the inverse Mills ratio, is a + g + T(a) with a constant g and a small
rational T: what is lost in T counts only by the factor |T|/G, where a fit of G or 1/G itself costs
in full. phi(0) rides in the exponent as L, so nothing is left to multiply by at the end, and a² + L
is never subnormal. G·2**(r/C) is added up from its small end, and the last division is the
only other operation that rounds in full: a tail is a/E or 1/E.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..formats import FLOAT32
from ..graph import Node
from . import gaussian_fits
from .fits import Fit
from .gaussian_forms import EXACT, QUICK, TWO_LN2, Exponent, Form
from .scaled import Scaled, Tail


class Sum(NamedTuple):
    """The unevaluated sum large + small, |small| <= large."""

    large: Node
    small: Node


class Gaussian(Scaled):
    """The normal distribution on a >= 0, a no larger than `gaussian_limit`."""

    @property
    def gaussian_limit(self) -> float:
        """Where to clamp a: there a²·phi(a) is 0 in the format, and 2**(n ± scale) normal."""
        return 14.7 if self.fmt is FLOAT32 else 38.9

    def inverse_normal_tail(self, a: Node) -> Node:
        """Return 2**-scale/Phi(-a): dividing by it gives a tail that is scaled already."""
        form = QUICK[self.fmt.name]
        w, magic = self._power(a, form, self._fit("QUICK_POWER"), growing=True)
        g = self._inverse_mills(a, form, self._fit("QUICK"))
        small = self.fma(g.large + g.small, w, g.small)
        return self.add_exponent(g.large + small, magic)

    def normal_density(self, a: Node) -> Tail:
        """Return phi(a)."""
        w, magic = self._power(a, EXACT[self.fmt.name], self._fit("EXACT_POWER"), growing=False)
        one = self.lift(1)
        return Tail(one, w, self.add_exponent(one, magic))

    def normal_gate_slope(self, a: Node) -> Tail:
        """Return Phi(-a) - a·phi(a) = phi(a)·(1/G - a); 1/G and its difference keep their rests."""
        form = EXACT[self.fmt.name]
        w, magic = self._power(a, form, self._fit("EXACT_POWER"), growing=False)
        g = self._inverse_mills(a, form, self._fit("EXACT"))
        total = g.large + g.small
        rest = (g.large - total) + g.small
        mills = 1 / total
        lost = self.fma(-mills, rest, self.fma(-mills, total, 1))
        difference = mills - a
        # Exact where a <= mills; beyond, a's own ulp is the measure and this is 0.
        cut = (mills - difference) - a
        low = self.fma(mills, lost, cut)
        return Tail(
            difference,
            self.fma(difference + low, w, low),
            self.add_exponent(self.lift(1), magic),
        )

    def _fit(self, name: str) -> Fit:
        fit: Fit = getattr(gaussian_fits, f"{name}_{self.fmt.name.upper()}")
        return fit

    def _inverse_mills(self, a: Node, form: Form, fit: Fit) -> Sum:
        """Return G as a sum whose small part holds all that is not exact."""
        square = a * a
        ratio = self._evaluate(a, square, fit.coefficients)
        ratio = ratio / self._evaluate(a, square, fit.denominator)
        if not form.ordered:
            return Sum(self.lift(form.base), a + ratio)
        return Sum(self.maximum(a, form.base), self.minimum(a, form.base) + ratio)

    def _power(self, a: Node, form: Form, fit: Fit, *, growing: bool) -> tuple[Node, Node]:
        """Return 2**(±r/C) - 1 and a float with ±n and the bias in its low bits."""
        sign = 1 if growing else -1
        magic, n = self._round(a, form.exponent, sign)
        r = self._remainder(a, n, form.exponent, sign)
        square = r * r
        rest = self._evaluate(r, square, fit.coefficients)
        return self.fma(rest, square, r * 0.5), magic

    def _round(self, a: Node, exponent: Exponent, sign: int) -> tuple[Node, Node]:
        # 2·Phi(-a) and 2·phi(a) are what the exponential holds: the bias takes the 2 back.
        shift = 3 << (self.fmt.mantissa_bits - 1)
        magic_number = shift - sign * (self.fmt.scale - 1)
        argument = self.fma(a, a, exponent.offset)
        magic = self.fma(argument, sign / TWO_LN2, magic_number)
        return magic, magic - magic_number

    def _remainder(self, a: Node, n: Node, exponent: Exponent, sign: int) -> Node:
        """Return ±r, to the precision of r's own ulp."""
        if exponent.step_low:
            whole = self.fma(n, -exponent.step, sign * exponent.offset)
            low = self.fma(n, -exponent.step_low, sign * exponent.offset_low)
            return self.fma(sign * a, a, whole) + low
        assert sign > 0
        argument = self.fma(a, a, exponent.offset)
        low = self.fma(a, a, exponent.offset - argument)
        # The sum cancels: it is exact.
        return self.fma(n, -exponent.step, argument) + low

    def _evaluate(self, x: Node, square: Node, coefficients: Sequence[float]) -> Node:
        """Return the polynomial; in float64 by even and odd powers, which halves the long chain."""
        if self.fmt is FLOAT32:
            return self.polynomial(x, coefficients)
        even = self.polynomial(square, coefficients[0::2])
        return self.fma(self.polynomial(square, coefficients[1::2]), x, even)
