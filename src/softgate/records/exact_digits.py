"""Correctly rounded decimal digits of a formula at a point.

The definition is evaluated in balls of increasing precision, until both ends of the ball round to
the same digits. They are rounded to nearest, a tie to even, as Python and IEEE 754 do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from softgate.catalogue import Entry
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

MOST = 50
"""Largest number of decimals."""
LARGE = 10**9
"""Numbers of this size and larger are written with an exponent."""

FIRST_BITS = 128
TIE = Fraction(1, 2**2048)
HUGE_EXPONENT = 6000
"""Numbers with a binary exponent beyond this are never written out as a fraction."""


@dataclass(frozen=True)
class RoundedNumber:
    """A real number as a correctly rounded float64 and as text; None where undefined."""

    value: float | None
    text: str


UNDEFINED = RoundedNumber(None, "undefined")


def check(digits: Any, least: int = 0, most: int = MOST) -> None:
    """Raise ValueError unless `digits` is an integer from `least` to `most`."""
    if type(digits) is not int or not least <= digits <= most:
        raise ValueError(f"digits = {digits!r}: expected a whole number from {least} to {most}")


def number(root: Node, x: Fraction, digits: int) -> RoundedNumber:
    """Return `root` at `x` to `digits` decimals.

    A number that would round to 0 but is not 0 is written with an exponent and as many significant
    digits, so "0.0000" means 0 (or less than 10**-360, which 4096 bits may not resolve).

    Examples
    --------
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> number(x * f.Phi(x), Fraction(-3), 4)
    RoundedNumber(value=-0.0040496940948902..., text='-0.0040')
    >>> number(x * f.Phi(x), Fraction(-5), 4).text
    '-1.433e-06'
    """
    from flint import arb, fmpq

    from softgate.lower.exact import BELOW_ALL, MAX_BITS, evaluate, precision

    last = UNDEFINED
    for bits in (FIRST_BITS + 4 * digits, 1024, MAX_BITS):
        result = evaluate(root, bits, x=x)
        if isinstance(result, fmpq):
            return _rounded(Fraction(int(result.p), int(result.q)), digits)
        if result.is_exact() and not result.is_finite():  # log(0)
            return RoundedNumber(float(result), str(float(result)))
        if result.is_finite():
            with precision(bits):
                ends = {_rounded(end, digits) for end in (result.lower(), result.upper())}
            if len(ends) == 1:
                return ends.pop()
            # A tie, as 0.125 computed as exp(-3·log(2)), or 0.
            middle = arb(0) if result.abs_upper() < BELOW_ALL else result.mid()
            last = _rounded(middle, digits, TIE)
    return last


def _rounded(exact: Any, digits: int, tolerance: Fraction = Fraction(0)) -> RoundedNumber:
    from softgate.lower.exact import exponent, fraction

    if not isinstance(exact, Fraction):
        size = exponent(exact)
        if abs(size) > HUGE_EXPONENT:
            limit = 0.0 if size < 0 else math.inf
            text = exact.str(max(digits, 1), radius=False)
            return RoundedNumber(math.copysign(limit, float(exact.sgn())), text)
        exact = fraction(exact)
    return RoundedNumber(_float(exact), decimal(exact, digits, tolerance))


def _float(ratio: Fraction) -> float:
    try:
        return float(ratio)
    except OverflowError:
        return math.inf if ratio > 0 else -math.inf


def decimal(value: Fraction, digits: int, tolerance: Fraction = Fraction(0)) -> str:
    """Return `value` with `digits` decimals, or with an exponent if it is tiny or large.

    Within `tolerance` of a tie, in units of the last place, the value is treated as a tie.

    Examples
    --------
    >>> [decimal(Fraction(n, 8), 2) for n in (-8, 1, 3)]
    ['-1.00', '0.12', '0.38']
    """
    whole = _nearest(value * 10**digits, tolerance)
    if (whole == 0 and value != 0) or abs(value) >= LARGE:
        return scientific(value, max(digits, 1), tolerance)
    return ("-" if whole < 0 else "") + _point(abs(whole), digits)


def scientific(value: Fraction, significant: int, tolerance: Fraction = Fraction(0)) -> str:
    """Return a nonzero `value` in the form 1.234e-05 with `significant` digits."""
    exponent = len(str(abs(value.numerator))) - len(str(value.denominator))
    if abs(value) < Fraction(10) ** exponent:
        exponent -= 1
    whole = _nearest(value / Fraction(10) ** (exponent - significant + 1), tolerance)
    if abs(whole) == 10**significant:
        whole, exponent = whole // 10, exponent + 1
    sign = "-" if whole < 0 else ""
    return f"{sign}{_point(abs(whole), significant - 1)}e{exponent:+03d}"


def _nearest(value: Fraction, tolerance: Fraction) -> int:
    below = math.floor(value)
    side = value - below - Fraction(1, 2)
    if abs(side) <= tolerance:
        return below + below % 2
    return below + (side > 0)


def _point(whole: int, decimals: int) -> str:
    text = str(whole).rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text


def definition(entry: Entry, parameters: Mapping[str, float], f: ExactArithmetic) -> Node:
    """Trace an entry's definition over `f`, each parameter as the decimal that `repr` prints."""
    fixed = {name: f.graph.const(Fraction(repr(value))) for name, value in parameters.items()}
    return entry.definition(f, f.graph.input("x"), **fixed)
