"""mish(x) = x·tanh(softplus(x)), rational in E = exp(-|x|).

With a = |x|, F = E where x < 0, else 2·E, and D = 2 + 2·F + F²:

    x < 0:   mish = -a·E·(1 + k)/2,  k = (2 - F²)/D
    x >= 0:  mish = x - a·k,         k = F²/D

Both sides share the division and nearly all other operations. The terms added to the exact leading
term are small where their errors are large, so the total error is little more than one rounding.
"""

from fractions import Fraction
from typing import NamedTuple

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound

HALF, THREE_QUARTERS = Fraction(1, 2), Fraction(3, 4)


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x * f.tanh(f.softplus(x))


class Parts(NamedTuple):
    """exp(-a) = (1 + w)·2**n, `power` = 2**(n + scale), and F, F², 2·F + F², D made from it."""

    a: Node
    w: Node
    power: Node
    f: Node
    square: Node
    sum: Node
    d: Node


def parts(f: KernelArithmetic, x: Node) -> Parts:
    a = f.clamp(f.abs(x), f.exponential_limit)
    w, power = f.expand(a)[1:]
    assert w is not None
    plain = f.plain_power(power, f.where(x < 0, 1, 2))
    e = f.fma(plain, w, plain)
    more = e + 2
    return Parts(a, w, power, e, e * e, e * more, f.fma(e, more, 2))


def value(f: KernelArithmetic, x: Node) -> Node:
    p = parts(f, x)
    k = f.where(x < 0, 2 - p.square, p.square) / p.d
    # (1 + w)·(1 + k) = 1 + (w + k·(1 + w)): one rounding plus that of the bracket.
    scaled = f.product(p.a, p.power)
    left = f.fma(scaled, f.fma(k, 1 + p.w, p.w), scaled)
    if not f.fused:
        # x·(1 - k) where a·k is subnormal and x - a·k is not: some compilers flush a·k to 0.
        factor = f.where(x < 0, -f.unit / 2, x)
        return f.ieee_product(f.where(x < 0, left, 1 - k), factor)
    factor = f.where(x < 0, -f.unit / 2, -p.a)
    return f.fma(f.where(x < 0, left, k), factor, f.where(x < 0, 0, x))


def slope(f: KernelArithmetic, x: Node) -> Node:
    """Return E·u where x < 0, else 1 - v.

    u = 3/4 - a + ((2 - 2·F - 3·F²)/4 + a·(4·F + 4·F² + (2·F + F²)²)/D)/D
    v = F²/D·(1 - 2·a·(2 + F)/D)
    """
    p = parts(f, x)
    inverse = 1 / p.d
    ratio = f.product(p.a, inverse)
    gate = f.fma(-THREE_QUARTERS, p.square, f.fma(-HALF, p.f, HALF))
    bend = f.fma(p.sum, p.sum, 4 * (p.f + p.square))
    u = f.fma(inverse, f.fma(ratio, bend, gate), THREE_QUARTERS - p.a)
    scaled = u * p.power
    left = f.fma(scaled, p.w, scaled)
    right = p.square * inverse
    factor = f.where(x < 0, f.unit, f.fma(ratio, f.fma(2, p.f, 4), -1))
    return f.keep_nan(x, f.fma(f.where(x < 0, left, right), factor, f.where(x < 0, 0, 1)))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    """Return 4·E·u/D² where x < 0, else 16·E²·u/D², u = 2·m - a·(outer - 4·F·m·(1 + F)/D)."""
    p = parts(f, x)
    m = 1 + f.where(x < 0, p.f, HALF * p.f)
    outer = f.where(x < 0, f.fma(2, p.f, 1), f.fma(Fraction(3, 2), p.f, 2))
    u = 2 * m - p.a * (outer - 4 * p.f * m * (1 + p.f) / p.d)
    e = (1 + p.w) * p.power
    front = f.where(x < 0, 4 * e, e * f.unit * e * 16)
    return f.keep_nan(x, u / p.d / p.d * front * f.unit)


entry = Entry(
    name="mish",
    formula="x*tanh(log(1 + exp(x)))",
    paper="Misra 2019, Mish: a self regularized non-monotonic activation function "
    "(arXiv:1908.08681)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.2, 2.5), "float64": ErrorBound(3, 3.1)},
    intervals=(
        (-1.0, 1.0),
        (-20.0, 20.0),
        (-1.3, -1.1),
        (-110.0, -85.0),
        (-752.0, -700.0),
    ),
)
