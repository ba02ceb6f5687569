"""Values, roots and limits of a formula, computed at exact points with many digits.

Numbers are balls of radius 0, so that e**-800 does not underflow; points are fractions, so that a
kink at 3 is exactly at 3. Callers set the precision to `BITS`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from softgate.formula.graph import Node, walk
from softgate.lower.exact import exponent, fraction, number

BITS = 240
TINY = Fraction(1, 2**1100)
"""Below every float64: distances are not measured finer than this."""

Number = Any
"""An arb of radius 0, or a float if it is infinite or NaN."""


def at(root: Node, x: Fraction) -> Number:
    """Return `root` at `x`; NaN if it is not real."""
    return number(root, BITS, x=x)


def is_nan(value: Number) -> bool:
    """Return whether a number is NaN."""
    return math.isnan(value)


def is_finite(value: Number) -> bool:
    """Return whether a number is neither NaN nor infinite."""
    return bool(abs(value) < math.inf)


def same(x: Number, y: Number) -> bool:
    """Return whether two numbers are equal up to the rounding errors of `BITS` bits."""
    if not (is_finite(x) and is_finite(y)):
        return bool(x == y)
    return bool(abs(x - y) * 2**120 <= max(abs(x), abs(y), 1))


def to_float(value: Number | Fraction) -> float:
    """Return the nearest float64, infinity if it overflows."""
    if isinstance(value, float):
        return value
    if not isinstance(value, Fraction):
        if not is_finite(value) or value == 0:
            return float(value)
        size = exponent(value)
        if abs(size) > 1200:  # as a fraction this might not fit into memory
            return math.copysign(0.0 if size < 0 else math.inf, float(value.sgn()))
        value = fraction(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def at_turn(root: Node, x: Fraction) -> Number:
    """Return `root` at `x`, a root of its derivative to 70 bits; exactly 0 at a double root."""
    value = at(root, x)
    if value == 0 or not is_finite(value) or abs(value) * 2**100 > 1:
        return value
    beside = abs(at(root, x + max(abs(x), Fraction(1)) / 2**30))
    return value * 0 if abs(value) * 2**40 <= beside else value


def is_isolated_zero(root: Node, x: Fraction) -> bool:
    """Return whether `root`, which is 0 at `x`, is not 0 on either side of it."""
    step = max(abs(x), Fraction(1)) / 2**30
    return all(at(root, beside) != 0 for beside in (x - step, x + step))


def is_constant(root: Node) -> bool:
    """Return whether `root` does not depend on x."""
    return not any(node.op == "input" for node in walk(root))


def vanishes(root: Node, places: list[Fraction]) -> bool:
    """Return whether `root` is 0 at these points."""
    return all(at(root, x) == 0 for x in places)


def root_between(root: Node, low: Fraction, high: Fraction) -> Fraction | None:
    """Return the sign change of `root` between two points, to 70 bits; None if there is none."""
    left, right = at(root, low), at(root, high)
    if not (is_finite(left) and is_finite(right)):
        return None
    if left == 0 or right == 0:
        return low if left == 0 else high
    if (left < 0) == (right < 0):
        return None
    moved = 0
    for step in range(300):
        if high - low <= max(abs(low), abs(high), TINY) / 2**70:
            break
        middle = _next(low, high, left / (left - right), step)
        value = at(root, middle)
        if not is_finite(value) or value == 0:
            return middle if value == 0 else None
        if (value < 0) == (left < 0):
            low, left = middle, value
            right = right / 2 if moved < 0 else right  # Illinois rule, if an end stays twice
            moved = -1
        else:
            high, right = middle, value
            left = left / 2 if moved > 0 else left
            moved = 1
    return (low + high) / 2


def _next(low: Fraction, high: Fraction, part: Number, step: int) -> Fraction:
    """Return the next point of the search: 0, on the secant, or every fourth time the middle."""
    if low < 0 < high:
        return Fraction(0)
    width = high - low
    share = Fraction(1, 2)
    if step % 4 != 3:
        share = Fraction(min(max(float(part), 2.0**-30), 1 - 2.0**-30))
    # Rounded relative to the interval: numerators must not grow with every step.
    unit = Fraction(2) ** (width.numerator.bit_length() - width.denominator.bit_length() - 64)
    return round((low + width * share) / unit) * unit


NEAR = (150, 300, 450)
"""Distances at which a limit is estimated, as -log2."""
FAR = (60, 120, 180)
"""The same at infinity, as log2."""


def limit(root: Node, x: Fraction, side: int) -> Number:
    """Return the limit of a smooth branch at `x` from the left (side -1) or the right (+1).

    That is the value at `x` if it is finite; otherwise it is estimated from points near `x`.
    """
    value = at(root, x)
    if is_finite(value):
        return value
    return settle([at(root, x + side * Fraction(1, 2**k)) for k in NEAR])


def limit_far(root: Node, side: int) -> Number:
    """Return the limit at -inf (side -1) or +inf (+1): a number, ±inf, or NaN if none is found."""
    return settle([at(root, side * Fraction(2**k)) for k in FAR])


def settle(sequence: list[Number]) -> Number:
    """Return the limit of a sequence of three numbers: finite, ±inf, or NaN if none is found."""
    first, second, third = sequence
    if any(map(is_nan, sequence)):
        return math.nan
    if abs(third) == math.inf:
        return third
    if abs(third - second) * 2**50 <= abs(third):
        return third
    shrinks = abs(third) * 2**15 <= abs(second) and abs(second) * 2**15 <= abs(first)
    if shrinks or all(abs(value) * 2**200 < 1 for value in sequence):  # rounding errors
        return third * 0
    if (third - second) * (second - first) > 0 and abs(third) > abs(second) > abs(first):
        return math.copysign(math.inf, third)
    return math.nan
