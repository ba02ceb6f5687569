"""The truth: arb balls, tightened until they decide; in bulk our float64 kernel, once certified.

The kernel is the truth of narrower formats only after it has been measured against arb in the same
run. Twice the largest error found is taken for what it may be off by: the margin, which a
certificate states, and within which a rounding is decided by arb.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula import rounding
from softgate.formula.formats import FLOAT64, Format
from softgate.runtime import kernels
from softgate.runtime.tables import truth_graph

from .. import accuracy

Float64s = npt.NDArray[np.float64]
FIRST_BITS = 256


class Truths:
    """The true results of one quantity of one function."""

    def __init__(
        self,
        entry: Entry,
        quantity: str,
        parameters: Mapping[str, float],
        breaks: tuple[float, ...] = (),
    ) -> None:
        self.entry, self.quantity, self.parameters = entry, quantity, dict(parameters)
        self.root = truth_graph(entry, quantity)
        self.scaled = len(accuracy.scale_graphs(entry, quantity)) > 1
        """Whether errors are measured in ulps of another scale than the truth."""
        self.kernel_ulp = float("nan")
        self.checked = 0
        self.breaks = breaks
        self._kinks: dict[str, dict[float, tuple[float, float]]] = {}

    def kernel(self, x: Float64s) -> Float64s:
        """Return what the float64 kernel has for the truth."""
        with np.errstate(all="ignore"):
            return kernels.evaluate64(self.entry, self.quantity, x, self.parameters)

    def scale(self, x: Float64s, truth: Float64s) -> Float64s:
        """Return the magnitudes whose ulp errors are measured in."""
        if not self.scaled:
            return np.abs(truth)
        return accuracy.slope_scale(self.entry, x, truth, self.parameters)

    def scale_of_run(self, x: Float64s, truth: Float64s, fmt: Format) -> Float64s | float:
        """Return the scale of a run of neighbouring inputs: one number where it has one ulp.

        That is looked at every thousandth input; between them the scale is smooth.
        """
        few = np.append(np.arange(0, x.size, 1024), x.size - 1)
        some = self.scale(x[few], truth[few])
        units = rounding.ulp(some, fmt)
        if np.isfinite(some).all() and (units == units[0]).all():
            return float(some[0])
        return self.scale(x, truth)

    def at_kinks(self, x: Float64s, y: Float64s, truth: Float64s, fmt: Format) -> Float64s:
        """Return the truth, at a kink the nearest to `y` of all numbers between its two sides.

        There a slope has two one-sided limits, and any number between them is a subgradient.
        """
        for place, (low, high) in self.kinks(fmt).items():
            ends = x[[0, -1]]
            if np.isnan(ends).any() or ends.min() <= place <= ends.max():
                here = (x == place) & ~np.isnan(y)
                truth[here] = np.clip(y[here], low, high)
        return truth

    def kinks(self, fmt: Format) -> dict[float, tuple[float, float]]:
        """Return where the quantity jumps at an input of `fmt`, from what and to what."""
        if fmt.name not in self._kinks:
            self._kinks[fmt.name] = self._find_kinks(fmt) if self.quantity != "value" else {}
        return self._kinks[fmt.name]

    def _find_kinks(self, fmt: Format) -> dict[float, tuple[float, float]]:
        found = {}
        for place in self.breaks:
            if rounding.round_to(np.float64(place), fmt) != place:
                continue
            step = max(abs(place), 2.0**-20) * 2.0**-30
            left, right = self.kernel(np.array([place - step, place + step])).tolist()
            if abs(left - right) > 2.0**-20 * max(abs(left), abs(right)):
                found[place] = (min(left, right), max(left, right))
        return found

    def certify(self, x: Float64s) -> None:
        """Measure the float64 kernel against arb at `x`, and keep what it may be off by."""
        x = x[np.isfinite(x)]
        found = self.against_arb(x, self.kernel(x), FLOAT64)
        known = 0.0 if np.isnan(self.kernel_ulp) else self.kernel_ulp
        self.kernel_ulp = max(known, found.max_ulp)
        self.checked += x.size

    def margin(self, fmt: Format) -> float:
        """Return how far an error in ulps of `fmt` may be off."""
        return 2 * self.kernel_ulp * 2.0 ** (fmt.precision - FLOAT64.precision)

    def against_arb(
        self, x: npt.NDArray[np.floating], y: npt.NDArray[np.floating], fmt: Format
    ) -> accuracy.Errors:
        """Measure results at finite inputs against arb, one by one."""
        return accuracy.against_arb(self.entry, self.quantity, fmt, x, y, self.parameters)

    def is_rounded(self, x: float, y: float, fmt: Format) -> bool:
        """Tell whether `y` is the truth at `x` rounded to nearest, ties to even: by arb alone."""
        if np.isnan(y):
            return False
        low, high, even = _cell(y, fmt)
        above = 1 if low is None else self._side(x, low)
        below = -1 if high is None else self._side(x, high)
        return (above > 0 or (above == 0 and even)) and (below < 0 or (below == 0 and even))

    def is_zero(self, x: float) -> bool:
        """Tell whether the truth at `x` is 0 itself, not a number however small."""
        from softgate.lower import arb

        ball = arb.evaluate(self.root, FIRST_BITS, x=x, **self.parameters)
        return bool(ball == 0)

    def _side(self, x: float, place: Fraction) -> int:
        """Return the sign of the truth minus `place`; 0 where 4096 bits tell no difference."""
        from softgate.lower import arb

        bits = FIRST_BITS
        while bits <= arb.MAX_BITS:
            try:
                ball = arb.evaluate(self.root - place, bits, x=x, **self.parameters)
            except arb.Undecided:
                bits *= 2
                continue
            if ball > 0 or ball < 0:
                return 1 if ball > 0 else -1
            bits *= 2
        return 0


def _cell(y: float, fmt: Format) -> tuple[Fraction | None, Fraction | None, bool]:
    """Return the ends of what rounds to `y` (None where there is none), and whether y is even."""
    unit = Fraction(2) ** fmt.smallest_exponent
    largest = (2 - Fraction(2) ** -fmt.mantissa_bits) * Fraction(2) ** fmt.max_exponent
    over = largest + Fraction(2) ** (fmt.max_exponent - fmt.precision)
    if np.isinf(y):
        return (over, None, True) if y > 0 else (None, -over, True)
    size = Fraction(abs(y))
    step = Fraction(float(rounding.ulp(np.float64(abs(y)), fmt)))
    power = _is_power(size)
    normal = size > Fraction(2) ** fmt.min_exponent
    below = step / 2 if power and normal else step
    near, far = size - below / 2, size + step / 2
    even = (size / step) % 2 == 0
    if y == 0:
        return -unit / 2, unit / 2, True
    return (near, far, even) if y > 0 else (-far, -near, even)


def _is_power(size: Fraction) -> bool:
    """Tell whether a positive dyadic number is a power of two."""
    top = size.numerator
    return top > 0 and top & (top - 1) == 0
