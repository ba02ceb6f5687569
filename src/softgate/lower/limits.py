"""lim f(x) for x to ±infinity, from the definition with many digits at points far out.

Composed from floats, x·sigmoid(x) is NaN at -inf. Its limit shows at x = -10**4, -10**7, … in
numbers whose exponents have no end: they settle, grow or fall. What does none of these has no
limit, NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from softgate.formula.graph import Node

from .digits import evaluate

DIGITS = 100
FAR = tuple(Decimal(10) ** k for k in (4, 7, 12, 20, 34, 58, 98))
"""So far apart that even the root of a logarithm grows by more than `STEP`."""
NEAR = tuple(Decimal(2) ** k for k in range(3, 8))
"""For differences that cancel further out than the digits reach: exp(-2**7) is 10**-56."""
STEP, SETTLED, FADED = Decimal("1.2"), Decimal("1e-25"), Decimal("1e-6")
POWERS = (3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1023)
SAME, LEAST = Decimal(2) ** -60, Decimal(2) ** -1080
"""How near to its limit a result must be to be the limit once rounded, or 0."""
SCALE = Decimal("1.3717421")
"""The far points are times this: with round numbers sums cancel, or sin repeats, by chance."""


class End(NamedTuple):
    """What a function tends to, and a power of two from which on its results are just that."""

    limit: float
    reached: float


def end(root: Node, sign: int, parameters: Mapping[str, float]) -> End:
    """Return the limit of `root` for x to infinity of this sign; NaN where there is none.

    Where it is reached counts because further out parts of a formula may overflow though the whole
    does not: the slope of x·tanh(exp(x)) is 1 + 0·inf at x = 800.

    Examples
    --------
    >>> from softgate.formula import Definition
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> end(x * f.sigmoid(x), 1, {})
    End(limit=inf, reached=inf)
    >>> end(x * f.sigmoid(x), -1, {})
    End(limit=-0.0, reached=1024.0)
    >>> end(f.sin(x), 1, {})
    End(limit=nan, reached=inf)
    """
    exact = {name: Fraction(value) for name, value in parameters.items()}

    def at(point: Decimal) -> Decimal:
        return evaluate(root, DIGITS, {**exact, "x": sign * point})

    with localcontext(Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])):
        final = _final(at)
        if final is None:
            return End(math.nan, math.inf)
        return End(float(final), _reached(at, final) if final.is_finite() else math.inf)


def _final(at: Callable[[Decimal], Decimal]) -> Decimal | None:
    """Return the limit of a function for large arguments, None where it has none."""

    def samples(points: Sequence[Decimal]) -> list[Decimal]:
        return [value for value in map(at, points) if not value.is_nan()]

    far = samples([point * SCALE for point in FAR])
    final = _tendency(far)
    if final is not None and final != 0:
        return final
    near = samples(NEAR)
    if final is None:
        final = _tendency(near)
    return final if final is None or final != 0 else _signed_zero([*near, *far])


def _reached(at: Callable[[Decimal], Decimal], final: Decimal) -> float:
    """Return the first power of two where a function is its limit, there and at the next."""
    small = SAME * abs(final) if final else LEAST
    first, before = math.inf, False
    for power in POWERS:
        value = at(Decimal(2) ** power)
        there = not value.is_nan() and abs(value - final) <= small
        if there and before:  # once could be chance
            return first
        first, before = 2.0**power, there
    return math.inf


def _tendency(values: Sequence[Decimal]) -> Decimal | None:
    """Return what a sequence tends to, None where it shows no tendency."""
    if len(values) < 3:
        return None
    *_, before, last = values
    if last.is_finite() and last and abs(last - before) <= SETTLED * abs(last):
        return last
    sizes = [abs(v) for v in values]
    pairs = list(pairwise(sizes))
    one_sign = len({v.is_signed() for v in values}) == 1
    if last and one_sign and all(b >= STEP * a for a, b in pairs):
        return Decimal("Infinity").copy_sign(last)
    if all(a >= STEP * b for a, b in pairs) or max(sizes[-2:]) <= FADED * max(sizes[:-2]):
        return Decimal(0)
    return None


def _signed_zero(values: Sequence[Decimal]) -> Decimal:
    """Return 0 with the sign from which it is reached; +0 where signs alternate."""
    signs = {v.is_signed() for v in [v for v in values if v][-4:]}
    return Decimal("-0") if signs == {True} else Decimal(0)
