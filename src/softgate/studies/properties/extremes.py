"""The least and the greatest of a quantity over the real line, and where it is taken.

It is taken at a root of the next derivative, at a break, on a piece where it is constant, or it is
only approached: at a break from one side, or at infinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from . import exact
from .curve import Curve
from .intervals import Interval, point, union
from .pieces import Piece

SHARPEST = 8
NEARLY = 1e-3
"""Grid points this near the extreme curvature surround the place where it is taken."""


@dataclass(frozen=True)
class Extreme:
    """A least or greatest value; `at` is empty where it is only approached."""

    value: float
    at: tuple[Interval, ...]

    @property
    def reached(self) -> bool:
        """Whether the function takes the value, and not only comes near it."""
        return bool(self.at)


Candidate = tuple[exact.Number, Interval | None]


def extremes(curve: Curve, order: int) -> tuple[Extreme | None, Extreme | None]:
    """Return the least and the greatest value, slope (order 1) or curvature (2)."""
    found = [c for c in candidates(curve, order) if not exact.is_nan(c[0])]
    if not found:
        return None, None
    least = min(value for value, _ in found)
    greatest = max(value for value, _ in found)
    return _extreme(found, least), _extreme(found, greatest)


def _extreme(found: list[Candidate], best: exact.Number) -> Extreme:
    places = [place for value, place in found if place is not None and exact.same(value, best)]
    return Extreme(exact.to_float(best), union(places) if exact.is_finite(best) else ())


def candidates(curve: Curve, order: int) -> Iterator[Candidate]:
    """Yield what may be extreme, and where it is taken (None where it is only approached)."""
    for piece in curve.pieces:
        if piece.defined:
            yield from _within(curve, piece, order)
    for left, right in pairwise(curve.pieces):
        assert right.low is not None
        value = _at_break(curve, left, right, right.low, order)
        if exact.is_finite(value):
            yield value, point(exact.to_float(right.low))


def _at_break(curve: Curve, left: Piece, right: Piece, x: Fraction, order: int) -> exact.Number:
    """Return a quantity at a break: where both sides agree theirs, else what the formula says."""
    if order and left.defined and right.defined:
        before = exact.limit(left.derivative(order), x, -1)
        if exact.same(before, exact.limit(right.derivative(order), x, 1)):
            return before
    return exact.at(curve.derivatives[order], x)


def _within(curve: Curve, piece: Piece, order: int) -> Iterator[Candidate]:
    fixed = piece.constant(order)
    if fixed is not None:
        yield fixed, span(piece)
        return
    node = piece.derivative(order)
    for x in curve.zeros(piece, order + 1) if order < 2 else _sharpest(curve, piece):
        yield exact.at_turn(node, x), point(exact.to_float(x))
    for end, side in ((piece.low, 1), (piece.high, -1)):
        far = exact.limit_far(node, -side) if end is None else exact.limit(node, end, side)
        yield far, None


def span(piece: Piece) -> Interval:
    """Return a piece as an open interval."""
    low, high = (
        exact.to_float(end) if end is not None else unbounded
        for end, unbounded in ((piece.low, -np.inf), (piece.high, np.inf))
    )
    return Interval(low, high, False, False)


def _sharpest(curve: Curve, piece: Piece) -> list[Fraction]:
    """Return where the curvature turns, of many places those where it is greatest or least."""
    x, y = curve.sampled(piece, 2)
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if x.size == 0:
        return []
    found = []
    for extreme in (y.max(), y.min()):
        near = np.flatnonzero(np.abs(y - extreme) <= NEARLY * abs(extreme))
        for run in np.split(near, np.flatnonzero(np.diff(near) != 1) + 1)[:SHARPEST]:
            if run[0] > 0 and run[-1] + 1 < x.size:
                left, right = Fraction(float(x[run[0] - 1])), Fraction(float(x[run[-1] + 1]))
                zero = exact.root_between(piece.derivative(3), left, right)
                if zero is not None:
                    found.append(zero)
    return found
