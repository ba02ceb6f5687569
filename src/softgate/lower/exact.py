"""A graph evaluated rigorously: rational numbers where it is arithmetic, arb balls elsewhere.

A ball contains the exact result; precision is raised until its radius is small enough. Balls never
prove that two numbers are equal, as x/2 and a tie between two subnormals are, so arithmetic of
rational numbers stays rational. A function near a rational number is that number plus a ball:
x - tanh(x) differs from x - 1 in the 5900th bit at x = 2050, and 128 bits decide it.

A comparison of overlapping balls is undecided, and `where` of it is NaN: more bits are needed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import flint
from flint import arb, fmpq

from softgate.formula.arithmetic import FUNCTIONS
from softgate.formula.graph import Node

from .evaluation import ARITHMETIC, program
from .fork_lock import BUILDING

FIRST_BITS, MAX_BITS = 128, 4096
BELOW_ALL = arb(2) ** -1200
"""Far below the smallest subnormal of every format: smaller results need no more digits."""
LONGEST = 1 << 15
"""Rational numbers with more bits become balls: powers of powers would fill the memory."""
NAN = arb.nan()

Real = Any
"""An fmpq, an arb, or a `Near`."""
Input = float | Fraction | fmpq | arb


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set the precision of balls; the lock is held, since flint has one precision in a process."""
    with BUILDING:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


class Near:
    """A rational number, not 0, plus a ball."""

    __slots__ = ("rational", "rest")

    def __init__(self, rational: fmpq, rest: arb) -> None:
        self.rational, self.rest = rational, rest

    def __add__(self, other: Real) -> Real:
        rational, rest = _parts(other)
        return _near(self.rational + rational, self.rest + rest)

    def __sub__(self, other: Real) -> Real:
        rational, rest = _parts(other)
        return _near(self.rational - rational, self.rest - rest)

    def __mul__(self, other: Real) -> Real:
        rational, rest = _parts(other)
        product = self.rational * rest + rational * self.rest + self.rest * rest
        return _near(self.rational * rational, product)

    def __truediv__(self, other: Real) -> Real:
        return _quotient(self, other)

    def __rtruediv__(self, other: Real) -> Real:
        return _quotient(other, self)

    def __neg__(self) -> Real:
        return Near(-self.rational, -self.rest)

    def __abs__(self) -> Real:
        sign = _sign(self)
        return abs(_ball(self)) if sign is None else -self if sign < 0 else self

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Real) -> Real:
        return -self + other


def _near(rational: fmpq, rest: arb) -> Real:
    if rational == 0:
        return rest
    return rational if rest == 0 else Near(rational, rest)


def _parts(x: Real) -> tuple[fmpq, arb]:
    if isinstance(x, Near):
        return x.rational, x.rest
    return (x, arb(0)) if isinstance(x, fmpq) else (fmpq(0), x)


def _quotient(x: Real, y: Real) -> Real:
    (p, r), (q, s) = _parts(x), _parts(y)
    if q == 0:
        return _ball(x) / s
    return _near(p / q, (r - p / q * s) / _ball(y))


def _ball(x: Real) -> arb:
    return x.rest + x.rational if isinstance(x, Near) else arb(x)


def _sign(x: Real) -> int | None:
    """Return -1, 0 or 1; None if a ball contains 0 and other numbers."""
    if isinstance(x, Near):
        x = _ball(x)
    return 1 if x > 0 else -1 if x < 0 else 0 if x == 0 else None


def _number(value: Input) -> Real:
    if isinstance(value, fmpq | arb):
        return value
    return fmpq(*value.as_integer_ratio())


def _number_ball(value: Input) -> arb:
    return value if isinstance(value, arb) else arb(_number(value))


def _computed(operation: Callable[[Real, Real], Real]) -> Callable[[Real, Real], Real]:
    def checked(x: Real, y: Real) -> Real:
        try:
            result = operation(x, y)
        except ZeroDivisionError:
            return NAN
        tall = isinstance(result, fmpq) and result.height_bits() > LONGEST
        return arb(result) if tall else result

    return checked


def _compared(signs: tuple[int, ...], x: Real, y: Real) -> bool | arb:
    sign = _sign(x - y)
    return NAN if sign is None else sign in signs


def _rational(x: arb) -> Real:
    """Return a ball of radius 0, such as exp(0), as a rational number."""
    if not (x.is_exact() and x.is_finite()):
        return x
    mantissa, exponent = x.man_exp()
    if abs(exponent) > LONGEST:
        return x
    power = fmpq(2) ** int(exponent)
    return mantissa * power


def _of_ball(function: Callable[[arb], Real]) -> Callable[[Real], Real]:
    def computed(x: Real) -> Real:
        result = function(_ball(x))
        return _rational(result) if isinstance(result, arb) else result

    return computed


HALF, ONE = fmpq(1, 2), fmpq(1)


def _log(x: Real) -> Real:
    if isinstance(x, Near) and x.rational == 1:
        return x.rest.log1p()
    return arb.neg_inf() if x == 0 else _rational(_ball(x).log())


def _log1p(x: Real) -> Real:
    if isinstance(x, Near) and x.rational == -1:
        return x.rest.log()
    return arb.neg_inf() if x == -1 else _rational(_ball(x).log1p())


def _tanh(x: arb) -> Real:
    if abs(x) > 1:
        small = (-2 * abs(x)).exp()
        above = Near(ONE, -2 * small / (1 + small))
        return above if x > 0 else -above
    return x.tanh()


def _sigmoid_ball(x: arb) -> arb:
    if x < 0:  # exp of a huge number would overflow
        small = x.exp()
        return small / (1 + small)
    return 1 / (1 + (-x).exp())


def _sigmoid(x: arb) -> Real:
    if abs(x) < 0.5:
        return _near(HALF, (x / 2).tanh() / 2)
    return Near(ONE, -_sigmoid_ball(-x)) if x > 0 else _sigmoid_ball(x)


def _softplus_ball(x: arb) -> arb:
    if x > 0:  # on a wide ball, exp(x) would contain 0
        return x + (-x).exp().log1p()
    return x.exp().log1p()


def _softplus(x: Real) -> Real:
    ball = _ball(x)
    if not ball > 0:
        return _softplus_ball(ball)
    rational, rest = _parts(x)
    return _near(rational, rest + _softplus_ball(-ball))


FAR = 2.0**14
"""Beyond this erfc is computed by its asymptotic series, since arb's underflows eventually."""


def _upper_tail(x: arb) -> arb:
    """Return erfc(x)."""
    if not x > FAR:
        return x.erfc()
    # exp(-x²)/(x·√π)·(1 - z + 3·z² - …), z = 1/(2·x²): the error is below the last term
    z = 1 / (2 * x * x)
    total, term = arb(1), arb(1)
    for k in range(1, 24, 2):
        term *= -k * z
        total += term
    return (-x * x).exp() / (x * arb.pi().sqrt()) * (total + arb(0, abs(term).upper()))


def _erf(x: arb) -> Real:
    if abs(x) > 1:
        above = Near(ONE, -_upper_tail(abs(x)))
        return above if x > 0 else -above
    return x.erf()


def _erfc(x: arb) -> Real:
    if abs(x) < 0.5:
        return _near(ONE, -x.erf())
    return Near(fmpq(2), -_upper_tail(-x)) if x < 0 else _upper_tail(x)


def _distribution_ball(x: arb) -> arb:
    return _upper_tail(-x / arb(2).sqrt()) / 2


def _distribution(x: arb) -> Real:
    if abs(x) < 0.5:
        return _near(HALF, (x / arb(2).sqrt()).erf() / 2)
    return Near(ONE, -_distribution_ball(-x)) if x > 0 else _distribution_ball(x)


def _density(x: arb) -> arb:
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


OPERATIONS: dict[str, Any] = {
    "add": _computed(operator.add),
    "sub": _computed(operator.sub),
    "mul": _computed(operator.mul),
    "div": _computed(operator.truediv),
    "neg": operator.neg,
    "abs": abs,
    "lt": partial(_compared, (-1,)),
    "le": partial(_compared, (-1, 0)),
    "eq": partial(_compared, (0,)),
    "where": lambda holds, yes, no: NAN if holds is NAN else yes if holds else no,
    "pi": arb.pi,
    "log": _log,
    "log1p": _log1p,
    "softplus": _softplus,
    "exp": _of_ball(lambda x: _near(ONE, x.expm1()) if abs(x) < 0.5 else x.exp()),
    "expm1": _of_ball(lambda x: Near(-ONE, x.exp()) if x < -1 else x.expm1()),
    "sqrt": _of_ball(arb.sqrt),
    "tanh": _of_ball(_tanh),
    "sin": _of_ball(arb.sin),
    "cos": _of_ball(lambda x: _near(ONE, -2 * (x / 2).sin() ** 2) if abs(x) < 0.5 else x.cos()),
    "atan": _of_ball(arb.atan),
    "erf": _of_ball(_erf),
    "erfc": _of_ball(_erfc),
    "sigmoid": _of_ball(_sigmoid),
    "phi": _of_ball(_density),
    "Phi": _of_ball(_distribution),
}


BALLS = {
    **OPERATIONS,
    **ARITHMETIC,
    **{name: getattr(arb, name) for name in FUNCTIONS if hasattr(arb, name)},
    "sigmoid": _sigmoid_ball,
    "softplus": _softplus_ball,
    "Phi": _distribution_ball,
    "phi": _density,
}
"""The operations of balls alone: a third of the time where nothing is near a rational number."""


def _bound(
    root: Node, parameters: Mapping[str, Any], balls: bool = False
) -> Callable[[dict[str, Any]], Real]:
    """Return the function of the inputs that computes `root`; the caller sets the precision."""
    bind, constants = program(root)
    number = _number_ball if balls else _number
    numbers = [number(constant) for constant in constants]
    run: Callable[[dict[str, Any]], Real]
    run = bind(BALLS if balls else OPERATIONS, number, parameters, numbers)
    return run


def evaluate(root: Node, bits: int, /, **inputs: Input) -> fmpq | arb:
    """Return `root` at these exact inputs or balls: a rational number, or a ball around it."""
    with precision(bits):
        result = _bound(root, inputs)(inputs)
        return result if isinstance(result, fmpq) else _ball(result)


def enclose(root: Node, bits: int, /, **inputs: Input) -> arb:
    """Return a ball around `root` at these exact inputs or balls, computed with `bits` bits."""
    with precision(bits):
        return _ball(_bound(root, inputs)(inputs))


def truth(root: Node, relative_bits: int = 80, /, **inputs: float | Fraction) -> arb:
    """Return a ball around `root` with at least `relative_bits` correct bits.

    A ball entirely below 2**-1200 is returned even if it contains 0. Raises ArithmeticError where
    4096 bits do not resolve the result.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> truth(x * f.Phi(x), x=-5.5).str(12)
    '[-1.04442593562e-7 +/- ...e-...]'
    """
    bits = 2 * relative_bits
    while bits <= MAX_BITS:
        ball = enclose(root, bits, **inputs)
        if _is_resolved(ball, relative_bits):
            return ball
        bits *= 2
    raise ArithmeticError(f"{root!r} at {inputs} is not resolved with {MAX_BITS} bits")


def truths(
    root: Node, points: Sequence[float], relative_bits: int = 80, /, **parameters: float | Fraction
) -> list[arb]:
    """Return the balls of `truth` at many inputs x, in less than half the time.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> [float(ball.mid()) for ball in truths(x * f.Phi(x), [-5.5, 1.0])]
    [-1.04442593562...e-07, 0.8413447460685429]
    """
    with precision(2 * relative_bits):
        run = _bound(root, parameters, balls=True)
        balls = [run({"x": arb(point)}) for point in points]
    return [
        ball if _is_resolved(ball, relative_bits) else truth(root, relative_bits, x=x, **parameters)
        for ball, x in zip(balls, points, strict=True)
    ]


def _is_resolved(ball: arb, relative_bits: int) -> bool:
    return bool(ball.rel_accuracy_bits() >= relative_bits or ball.abs_upper() < BELOW_ALL)


def number(root: Node, bits: int, /, **inputs: Input) -> arb:
    """Return `root` to `bits` bits, as a ball of radius 0.

    It is 0 where the result is 0, or below 2**-1200 and not resolved by 4096 bits, and NaN where
    the formula has no real value or 4096 bits do not resolve it.
    """
    ball = NAN
    for more in (bits + 32, 4 * bits, MAX_BITS):
        ball = enclose(root, more, **inputs)
        if ball.is_exact() or ball.rel_accuracy_bits() >= bits:
            return ball.mid()
    return arb(0) if ball.abs_upper() < BELOW_ALL else NAN


def fraction(value: arb) -> Fraction:
    """Return the middle of a finite ball as an exact fraction."""
    mantissa, exponent = map(int, value.mid().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def exponent(value: arb) -> int:
    """Return e with 2**(e - 1) <= |value| < 2**e, for the middle of a finite ball; 0 for 0."""
    mantissa, power = map(int, value.mid().man_exp())
    return mantissa.bit_length() + power if mantissa else 0


def signs_of_differences(
    root: Node,
    points: Iterable[float | Fraction],
    boundaries: Iterable[Fraction],
    **parameters: float | Fraction,
) -> list[int]:
    """Return the signs of `root` at inputs x minus `boundaries`; equal ones should be neighbours.

    0 is proven where the result is a rational number. Elsewhere it means that the two agree in all
    of 4096 bits, as exp(log(x)) and x do.

    Raises
    ------
    ArithmeticError
        Where 4096 bits do not resolve the result.
    """
    signs: list[int] = []
    with precision(FIRST_BITS):
        run = _bound(root, parameters)
        before, value = None, NAN
        for x, boundary in zip(points, boundaries, strict=True):
            if x != before:
                before, value = x, run({"x": x})
            sign = _sign(value - _number(boundary))
            signs.append(_slow_sign(root, boundary, x, parameters) if sign is None else sign)
    return signs


def _slow_sign(
    root: Node, boundary: Fraction, x: float | Fraction, parameters: dict[str, float | Fraction]
) -> int:
    bits, middle = 2 * FIRST_BITS, _number(boundary)
    while bits <= MAX_BITS:
        with precision(bits):
            difference = _ball(_bound(root, parameters)({"x": x}) - middle)
            sign = _sign(difference)
            if sign is not None:
                return sign
            if bits == MAX_BITS and difference.abs_upper() < abs(middle) * arb(2) ** -3000:
                return 0
        bits *= 2
    raise ArithmeticError(
        f"{root!r} at x = {float(x)!r} is not resolved with {MAX_BITS} bits: it may not be real"
    )


def hull(*points: float) -> arb:
    """Return a ball that contains all of these points."""
    return reduce(arb.union, map(arb, points))


def bounds(ball: arb) -> tuple[float, float]:
    """Return the nearest floats that the ball is between; infinite for a ball that is not."""
    if not ball.is_finite():
        return -math.inf, math.inf
    low, high = ball.lower(), ball.upper()
    least, greatest = float(low), float(high)
    return (
        least if arb(least) <= low else math.nextafter(least, -math.inf),
        greatest if arb(greatest) >= high else math.nextafter(greatest, math.inf),
    )


def middle_and_radius(ball: arb) -> tuple[float, float]:
    """Return floats m and r such that the ball is inside [m - r, m + r]."""
    middle = float(ball.mid())
    if not math.isfinite(middle):
        return 0.0, math.inf
    return middle, bounds(abs(ball - arb(middle)))[1]
