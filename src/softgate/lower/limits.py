"""Limits of a definition at infinity.

In floats x·sigmoid(x) is NaN at -inf. Its limit is found from its values at x = -10**4, -10**7, …:
they converge, grow or decay; otherwise there is no limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from flint import arb, fmpq

from softgate.formula.graph import Node

from .exact import number, precision

BITS = 332
SCALE = fmpq(13717421, 10**7)
"""Factor of the far points: at round numbers sums may cancel, or sin repeat, by chance."""
FAR = tuple(10**k * SCALE for k in (4, 7, 12, 20, 34, 58, 98))
"""Spaced so that even the root of a logarithm grows by more than `STEP`."""
NEAR = tuple(fmpq(2) ** k for k in range(3, 8))
"""For functions of the exponential, which overflow further out."""
STEP, SETTLED, FADED = 1.2, 1e-25, 1e-6
POWERS = (3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1023)
SAME, LEAST = 2.0**-60, arb(2) ** -1080
"""Relative and absolute distance from the limit below which a result rounds to it."""


class LimitAtInfinity(NamedTuple):
    """A function's limit, and a power of two from which on its results round to it."""

    limit: float
    reached: float


def limit_at_infinity(root: Node, sign: int, parameters: Mapping[str, float]) -> LimitAtInfinity:
    """Return the limit of `root` at ±inf, by `sign`; NaN if there is none.

    `reached` is needed because parts of a formula may overflow further out where the result does
    not: the slope of x·tanh(exp(x)) is 1 + 0·inf at x = 800.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> limit_at_infinity(x * f.sigmoid(x), 1, {})
    LimitAtInfinity(limit=inf, reached=inf)
    >>> limit_at_infinity(x * f.sigmoid(x), -1, {})
    LimitAtInfinity(limit=-0.0, reached=1024.0)
    >>> limit_at_infinity(f.sin(x), 1, {})
    LimitAtInfinity(limit=nan, reached=inf)
    """

    def at(point: fmpq) -> arb:
        return number(root, BITS, x=sign * point, **parameters)

    with precision(BITS):
        final = _final(at)
        finite = final is not None and final.is_finite()
        if final is None or not finite:
            return LimitAtInfinity(math.nan if final is None else float(final), math.inf)
        return LimitAtInfinity(_signed(final, at), _reached(at, final))


def _final(at: Callable[[fmpq], arb]) -> arb | None:
    """Return the limit of a function for large arguments, or None."""
    final = _tendency(_samples(at, FAR))
    return _tendency(_samples(at, NEAR)) if final is None else final


def _samples(at: Callable[[fmpq], arb], points: Sequence[fmpq]) -> list[arb]:
    return [value for value in map(at, points) if not value.is_nan()]


def _reached(at: Callable[[fmpq], arb], final: arb) -> float:
    """Return the first power of two where a function equals its limit, there and at the next."""
    small = SAME * abs(final) if final != 0 else LEAST
    first, before = math.inf, False
    for power in POWERS:
        there = bool(abs(at(fmpq(2) ** power) - final) <= small)
        if there and before:  # once could be a coincidence
            return first
        first, before = 2.0**power, there
    return math.inf


def _tendency(values: Sequence[arb]) -> arb | None:
    """Return the limit that a sequence indicates, or None."""
    if len(values) < 3:
        return None
    *_, before, last = values
    if last.is_finite() and last != 0 and abs(last - before) <= SETTLED * abs(last):
        return last
    sizes = [abs(v) for v in values]
    pairs = list(pairwise(sizes))
    one_sign = all(v > 0 for v in values) or all(v < 0 for v in values)
    if one_sign and all(b >= STEP * a for a, b in pairs):
        return arb.pos_inf() if last > 0 else arb.neg_inf()
    if all(a >= STEP * b for a, b in pairs) or max(sizes[-2:]) <= FADED * max(sizes[:-2]):
        return arb(0)
    return None


def _signed(final: arb, at: Callable[[fmpq], arb]) -> float:
    """Return a finite limit; 0 with the sign of the values near it, +0 where signs alternate."""
    if final != 0:
        return float(final)
    values = [v for v in (*_samples(at, NEAR), *_samples(at, FAR)) if v != 0][-4:]
    return -0.0 if values and all(v < 0 for v in values) else 0.0
