"""A function of a standard normal input: what share of inputs, what mean, what spread.

Shares come from the exact points where a slope crosses a level. Means come from Gauss-Legendre
panels, cut at every break, halved until two estimates agree to 1e-15 of the whole; where a kernel's
own rounding does not let them, 1e-10 must do, or there is no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np

from . import exact
from .curve import Curve, Floats

REACH = 39
"""Beyond this the normal density is below every float64."""
NODES = 24
MOST_HALVINGS = 100
MOST_PANELS = 4000
AGREE = 1e-15
ROUGHLY = 1e-10


def mass(low: float, high: float) -> float:
    """Return the probability of a standard normal number between two, exact in both tails."""
    if low > 0:
        low, high = -high, -low
    if high <= 0:
        return _below(high) - _below(low)
    return 1.0 - _below(low) - _below(-high)


def _below(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def share(
    curve: Curve, levels: tuple[Fraction, ...], holds: Callable[[exact.Number], bool]
) -> float | None:
    """Return the share of N(0,1) inputs whose slope `holds`, which changes only at `levels`.

    None where the function is not defined on all inputs.
    """
    total = []
    for piece in curve.pieces:
        if not piece.defined:
            return None
        zeros = [z for level in levels for z in curve.zeros(piece, 1, level)]
        ends = [piece.low, *sorted(set(zeros)), piece.high]
        for low, high in pairwise(ends):
            between = type(piece)(low, high, piece.branch).inside()[0]
            if holds(exact.at(piece.derivative(1), between)):
                left = -math.inf if low is None else exact.to_float(low)
                right = math.inf if high is None else exact.to_float(high)
                total.append(mass(left, right))
    return math.fsum(total)


def expectation(curve: Curve, order: int, of: Callable[[Floats], Floats]) -> float | None:
    """Return the mean of `of` a quantity at a standard normal input; None where there is none."""
    if not all(piece.defined for piece in curve.pieces):
        return None

    def integrand(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return of(curve.kernel(order, x)) * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    inner = {float(x) for x in curve.breaks if abs(x) < REACH}
    edges = np.array(sorted({*map(float, range(-REACH, REACH + 1)), *inner}))
    return integral(integrand, edges)


def integral(function: Callable[[Floats], Floats], edges: Floats) -> float | None:
    """Return the integral over consecutive panels; None where it does not settle.

    All terms go into one exact sum: an odd function gives 0 and not what rounding leaves.
    """
    low, high = edges[:-1], edges[1:]
    terms: list[Floats] = []
    scale: float | None = None
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        whole = _panels(function, low, high)
        left, right = _panels(function, low, middle), _panels(function, middle, high)
        halves = np.concatenate([left, right], axis=1)
        if not np.isfinite(halves).all():
            return None
        if scale is None:
            scale = float(np.abs(halves).sum())
            ends = np.abs(function(edges[[0, -1]]))
            if not np.isfinite(ends).all() or ends.max() > AGREE * scale:
                return None
        error = np.abs(whole.sum(axis=1) - halves.sum(axis=1))
        open_ = error > AGREE * scale
        if open_.sum() > MOST_PANELS:
            # Rounding in a user's formula keeps panels apart that no halving brings together.
            if error.sum() > ROUGHLY * scale:
                return None
            open_[:] = False
        terms.append(halves[~open_].ravel())
        if not open_.any():
            return math.fsum(np.concatenate(terms))
        low, middle, high = low[open_], middle[open_], high[open_]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return None


@cache
def _rule() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def _panels(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the weighted values of each panel, a row each."""
    nodes, weights = _rule()
    half = (high - low) / 2
    x = ((low + high) / 2)[:, None] + half[:, None] * nodes
    return function(x.ravel()).reshape(x.shape) * weights * half[:, None]
