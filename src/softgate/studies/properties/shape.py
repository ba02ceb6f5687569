"""Extremes, jumps, monotonicity, level intervals, limits and asymptotes of a curve.

The least and the greatest value over the real line are taken at a root of the next derivative, at a
break or on a piece where the quantity is constant, or they are only approached: at a break from one
side, or at infinity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np

from softgate.lower.exact import fraction

from . import exact
from .piecewise import Curve, Piece
from .record import Asymptote, Extreme, Interval, Jump, point, union

SHARPEST = 8
NEARLY = 1e-3
"""Relative distance from the extreme curvature of the grid points that bracket its position."""


Candidate = tuple[exact.Number, Interval | None]


def extremes(curve: Curve, order: int) -> tuple[Extreme | None, Extreme | None]:
    """Return the least and the greatest value, slope (order 1) or curvature (2)."""
    values = [c for c in candidates(curve, order) if not exact.is_nan(c[0])]
    if not values:
        return None, None
    least = min(value for value, _ in values)
    greatest = max(value for value, _ in values)
    return _extreme(values, least), _extreme(values, greatest)


def _extreme(values: list[Candidate], best: exact.Number) -> Extreme:
    places = [place for value, place in values if place is not None and exact.same(value, best)]
    return Extreme(exact.to_float(best), union(places) if exact.is_finite(best) else ())


def candidates(curve: Curve, order: int) -> Iterator[Candidate]:
    """Yield possible extremes, and where they are taken (None if only approached)."""
    for piece in curve.pieces:
        if piece.defined:
            yield from _within(curve, piece, order)
    for left, right in pairwise(curve.pieces):
        assert right.low is not None
        value = _at_break(curve, left, right, right.low, order)
        if exact.is_finite(value):
            yield value, point(exact.to_float(right.low))


def _at_break(curve: Curve, left: Piece, right: Piece, x: Fraction, order: int) -> exact.Number:
    """Return a quantity at a break: the limit, if both sides agree, else the formula's value."""
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
    """Return the extrema of the curvature that are near its largest or smallest value."""
    x, y = curve.sampled(piece, 2)
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if x.size == 0:
        return []
    roots = []
    for extreme in (y.max(), y.min()):
        near = np.flatnonzero(np.abs(y - extreme) <= NEARLY * abs(extreme))
        for run in np.split(near, np.flatnonzero(np.diff(near) != 1) + 1)[:SHARPEST]:
            if run[0] > 0 and run[-1] + 1 < x.size:
                left, right = Fraction(float(x[run[0] - 1])), Fraction(float(x[run[-1] + 1]))
                zero = exact.root_between(piece.derivative(3), left, right)
                if zero is not None:
                    roots.append(zero)
    return roots


HIGHEST_ORDER = 6
"""A curve without a jump up to this derivative counts as smooth."""


def sides(curve: Curve) -> Iterator[tuple[Fraction, Piece, Piece]]:
    """Yield the breaks at which the function is defined on both sides."""
    for left, right in pairwise(curve.pieces):
        if left.defined and right.defined and left.high is not None:
            yield left.high, left, right


def jumps(curve: Curve) -> tuple[Jump, ...]:
    """Return where the value, the slope or the curvature jumps, from left to right."""
    jumping = []
    for x, left, right in sides(curve):
        steps = [_step(x, left, right, order) for order in range(3)]
        here = exact.at(curve.root, x)
        if steps[0] == 0 and exact.is_finite(here):  # a removable discontinuity
            steps[0] = _difference(here, exact.limit(left.branch, x, -1))
        if any(steps):
            jumping.append(Jump(exact.to_float(x), *steps))
    return tuple(jumping)


def _step(x: Fraction, left: Piece, right: Piece, order: int) -> float:
    """Return the jump of a derivative at `x`; 0 if it is continuous."""
    before = exact.limit(left.derivative(order), x, -1)
    after = exact.limit(right.derivative(order), x, 1)
    return _difference(after, before)


def _difference(after: exact.Number, before: exact.Number) -> float:
    if exact.is_finite(after) and exact.is_finite(before):
        return 0.0 if exact.same(after, before) else exact.to_float(after - before)
    if exact.is_nan(after) or exact.is_nan(before):
        return math.nan
    # One or both limits are infinite: a pole, even if the difference is undefined.
    return math.inf if after > before or after == math.inf else -math.inf


def smoothness(curve: Curve) -> str:
    """Return "discontinuous", "C^k" where k derivatives are continuous, or "smooth"."""
    kinks = list(sides(curve))
    if any(jump.value for jump in jumps(curve)):
        return "discontinuous"
    for order in range(1, HIGHEST_ORDER + 1):
        if any(_step(x, left, right, order) for x, left, right in kinks):
            return f"C^{order - 1}"
    return "smooth"


def monotone(curve: Curve) -> str:
    """Return whether and how the function is monotone where it is defined."""
    defined = [piece for piece in curve.pieces if piece.defined]
    if not defined or sum(1 for _ in sides(curve)) < len(defined) - 1:
        return "no"  # there is a gap between two pieces
    signs = {sign for piece in defined for sign in _directions(curve, piece)}
    for x, left, right in sides(curve):
        here = exact.at(curve.root, x)
        before, after = exact.limit(left.branch, x, -1), exact.limit(right.branch, x, 1)
        signs |= {_sign(here, before), _sign(after, here)} - {0}
    if signs == {0}:
        return "constant"
    for sign, strict, weak in (
        (1, "increasing", "non-decreasing"),
        (-1, "decreasing", "non-increasing"),
    ):
        if signs == {sign}:
            return strict
        if signs == {sign, 0}:
            return weak
    return "no"


def _sign(after: exact.Number, before: exact.Number) -> int:
    if exact.is_nan(after) or exact.is_nan(before):
        return 2  # no order is defined
    return 0 if exact.same(after, before) else (1 if after > before else -1)


def _directions(curve: Curve, piece: Piece) -> set[int]:
    """Return the signs of the slope within a piece; 0 only if it is 0 on the whole piece."""
    slope = piece.derivative(1)
    fixed = piece.constant(1)
    if fixed is not None:
        return {0 if exact.same(fixed, 0) else 1 if fixed > 0 else -1}
    ends = [piece.low, *curve.zeros(piece, 1), piece.high]
    between = (Piece(low, high, piece.branch).inside()[0] for low, high in pairwise(ends))
    values = [exact.at(slope, x) for x in between]
    return {1 if value > 0 else -1 for value in values if value != 0}


def level(curve: Curve) -> tuple[Interval, ...]:
    """Return the intervals on which the exact slope is 0."""
    intervals = []
    for piece in curve.pieces:
        fixed = piece.constant(1)
        if fixed is not None and exact.same(fixed, 0):
            ends = [end for end in (piece.low, piece.high) if end is not None]
            closed = [x for x in ends if exact.at(curve.derivatives[1], x) == 0]
            intervals += [span(piece), *(point(exact.to_float(x)) for x in closed)]
    return union(intervals)


def slope_roots(curve: Curve) -> tuple[float, ...]:
    """Return the single points at which the slope is 0, from left to right."""
    flat = level(curve)
    roots = [x for piece in curve.pieces for x in _roots_within(curve, piece)]
    for x, left, right in sides(curve):
        before, after = (
            exact.limit(left.derivative(1), x, -1),
            exact.limit(right.derivative(1), x, 1),
        )
        if before == 0 and after == 0:
            roots.append(x)
    floats = sorted({exact.to_float(x) for x in roots})
    return tuple(x for x in floats if not any(x in interval for interval in flat))


def _roots_within(curve: Curve, piece: Piece) -> list[Fraction]:
    """Return the roots of the slope within a piece, double roots included."""
    roots = list(curve.zeros(piece, 1))
    if not piece.defined or piece.constant(1) is not None:
        return roots
    turns = curve.zeros(piece, 2)
    return [*roots, *(x for x in turns if exact.at_turn(piece.derivative(1), x) == 0)]


def undefined(curve: Curve) -> tuple[Interval, ...]:
    """Return the intervals and points at which the function is not finite and real."""
    intervals = [span(piece) for piece in curve.pieces if not piece.defined]
    single = (x for x in curve.breaks if not exact.is_finite(exact.at(curve.root, x)))
    return union([*intervals, *(point(exact.to_float(x)) for x in single)])


def limits(curve: Curve, order: int) -> tuple[float | None, float | None]:
    """Return the limits of a quantity at -inf and +inf; None if there is none."""
    ends = ((curve.pieces[0], -1), (curve.pieces[-1], 1))
    values = [
        exact.to_float(exact.limit_far(piece.derivative(order), side))
        if piece.defined
        else math.nan
        for piece, side in ends
    ]
    left, right = (None if math.isnan(value) else value + 0.0 for value in values)
    return left, right


def asymptotes(curve: Curve) -> tuple[Asymptote | None, Asymptote | None]:
    """Return the slanted lines that the function approaches at -inf and +inf."""
    left, right = (_asymptote(curve.pieces[i], side) for i, side in ((0, -1), (-1, 1)))
    return left, right


def _asymptote(piece: Piece, side: int) -> Asymptote | None:
    if not piece.defined:
        return None
    steep = exact.limit_far(piece.derivative(1), side)
    if not exact.is_finite(steep) or exact.same(steep, 0):
        return None
    x = piece.branch.graph.input("x")
    rest = exact.limit_far(piece.branch - fraction(steep) * x, side)
    if not exact.is_finite(rest):
        return None
    return Asymptote(exact.to_float(steep), exact.to_float(rest) + 0.0)
