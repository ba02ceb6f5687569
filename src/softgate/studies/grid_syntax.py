"""Where to evaluate, as people write it: `-3:3:0.5`, `-3,-1,0`, or both; every point exact.

Points are decimals, stepped as decimals: -3:3:0.1 holds 0.3 and not 0.30000000000000004.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice
from typing import Any

LIMIT = 100_000
"""More points than this are refused: a slip in the step, not a wish."""

LARGEST_EXPONENT = 400
EXACT = Context(prec=2 * LARGEST_EXPONENT)
"""Wide enough that no point is rounded, whatever the caller's own context is."""


def parse(points: Any) -> tuple[Decimal, ...]:
    """Return the points that a text or an iterable of numbers names, in the order given.

    Parameters
    ----------
    points : str, number or iterable of numbers
        As text: numbers and ranges `first:last:step`, separated by commas; a range includes its
        last point where a step ends there. A float is the decimal that it prints as.

    Examples
    --------
    >>> [show(point) for point in parse("-0.2:0.2:0.1, 3")]
    ['-0.2', '-0.1', '0', '0.1', '0.2', '3']
    """
    if isinstance(points, str):
        parts = [part.strip() for part in points.split(",")]
        found = list(islice((p for part in parts for p in _part(part, points)), LIMIT + 1))
    elif isinstance(points, Iterable):
        found = [_number(point) for point in islice(points, LIMIT + 1)]
    else:
        found = [_number(points)]
    if not found:
        raise ValueError("no points were given: expected numbers such as -3,-1,0 or -3:3:0.5")
    if len(found) > LIMIT:
        raise ValueError(f"too many points were asked for: at most {LIMIT:,} are accepted")
    return tuple(dict.fromkeys(found))


def show(point: Decimal) -> str:
    """Return a point as it is written, without needless zeros."""
    if point == 0:
        return "0"
    plain = point.normalize(EXACT)
    exponent = int(plain.as_tuple().exponent)
    return f"{plain:f}" if -10 <= exponent <= 10 else f"{plain:e}"


def _part(part: str, text: str) -> list[Decimal]:
    if ":" not in part:
        return [_number(part)]
    ends = part.split(":")
    if len(ends) != 3:
        raise ValueError(f"{part!r} is no range: write first:last:step, such as -3:3:0.5")
    first, last, step = map(_number, ends)
    if step <= 0:
        raise ValueError(f"{part!r}: the step is {step}, expected a positive number")
    if last < first:
        raise ValueError(
            f"{part!r} ends before it begins: write first:last:step with first <= last"
        )
    count = int((Fraction(last) - Fraction(first)) / Fraction(step)) + 1
    if count > LIMIT:
        raise ValueError(f"{part!r} has {count:,} points: at most {LIMIT:,} are accepted")
    return [_sum(first, step, i) for i in range(count)]


def _sum(first: Decimal, step: Decimal, i: int) -> Decimal:
    """Return first + i·step without rounding, whatever the decimal context is."""
    exponent = min(int(first.as_tuple().exponent), int(step.as_tuple().exponent))
    scale = Fraction(10) ** exponent
    whole = int((Fraction(first) + i * Fraction(step)) / scale)
    sign, digits = int(whole < 0), tuple(map(int, str(abs(whole))))
    return Decimal((sign, digits, exponent))


def _number(value: Any) -> Decimal:
    try:
        number = Decimal(value.strip() if isinstance(value, str) else repr(float(value)))
    except (InvalidOperation, TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{value!r} is no point: expected a number, or a range such as -3:3:0.5"
        ) from None
    if not number.is_finite() or math.isinf(float(number)):
        raise ValueError(f"{value!r} is no point: expected a finite number within float64")
    if (
        abs(number.adjusted()) > LARGEST_EXPONENT
        or len(number.as_tuple().digits) > LARGEST_EXPONENT
    ):
        raise ValueError(f"{value!r} is no point: more digits than a float64 can tell apart")
    return number
