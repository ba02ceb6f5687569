"""A function of the catalogue with numbers still to be found: its parameters, a scale, an offset.

Evaluated from the definition in NumPy's float64: nothing is compiled, so the first question is
answered as fast as the next, and the kernels are not their own judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from softgate.formula.graph import Node, walk
from softgate.lower import float64
from softgate.runtime.activation import Activation

from .observation import Float64s, Observation

Values = Mapping[str, float]
Columns = Mapping[str, Any]

LEAST_SCALE = 1e-6
"""A scale that makes everything fit: a constant is no activation times nearly nothing."""


@dataclass(frozen=True)
class Affine:
    """scale·f + offset."""

    scale: Any = 1.0
    offset: Any = 0.0
    """Numbers, or columns of them: one for each row of values."""

    def of(self, values: Float64s) -> Float64s:
        """Return scale·values + offset."""
        if self is PLAIN:
            return values
        with np.errstate(over="ignore", invalid="ignore"):
            found: Float64s = self.scale * values + self.offset
        return found

    @property
    def free(self) -> int:
        """How many of the two were found and not given."""
        return int(self.scale != 1.0) + int(self.offset != 0.0)


PLAIN = Affine()


class Family:
    """One activation of the catalogue; `fixed` parameters are those already known."""

    def __init__(self, activation: Activation) -> None:
        self.activation, self.name = activation, activation.name
        self.parameters = activation.entry.parameters
        bound = {p.name: activation.parameters.get(p.name, p.default) for p in self.parameters}
        self.defaults: Values = bound

    @cached_property
    def _root(self) -> Node:
        return self.activation.entry.define()

    @cached_property
    def length(self) -> int:
        """How many operations the formula has."""
        return len(list(walk(self._root)))

    def accepts(self, values: Values) -> bool:
        """Tell whether the function has these parameters at all."""
        try:
            self.activation.entry.check(values)
        except ValueError:
            return False
        return True

    def variants(self, values: Values) -> Iterator[Values]:
        """Yield what a search may begin with: these parameters."""
        yield values

    def evaluate(self, x: Float64s, values: Columns) -> Float64s:
        """Return the function at `x`: a row for each value where one parameter is a column."""
        found = float64.evaluate(self._root, {"x": x, **values})
        return found if found.ndim else np.full(x.shape, found)


def solve(observed: Observation, values: Float64s, scale: bool, offset: bool) -> Affine:
    """Return the scale and the offset, where asked for, that fit best by least squares."""
    usable = np.isfinite(values) & np.isfinite(observed.y)
    eps = 2.0**-observed.fmt.mantissa_bits
    w = np.where(usable, eps / np.where(usable, observed.unit, 1.0), 0.0) ** 2
    f, y = np.where(usable, values, 0.0), np.where(usable, observed.y, 0.0)
    with np.errstate(all="ignore"):
        total = w.sum(axis=-1, keepdims=True)
        f_mean, y_mean = (_along(w, z) / total if offset else 0.0 for z in (f, y))
        around = w * (f - f_mean)
        factor = _along(around, y - y_mean) / _along(around, f - f_mean) if scale else 1.0
        shift = y_mean - factor * f_mean
        least = LEAST_SCALE * observed.amplitude
        wrong = ~np.isfinite(factor * shift) | (np.abs(factor) < least)
    factor, shift = np.where(wrong, 1.0, factor), np.where(wrong, 0.0, shift)
    if values.ndim > 1:
        return Affine(factor, shift)
    return Affine(factor.item(), shift.item())


def _along(a: Float64s, b: Float64s) -> Float64s:
    found: Float64s = np.einsum("...i,...i->...", a, b)[..., None]
    return found
