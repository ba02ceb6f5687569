"""A definition evaluated in arb balls: the rigorous reference for every measured error.

A ball contains the exact result; precision is raised until the radius is as small as requested.
Comparisons of exact inputs are exact; a comparison of overlapping balls raises the precision too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import flint
from flint import arb, fmpq

from softgate.formula.graph import COMPARISONS, Node

from .evaluation import ARITHMETIC, choose, program

MAX_BITS = 4096
BELOW_ALL = arb(2) ** -1200
"""Far below the smallest subnormal of every format: smaller results need no more digits."""


class Undecided(ArithmeticError):
    """A comparison of two balls that overlap: more bits are needed."""


def evaluate(root: Node, bits: int, /, **inputs: float | Fraction | arb) -> arb:
    """Return a ball around `root` at these exact inputs or balls, computed with `bits` bits."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        bind, _ = program(root)
        ball: arb = bind(OPERATIONS, exact, inputs, _constants(root, bits))(inputs)
    finally:
        flint.ctx.prec = before
    return ball


@lru_cache(maxsize=256)
def _constants(root: Node, bits: int) -> tuple[arb, ...]:
    # The caller has set the precision to `bits`, which determines the radius of a fraction.
    return tuple(exact(constant) for constant in program(root)[1])


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
        with suppress(Undecided):
            ball = evaluate(root, bits, **inputs)
            if _is_resolved(ball, relative_bits):
                return ball
        bits *= 2
    raise ArithmeticError(f"{root!r} at {inputs} is not resolved with {MAX_BITS} bits")


def truths(
    root: Node, points: Sequence[float], relative_bits: int = 80, /, **parameters: float | Fraction
) -> list[arb]:
    """Return the balls of `truth` at many inputs x, in half the time.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> [float(ball.mid()) for ball in truths(x * f.Phi(x), [-5.5, 1.0])]
    [-1.04442593562...e-07, 0.8413447460685429]
    """
    bits, before = 2 * relative_bits, flint.ctx.prec
    balls: list[arb | None] = []
    flint.ctx.prec = bits
    try:
        run = program(root)[0](OPERATIONS, exact, parameters, _constants(root, bits))
        for point in points:
            try:
                ball = run({"x": point})
            except Undecided:
                balls.append(None)
            else:
                balls.append(ball if _is_resolved(ball, relative_bits) else None)
    finally:
        flint.ctx.prec = before
    return [
        truth(root, relative_bits, x=point, **parameters) if ball is None else ball
        for ball, point in zip(balls, points, strict=True)
    ]


def _is_resolved(ball: arb, relative_bits: int) -> bool:
    return bool(ball.rel_accuracy_bits() >= relative_bits or ball.abs_upper() < BELOW_ALL)


def hull(*points: float) -> arb:
    """Return a ball that contains all of these points."""
    first, *others = map(exact, points)
    for other in others:
        first = first.union(other)
    return first


def bounds(ball: arb) -> tuple[float, float]:
    """Return the nearest floats that the ball is between; infinite for a ball that is not."""
    if not ball.is_finite():
        return -math.inf, math.inf
    low, high = ball.lower(), ball.upper()
    least, greatest = float(low), float(high)
    return (
        least if exact(least) <= low else math.nextafter(least, -math.inf),
        greatest if exact(greatest) >= high else math.nextafter(greatest, math.inf),
    )


def middle_and_radius(ball: arb) -> tuple[float, float]:
    """Return floats m and r such that the ball is inside [m - r, m + r]."""
    middle = float(ball.mid())
    if not math.isfinite(middle):
        return 0.0, math.inf
    return middle, bounds(abs(ball - exact(middle)))[1]


def exact(value: float | Fraction | arb) -> arb:
    """Return `value` as a ball of radius 0 (or as tight as a fraction allows); a ball as it is."""
    if isinstance(value, arb):
        return value
    if isinstance(value, float):
        return arb(value)
    return arb(fmpq(value.numerator, value.denominator))


def _compare(op: str, x: arb, y: arb) -> bool:
    difference = x - y
    if difference < 0:
        return op in ("lt", "le")
    if difference > 0:
        return False
    if difference == 0:
        return op in ("le", "eq")
    raise Undecided(op)


def _sigmoid(x: arb) -> arb:
    if x < 0:  # exp of a huge number would overflow
        small = x.exp()
        return small / (1 + small)
    return 1 / (1 + (-x).exp())


def _softplus(x: arb) -> arb:
    if x > 0:  # on a wide ball, exp(x) would contain 0
        return x + (-x).exp().log1p()
    return x.exp().log1p()


FAR = -(2.0**14)
"""Below this Phi is computed by its asymptotic series, since arb's erfc underflows eventually."""


def _density(x: arb) -> arb:
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def _distribution(x: arb) -> arb:
    if not x < FAR:
        return (-x / arb(2).sqrt()).erfc() / 2
    # phi(x)/|x|·(1 - z + 3·z² - …), z = 1/x²: the error is less than the first term left out.
    z = 1 / (x * x)
    total, term = arb(1), arb(1)
    for k in range(1, 24, 2):
        term *= -k * z
        total += term
    return -_density(x) / x * (total + arb(0, abs(term).upper()))


OPERATIONS: dict[str, Any] = {
    **ARITHMETIC,
    **{op: partial(_compare, op) for op in COMPARISONS},
    "where": choose,
    "pi": arb.pi,
    "exp": arb.exp,
    "expm1": arb.expm1,
    "log": arb.log,
    "log1p": arb.log1p,
    "sqrt": arb.sqrt,
    "tanh": arb.tanh,
    "sin": arb.sin,
    "cos": arb.cos,
    "atan": arb.atan,
    "erf": arb.erf,
    "erfc": arb.erfc,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "phi": _density,
    "Phi": _distribution,
}
