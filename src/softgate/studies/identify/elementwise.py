"""Whether each result depends on its own input alone, found by changing the rest of the array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import Format, dtype_of

from ..subjects.description import RAISED, SubjectFailure

COUNT = 4099
"""Elements of the whole array, enough for two calls of a dropout of 1 % to differ in some."""
FIRST = 7
"""Elements of the shortest array; vector instructions do not fill a register with so few."""
TOLERANCE_EPS, TOLERANCE_EPS_16_BIT = 16, 4
"""Allowed differences in epsilons of 1 + |x| + |f(x)|.

Frameworks compute the last elements of an array with scalar instructions, whose elementary
functions differ by a few ulps; where terms cancel, as in 1 + erf(x), that is an absolute error. In
16 bits they compute in float32, so that few results differ, by one rounding.
"""

SHAPES = ((64, 64), (16, 16, 16), (8, 8, 8, 8))
"""Shapes of the first elements. Equal sizes, so that a transposed result has the same shape."""

Array = npt.NDArray[Any]


def dependence(evaluate: Callable[[Any], Any], fmt: Format) -> str:
    """Return why a function is not elementwise or not deterministic; empty if it is both."""
    rng = np.random.default_rng(0)
    x = rng.normal(0.7, 2.0, COUNT).astype(dtype_of(fmt))
    y = evaluate(x)
    epsilons = TOLERANCE_EPS_16_BIT if fmt.bits == 16 else TOLERANCE_EPS
    tolerance = epsilons * 2.0**-fmt.mantissa_bits
    for other, places, where in _arrays(x, rng):
        try:
            result = evaluate(other)
        except SubjectFailure as failure:
            if other.ndim == 1 or failure.kind != RAISED:
                raise
            continue  # it takes arrays of one dimension
        mine, theirs = (a.astype(np.float64).ravel() for a in (y[places[0]], result[places[1]]))
        at = x[places[0]].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(mine - theirs) <= tolerance * (1 + np.abs(at) + np.abs(mine))
        differing = np.flatnonzero(~(near | (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))))
        if differing.size:
            i = int(differing[np.argmin(np.abs(at[differing]))])
            kind = "not deterministic" if other is x else "not elementwise"
            return f"{kind}: f({at[i]:.6g}) is {mine[i]:.6g}, and {theirs[i]:.6g} {where}"
    return ""


def _arrays(x: Array, rng: np.random.Generator) -> Iterator[tuple[Array, tuple[Any, Any], str]]:
    """Yield arrays with the places in `x` and in them of the same elements."""
    every, half = slice(None), COUNT // 2
    order = rng.permutation(COUNT)
    replaced = x.copy()
    replaced[1::2] = rng.normal(20.0, 10.0, COUNT // 2)
    yield x, (every, every), "in a second call"
    yield x[order], (order, every), "in another order of the elements"
    yield x[:FIRST], (slice(FIRST), every), f"in an array of {FIRST} elements instead of {COUNT:,}"
    yield x[half:], (slice(half, None), every), f"without the first {half} elements"
    for sign, chosen in (("positive", x > 0), ("negative", x < 0)):
        yield x[chosen], (chosen, every), f"in an array of the {sign} elements alone"
    for shape in SHAPES:
        yield x[: prod(shape)].reshape(shape), (slice(prod(shape)), every), f"in shape {shape}"
    yield replaced, (slice(None, None, 2), slice(None, None, 2)), "with other elements beside it"
