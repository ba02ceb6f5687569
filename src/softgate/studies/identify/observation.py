"""What a subject was seen to do: its values at points chosen to tell activations apart.

How far a value may be from the truth depends on who computed it. A careful function rounds once;
one composed of its format's own operations errs by some ulps of its argument, not of its result. So
a difference counts in ulps of the result plus a sixteenth of those of x, times the results' scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import Format
from softgate.formula.rounding import dtype_of

Float64s = npt.NDArray[np.float64]

DENSE, FAR = 8.0, 100.0
SHARE_OF_X = 2.0**-4
HUGE = 1e30
THINNED = 16
"""Of so many points one is enough to look for parameters with."""
LEAST = 1e-6
"""What counts as the size of a result next to 0: no point may outweigh all others."""


@dataclass(frozen=True)
class Observation:
    """Inputs and results of one format, both exact in float64."""

    x: Float64s
    y: Float64s
    fmt: Format

    @cached_property
    def unit(self) -> Float64s:
        """What a difference is measured in, point by point."""
        eps = 2.0**-self.fmt.mantissa_bits
        size = np.abs(self.y) + SHARE_OF_X * self.amplitude * np.minimum(np.abs(self.x), DENSE)
        # A small scale makes results subnormal, and those are rounded to whole steps.
        step = 2.0**self.fmt.smallest_exponent
        return np.maximum(eps * np.maximum(size, LEAST * self.amplitude), step)

    @cached_property
    def amplitude(self) -> float:
        """The range of the results where they are dense, as a share of that of relu: the scale."""
        near = self.y[(np.abs(self.x) <= DENSE) & np.isfinite(self.y)]
        return float(np.ptp(near)) / DENSE or 1.0 if near.size else 1.0

    @property
    def slack(self) -> float:
        """How large differences may be in this format, measured by those of float32.

        In 16 bits a unit is so large that few make another function. In float64 many an
        implementation has constants of fewer digits, and is still the same function.
        """
        if self.fmt.bits == 16:
            return 0.125
        return max(1.0, 2.0 ** (self.fmt.mantissa_bits - 23))

    @property
    def constant(self) -> bool:
        """Whether all results are the same but for rounding: then they tell of no function."""
        finite = self.y[np.isfinite(self.y)]
        eps = 2.0**-self.fmt.mantissa_bits
        return not finite.size or bool(np.ptp(finite) <= 4 * eps * np.max(np.abs(finite)))

    @cached_property
    def thinned(self) -> Observation:
        """Some of the points, for a search."""
        few = Observation(self.x[::THINNED], self.y[::THINNED], self.fmt)
        few.__dict__["amplitude"] = self.amplitude
        return few

    def misfit(self, values: Float64s) -> tuple[Float64s, Float64s]:
        """Return the root mean square and the largest of the differences, in units.

        Of each row where `values` has several.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            r = np.abs(values - self.y) / self.unit
        r[~(r < HUGE)] = HUGE
        return np.sqrt(np.einsum("...i,...i->...", r, r) / r.shape[-1]), r.max(axis=-1)

    def difference(self, values: Float64s) -> float:
        """Return the largest plain difference; inf where a result is no number."""
        return float(self.differences(values))

    def differences(self, values: Float64s) -> Float64s:
        """Return the largest plain difference, of each row where `values` has several."""
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.abs(values - self.y)
        largest: Float64s = np.max(np.where(np.isfinite(apart), apart, np.inf), axis=-1)
        return largest


def points(fmt: Format) -> np.ndarray[tuple[int], np.dtype[np.floating]]:
    """Return the inputs to look at, in `fmt`: dense where activations bend, some far out.

    Examples
    --------
    >>> from softgate.formula.formats import FLOAT32
    >>> x = points(FLOAT32)
    >>> x.dtype, float(x.min()), float(x.max()), 0.0 in x
    (dtype('float32'), -100.0, 100.0, True)
    """
    # An odd number of steps of no round size: kinks of piecewise functions lie on round numbers,
    # and results there say least.
    dense = np.linspace(-DENSE, DENSE, 1537) * 0.9990234375
    near = np.geomspace(1.03e-4, 0.0973, 24)
    far = np.geomspace(DENSE, FAR, 32)
    whole = np.concatenate([dense, near, -near, far, -far, [0.0]])
    return np.unique(whole.astype(dtype_of(fmt)))
