"""mish(x) = x·tanh(softplus(x)), rational in E = exp(-|x|).

With F = E where x < 0, else 2·E, and R = 1/(1 + F + F²/2), a = |x|:

    x < 0:  mish = -a·E·(1 + k)/2,    k = (1 - F²/2)·R
            slope = E·(1 - a + a·(F + F² + (F + F²/2)²)·R² - F·(1 + F)/2·R)
    x >= 0: mish = x - a·k,           k = F²/2·R
            slope = 1 - k·(1 - a·(2 + F)·R)

Both sides share the division and nearly all else. The leading terms are exact, and what is added to
them is small where it is large itself: hence little more than one rounding.
"""

from fractions import Fraction
from typing import NamedTuple

from ..blocks import Kernel, Tail
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry


def definition(f: Definition, x: Node) -> Node:
    return x * f.tanh(f.softplus(x))  # type: ignore[operator]


class Parts(NamedTuple):
    """What value, slope and curvature have in common."""

    a: Node
    tail: Tail
    """exp(-a)"""
    f: Node
    """exp(-a) where x < 0, else twice that"""
    half_square: Node
    """F²/2"""
    inverse: Node
    """R"""


def parts(f: Kernel, x: Node) -> Parts:
    a = f.clamp(f.abs(x), f.exponential_limit)
    tail = f.expand(a)
    assert tail.lo is not None
    power = f.plain_power(tail)
    power = f.where(x < 0, power, power + power)
    e = f.fma(power, tail.lo, power)
    half_square = Fraction(1, 2) * e * e
    return Parts(a, tail, e, half_square, (1 + e) + half_square)


def value(f: Kernel, x: Node) -> Node:
    a, tail, _, half_square, total = parts(f, x)
    assert tail.lo is not None
    k = f.where(x < 0, 1 - half_square, half_square * (2 / f.unit)) / total
    left = f.fma(a, f.fma(tail.lo, 1 + k, k), a) * tail.power
    return f.fma(f.where(x < 0, left, a * k), -f.unit / 2, f.where(x < 0, 0, x))


def slope(f: Kernel, x: Node) -> Node:
    a, tail, e, half_square, total = parts(f, x)
    assert tail.lo is not None
    inverse = 1 / total
    k = half_square * inverse
    sum_ = e + half_square
    both = f.fma(e, e, e)
    psi = f.fma(sum_, sum_, both) * inverse * inverse
    inner = (1 - a) + f.fma(a, psi, -(both * Fraction(1, 2) * inverse))
    left = f.fma(inner, tail.lo, inner) * tail.power
    right = k * f.fma(-a * (2 + e), inverse, 1)
    result = f.fma(f.where(x < 0, left, right), f.where(x < 0, f.unit, -1), f.where(x < 0, 0, 1))
    return f.keep_nan(x, result)


def curvature(f: Kernel, x: Node) -> Node:
    return x


entry = Entry(
    name="mish",
    formula="x*tanh(log(1 + exp(x)))",
    paper="Misra 2019, Mish: a self regularized non-monotonic activation function",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": Bound(4.0, 4.0), "float64": Bound(4.0, 4.0)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-1.3, -1.1), (-110.0, -80.0), (-760.0, -700.0)),
)
