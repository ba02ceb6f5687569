"""Observed values, and the functions of the catalogue that may explain them.

The free numbers of a function are its parameters, a scale and an offset. It is evaluated in float64
from its definition, without compilation, so that the first call is fast and softgate's kernels are
not compared with themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import Format, dtype_of
from softgate.formula.graph import Node, walk
from softgate.lower import evaluation
from softgate.runtime.activation import Activation

Float64s = npt.NDArray[np.float64]

DENSE, FAR = 8.0, 100.0
SHARE_OF_X = 2.0**-4
HUGE = 1e30
THINNED = 16
"""The search for parameters uses one point out of this many."""
LEAST = 2.0**-7
"""Least size of a result, relative to the amplitude: near 0, exp(x) - 1 has an absolute error."""


@dataclass(frozen=True)
class Observation:
    """Inputs and results of one format, both exact in float64."""

    x: Float64s
    y: Float64s
    fmt: Format

    @cached_property
    def unit(self) -> Float64s:
        """The unit of a difference at each point: about the rounding error of the format."""
        eps = 2.0**-self.fmt.mantissa_bits
        size = np.abs(self.y) + SHARE_OF_X * self.amplitude * np.minimum(np.abs(self.x), DENSE)
        # With a small scale results are subnormal, with a constant spacing.
        step = 2.0**self.fmt.smallest_exponent
        return np.maximum(eps * np.maximum(size, LEAST * self.amplitude), step)

    @cached_property
    def amplitude(self) -> float:
        """The range of the results for |x| <= DENSE, relative to that of relu."""
        near = self.y[(np.abs(self.x) <= DENSE) & np.isfinite(self.y)]
        return float(np.ptp(near)) / DENSE or 1.0 if near.size else 1.0

    @property
    def slack(self) -> float:
        """The factor of the allowed differences, in units, relative to those in float32.

        In 16 bits a unit is so large that a few of them distinguish functions. In float64 many
        implementations have constants with fewer digits.
        """
        if self.fmt.bits == 16:
            return 0.125
        return max(1.0, 2.0 ** (self.fmt.mantissa_bits - 23))

    @property
    def constant(self) -> bool:
        """Whether all results are the same up to rounding: then no function can be identified."""
        finite = self.y[np.isfinite(self.y)]
        eps = 2.0**-self.fmt.mantissa_bits
        return not finite.size or bool(np.ptp(finite) <= 4 * eps * np.max(np.abs(finite)))

    @cached_property
    def thinned(self) -> Observation:
        """A subset of the points, for a faster search."""
        few = Observation(self.x[::THINNED], self.y[::THINNED], self.fmt)
        few.__dict__["amplitude"] = self.amplitude
        return few

    def misfit(self, values: Float64s) -> tuple[Float64s, Float64s]:
        """Return the root mean square and the largest of the differences, in units.

        For each row if `values` is a matrix.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            r = self._apart(values)  # in place from here on: matrices have a million elements
            np.abs(r, out=r)
            r /= self._finite_unit
        np.fmin(r, HUGE, out=r)  # NaN, too
        return np.sqrt(np.einsum("...i,...i->...", r, r) / r.shape[-1]), r.max(axis=-1)

    def difference(self, values: Float64s) -> float:
        """Return the largest absolute difference; inf if a result is NaN or infinite."""
        return float(self.differences(values))

    def differences(self, values: Float64s) -> Float64s:
        """Return the largest absolute difference; of each row if `values` is a matrix."""
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.abs(self._apart(values))
        largest: Float64s = np.max(np.where(np.isfinite(apart), apart, np.inf), axis=-1)
        return largest

    @cached_property
    def _overflowed(self) -> npt.NDArray[np.bool_]:
        """Where results are infinite."""
        return np.isinf(self.y)

    @cached_property
    def _finite_unit(self) -> Float64s:
        """The units of the differences; 1 where results are infinite."""
        return np.where(self._overflowed, 1.0, self.unit)

    @cached_property
    def weights(self) -> Float64s | None:
        """The weights of a least-squares fit; None if a result is NaN or infinite."""
        eps = 2.0**-self.fmt.mantissa_bits
        return (eps / self.unit) ** 2 if np.isfinite(self.y).all() else None

    def _apart(self, values: Float64s) -> Float64s:
        """Return the differences; 0 where a result is infinite and the value exceeds the format."""
        apart: Float64s = values - self.y
        if self._overflowed.any():
            # Within the last binade the rounding errors of an implementation may overflow.
            beyond = np.copysign(1.0, self.y) * values >= 2.0**self.fmt.max_exponent
            apart[self._overflowed & beyond] = 0.0
        return apart


def points(fmt: Format) -> np.ndarray[tuple[int], np.dtype[np.floating]]:
    """Return the inputs of an observation in `fmt`: dense near 0, where activations bend.

    Examples
    --------
    >>> from softgate.formula.formats import FLOAT32
    >>> x = points(FLOAT32)
    >>> x.dtype, float(x.min()), float(x.max()), 0.0 in x
    (dtype('float32'), -100.0, 100.0, True)
    """
    # The spacing is not a round number: piecewise functions have kinks at round numbers, where
    # results have the least information.
    dense = np.linspace(-DENSE, DENSE, 1537) * 0.9990234375
    near = np.geomspace(1.03e-4, 0.0973, 24)
    # Steps, and kinks close to 0, differ from steep functions only between 0 and the other points.
    tiny = 2.0 ** -np.array([100, 60, 40, 30, 24, 22, 20, 18, 16, 15, 14])
    far = np.geomspace(DENSE, FAR, 32)
    whole = np.concatenate([dense, tiny, -tiny, near, -near, far, -far])
    return np.unique([*whole.astype(dtype_of(fmt)), 0.0]).astype(dtype_of(fmt))


Values = Mapping[str, float]
Columns = Mapping[str, Any]

LEAST_SCALE = 1e-6
"""The smallest scale: with a smaller one every function fits a constant."""


@dataclass(frozen=True)
class AffineMap:
    """scale·f + offset."""

    scale: Any = 1.0
    offset: Any = 0.0
    """Numbers, or columns of them: one for each row of values."""

    def of(self, values: Float64s) -> Float64s:
        """Return scale·values + offset."""
        if self is PLAIN:
            return values
        with np.errstate(over="ignore", invalid="ignore"):
            mapped: Float64s = self.scale * values
            mapped += self.offset
        return mapped

    @property
    def free(self) -> int:
        """The number of fitted coefficients: 0, 1 or 2."""
        return int(self.scale != 1.0) + int(self.offset != 0.0)


PLAIN = AffineMap()


class Family:
    """One activation with free parameters, evaluated in float64 from its definition."""

    def __init__(self, activation: Activation) -> None:
        self.activation, self.name = activation, activation.name
        self.parameters = activation.entry.parameters
        bound = {p.name: activation.parameters.get(p.name, p.default) for p in self.parameters}
        self.defaults: Values = bound

    @cached_property
    def _root(self) -> Node:
        # Some definitions, such as that of log_ndtr, underflow in float64.
        return self.activation.entry.define_in_operators()

    @cached_property
    def length(self) -> int:
        """The number of operations of the formula."""
        return len(list(walk(self.activation.entry.define())))

    def accepts(self, values: Values) -> bool:
        """Return whether these parameters are valid."""
        try:
            self.activation.entry.check(values)
        except ValueError:
            return False
        return True

    def variants(self, values: Values) -> Iterator[Values]:
        """Yield the starting points of a search: these parameters."""
        yield values

    def evaluate(self, x: Float64s, values: Columns) -> Float64s:
        """Return the function at `x`; a row for each value if a parameter is a column vector."""
        y = evaluation.evaluate_float64(self._root, {"x": x, **values})
        return y if y.ndim else np.full(x.shape, y)


def solve(observed: Observation, values: Float64s, scale: bool, offset: bool) -> AffineMap:
    """Return the weighted least-squares fit of the scale and the offset, if they are free."""
    usable = np.isfinite(values)
    if values.ndim == 1:
        factor, shift = _least_squares(observed, values, usable, scale, offset)
        return AffineMap(factor.item(), shift.item())
    whole = usable.all(axis=-1)
    if whole.all() or not whole.any():
        return AffineMap(*_least_squares(observed, values, usable, scale, offset))
    factor, shift = np.empty((2, *whole.shape, 1))
    for rows in (whole, ~whole):  # rows without NaN and infinity need no masks
        factor[rows], shift[rows] = _least_squares(
            observed, values[rows], usable[rows], scale, offset
        )
    return AffineMap(factor, shift)


def _least_squares(
    observed: Observation,
    values: Float64s,
    usable: npt.NDArray[np.bool_],
    scale: bool,
    offset: bool,
) -> tuple[Float64s, Float64s]:
    """Return the scale and the offset of each row."""
    if observed.weights is not None and usable.all():
        w, f, y = observed.weights, values, observed.y
    else:
        usable = usable & np.isfinite(observed.y)
        eps = 2.0**-observed.fmt.mantissa_bits
        w = np.where(usable, eps / np.where(usable, observed.unit, 1.0), 0.0) ** 2
        f, y = np.where(usable, values, 0.0), np.where(usable, observed.y, 0.0)
    with np.errstate(all="ignore"):
        total = w.sum(axis=-1, keepdims=True)
        f_mean, y_mean = (_along(w, z) / total if offset else 0.0 for z in (f, y))
        centred = f - f_mean
        around = w * centred
        factor = _along(around, y - y_mean) / _along(around, centred) if scale else 1.0
        shift = y_mean - factor * f_mean
        least = LEAST_SCALE * observed.amplitude
        wrong = ~np.isfinite(factor * shift) | (np.abs(factor) < least)
    return np.where(wrong, 1.0, factor), np.where(wrong, 0.0, shift)


def _along(a: Float64s, b: Float64s) -> Float64s:
    sums: Float64s = np.einsum("...i,...i->...", a, b)[..., None]
    return sums
