"""Sets of real numbers as a few intervals and points, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

ALL_DIGITS = 17
"""With so many significant digits every float64 is itself."""


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`; an end belongs to it where it is closed."""

    low: float
    high: float
    closed_low: bool = True
    closed_high: bool = True

    def __contains__(self, x: float) -> bool:
        above = x > self.low or (self.closed_low and x == self.low)
        return above and (x < self.high or (self.closed_high and x == self.high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.closed_high, self.closed_low)

    def show(self, digits: int = 5) -> str:
        """Return it as a condition on x."""
        if self.low == self.high:
            return f"x = {show(self.low, digits)}"
        below, above = ("<=" if closed else "<" for closed in (self.closed_low, self.closed_high))
        if math.isinf(self.low):
            if math.isinf(self.high):
                return "all x"
            return f"x {above} {show(self.high, digits)}"
        if math.isinf(self.high):
            return f"x {below.replace('<', '>')} {show(self.low, digits)}"
        return f"{show(self.low, digits)} {below} x {above} {show(self.high, digits)}"

    def __str__(self) -> str:
        return self.show()


def point(x: float) -> Interval:
    """Return one number as an interval."""
    return Interval(x, x)


def show(value: float | None, digits: int = 5) -> str:
    """Return a number with so many significant digits, an absent one as a word.

    A number that has fewer digits is shown with fewer: 0.5 is a half, 0.5000 is near it.
    """
    if value is None or math.isnan(value):
        return "undefined"
    if not value:
        return "0"
    if digits == ALL_DIGITS:
        return repr(value).removesuffix(".0")
    short = f"{value:.{digits}g}"
    return (
        short
        if math.isclose(float(short), value, rel_tol=1e-14)
        else f"{value:#.{digits}g}".removesuffix(".")
    )


def union(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return the intervals in order, those joined that touch in a point that belongs to one."""
    joined: list[Interval] = []
    for interval in sorted(set(intervals), key=lambda i: (i.low, not i.closed_low, i.high)):
        last = joined[-1] if joined else None
        if last is None or not _touch(last, interval):
            joined.append(interval)
        elif (interval.high, interval.closed_high) > (last.high, last.closed_high):
            joined[-1] = replace(last, high=interval.high, closed_high=interval.closed_high)
    return tuple(joined)


def _touch(left: Interval, right: Interval) -> bool:
    if left.high == right.low:
        return left.closed_high or right.closed_low
    return left.high > right.low
