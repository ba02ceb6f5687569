"""A definition evaluated with Python's `decimal`: hundreds of digits; limits at infinity.

Used for limits, where x is 10**20 and exp(x) overflows every binary format, and for constants:
`decimal` is in the standard library, and importing mpmath takes longer than compiling a kernel. A
difference that cancels all its digits is NaN (unknown), not 0.

Limits: in floats x·sigmoid(x) is NaN at -inf. Its limit is found from its values at x = -10**4,
-10**7, …: they converge, grow or decay; otherwise there is no limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from softgate.formula.graph import Node

from .evaluation import COMPARE, interpret

NAN, ZERO, ONE, TWO = Decimal("NaN"), Decimal(0), Decimal(1), Decimal(2)
GUARD = 30
"""Digits that must remain after a subtraction."""
LONGEST = 3000
"""sin and cos are NaN for numbers with more digits before the point."""


class DecimalResult(NamedTuple):
    """A decimal, and whether it is the exact result."""

    value: Decimal
    exact: bool = False


def evaluate(root: Node, digits: int, inputs: Mapping[str, float | Fraction | Decimal]) -> Decimal:
    """Return `root` at these exact inputs; NaN where it is undefined or `digits` do not suffice."""
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
    with localcontext(context):
        result: DecimalResult = interpret(root, OPERATIONS, _number, inputs)
    return result.value


def _number(value: float | Fraction | Decimal) -> DecimalResult:
    if isinstance(value, Decimal):
        return DecimalResult(value, True)
    fraction = Fraction(value)
    return _flagged(lambda: Decimal(fraction.numerator) / fraction.denominator, True)


def _flagged(compute: Callable[[], Decimal], exact: bool) -> DecimalResult:
    context = getcontext()
    context.clear_flags()
    value = compute()
    return DecimalResult(value, exact and not context.flags[Inexact])


def _sum(x: DecimalResult, y: DecimalResult, sign: int) -> DecimalResult:
    exact = x.exact and y.exact
    total = _flagged(lambda: x.value + sign * y.value, exact)
    if exact or not (x.value and y.value) or not (x.value.is_finite() and y.value.is_finite()):
        return total
    largest = max(x.value.adjusted(), y.value.adjusted())
    lost = not total.value or total.value.adjusted() < largest - getcontext().prec + GUARD
    return DecimalResult(NAN) if lost else total


def _compare(
    holds: Callable[[Decimal, Decimal], bool],
) -> Callable[[DecimalResult, DecimalResult], bool | None]:
    def compare(x: DecimalResult, y: DecimalResult) -> bool | None:
        return None if x.value.is_nan() or y.value.is_nan() else holds(x.value, y.value)

    return compare


def _choose(condition: bool | None, yes: DecimalResult, no: DecimalResult) -> DecimalResult:
    if condition is None:
        return DecimalResult(NAN)
    return yes if condition else no


def _precise(compute: Callable[[], Decimal], more: int) -> Decimal:
    with localcontext() as context:
        context.prec += more
        return compute()


def _expm1(x: Decimal) -> Decimal:
    small = -x.adjusted() if x and x.is_finite() else 0
    if small > getcontext().prec:
        return x + x * x / 2
    return _precise(lambda: x.exp() - 1, max(small, 0))


def _log1p(x: Decimal) -> Decimal:
    small = -x.adjusted() if x and x.is_finite() else 0
    if small > getcontext().prec:
        return x - x * x / 2
    return _precise(lambda: Decimal.ln(1 + x), max(small, 0))


def _tanh(x: Decimal) -> Decimal:
    lost = _expm1(-2 * abs(x))
    return (-lost / (2 + lost)).copy_sign(x)


def _sigmoid(x: Decimal) -> Decimal:
    small = (-abs(x)).exp()
    return (small if x < 0 else ONE) / (1 + small)


def _softplus(x: Decimal) -> Decimal:
    return max(x, ZERO) + _log1p((-abs(x)).exp())


@lru_cache(maxsize=8)
def _pi(digits: int) -> Decimal:
    """Return pi by Machin's formula, in whole numbers of 10**-(digits + 10)."""
    one = 10 ** (digits + 10)

    def arc(n: int) -> int:
        term: int = one // n
        total, k = term, 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    return Decimal(4 * (4 * arc(5) - arc(239))).scaleb(-digits - 10)


def pi() -> Decimal:
    """Return pi to the context's digits."""
    return +_pi(getcontext().prec)


def _series(first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """Return first·(1 + ratio(1)·(1 + ratio(2)·(1 + …))), until terms are negligible or grow."""
    term = total = first
    for k in range(1, 20_000):
        following = term * ratio(k)
        if total + following == total or abs(following) > abs(term) > abs(total):
            break
        term = following
        total += term
    return total


def _sin(x: Decimal) -> Decimal:
    if not x.is_finite() or x.adjusted() > LONGEST:
        return NAN
    with localcontext() as context:
        context.prec += max(x.adjusted(), 0) + 10
        turns = (x / (2 * pi())).to_integral_value()
        r = x - turns * 2 * pi()
        context.prec -= max(x.adjusted(), 0)
        square = -r * r
        return _series(+r, lambda k: square / (2 * k * (2 * k + 1)))


def _cos(x: Decimal) -> Decimal:
    return _precise(lambda: _sin(x + pi() / 2), max(x.adjusted(), 0) if x.is_finite() else 0)


def _atan(x: Decimal) -> Decimal:
    if abs(x) > 1:
        return (pi() / 2).copy_sign(x) - _atan(1 / x)
    for _ in range(4):
        x = x / (1 + (1 + x * x).sqrt())
    square = -x * x
    return 16 * _series(x, lambda k: square * (2 * k - 1) / (2 * k + 1))


def _erf(x: Decimal) -> Decimal:
    """Return 2/sqrt(pi)·x·exp(-x²)·(1 + 2·x²/3·(1 + 2·x²/5·(…))): every term has one sign."""
    if x * x > 2 * getcontext().prec + 100:
        return ONE.copy_sign(x) - _erfc(abs(x)).copy_sign(x)
    double = 2 * x * x
    return 2 * (-x * x).exp() / pi().sqrt() * _series(x, lambda k: double / (2 * k + 1))


def _erfc(x: Decimal) -> Decimal:
    square = x * x
    if x > 0 and square > 2 * getcontext().prec + 100:  # an asymptotic series
        series = _series(ONE, lambda k: (1 - 2 * k) / (2 * square))
        return (-square).exp() / (x * pi().sqrt()) * series
    lost = int(square / 2) + 10 if x > 0 else 0
    return _precise(lambda: 1 - _erf(x), lost)


FUNCTIONS: dict[str, Callable[[Decimal], Decimal]] = {
    "exp": lambda x: x.exp(),
    "log": lambda x: x.ln(),
    "sqrt": lambda x: x.sqrt(),
    "expm1": _expm1,
    "log1p": _log1p,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "sin": _sin,
    "cos": _cos,
    "atan": _atan,
    "erf": _erf,
    "erfc": _erfc,
    "phi": lambda x: (-x * x / 2).exp() / (2 * pi()).sqrt(),
    "Phi": lambda x: _erfc(-x / TWO.sqrt()) / 2,
}


def _inexact(function: Callable[[Decimal], Decimal]) -> Callable[[DecimalResult], DecimalResult]:
    return lambda x: DecimalResult(NAN if x.value.is_nan() else function(x.value))


OPERATIONS: dict[str, Callable[..., DecimalResult | bool | None]] = {
    "add": lambda x, y: _sum(x, y, 1),
    "sub": lambda x, y: _sum(x, y, -1),
    "mul": lambda x, y: _flagged(lambda: x.value * y.value, x.exact and y.exact),
    "div": lambda x, y: _flagged(lambda: x.value / y.value, x.exact and y.exact),
    "neg": lambda x: DecimalResult(x.value.copy_negate(), x.exact),
    "abs": lambda x: DecimalResult(x.value.copy_abs(), x.exact),
    **{name: _compare(comparison) for name, comparison in COMPARE.items()},
    "where": _choose,
    "pi": lambda: DecimalResult(pi()),
    **{name: _inexact(function) for name, function in FUNCTIONS.items()},
}


LIMIT_DIGITS = 100
FAR = tuple(Decimal(10) ** k for k in (4, 7, 12, 20, 34, 58, 98))
"""Spaced so that even the root of a logarithm grows by more than `STEP`."""
NEAR = tuple(Decimal(2) ** k for k in range(3, 8))
"""For differences that cancel further out than the digits reach: exp(-2**7) is 10**-56."""
STEP, SETTLED, FADED = Decimal("1.2"), Decimal("1e-25"), Decimal("1e-6")
POWERS = (3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1023)
SAME, LEAST = Decimal(2) ** -60, Decimal(2) ** -1080
"""Relative and absolute distance from the limit below which a result rounds to it."""
SCALE = Decimal("1.3717421")
"""Factor of the far points: at round numbers sums may cancel, or sin repeat, by chance."""


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
    exact = {name: Fraction(value) for name, value in parameters.items()}

    def at(point: Decimal) -> Decimal:
        return evaluate(root, LIMIT_DIGITS, {**exact, "x": sign * point})

    with localcontext(Context(prec=LIMIT_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])):
        final = _final(at)
        if final is None:
            return LimitAtInfinity(math.nan, math.inf)
        return LimitAtInfinity(float(final), _reached(at, final) if final.is_finite() else math.inf)


def _final(at: Callable[[Decimal], Decimal]) -> Decimal | None:
    """Return the limit of a function for large arguments, or None."""

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
    """Return the first power of two where a function equals its limit, there and at the next."""
    small = SAME * abs(final) if final else LEAST
    first, before = math.inf, False
    for power in POWERS:
        value = at(Decimal(2) ** power)
        there = not value.is_nan() and abs(value - final) <= small
        if there and before:  # once could be a coincidence
            return first
        first, before = 2.0**power, there
    return math.inf


def _tendency(values: Sequence[Decimal]) -> Decimal | None:
    """Return the limit that a sequence indicates, or None."""
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
    """Return 0 with the sign of the values near it; +0 where signs alternate."""
    signs = {v.is_signed() for v in [v for v in values if v][-4:]}
    return Decimal("-0") if signs == {True} else Decimal(0)
