"""mish(x) = x·tanh(softplus(x)), rational in E = exp(-|x|).

With m = 1 + E and D = m² + (1 where x < 0, else E²):

    x < 0:  mish = -a·E·(1 - c),  c = E·m/D         slope = E·(1 - c - h),  h = 4·a·m/D²
    x >= 0: mish = x - a·c,       c = 2·E²/D        slope = 1 - (c - h),    h = 4·a·m·E²/D²

Both sides share every operation but a few choices.
"""

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
    e: Node
    """exp(-a), unscaled"""
    m: Node
    square: Node
    """1 where x < 0, else E²"""
    d: Node


def parts(f: Kernel, x: Node) -> Parts:
    a = f.clamp(f.abs(x), f.exponential_limit)
    tail = f.exponential(a)
    e = f.plain(tail)
    m = 1 + e
    square = f.where(x < 0, 1, e * e)
    return Parts(a, tail, e, m, square, f.fma(m, m, square))


def value(f: Kernel, x: Node) -> Node:
    p = parts(f, x)
    w = p.tail.lo
    c = p.e * f.where(x < 0, p.m, p.e + p.e) / p.d
    left = f.fma(p.a, f.fma(-c, 1 + w, w), p.a) * p.tail.power
    tail = f.where(x < 0, left, p.a * c)
    return f.fma(tail, f.where(x < 0, -f.unit, -1), f.where(x < 0, 0, x))


def slope(f: Kernel, x: Node) -> Node:
    p = parts(f, x)
    w = p.tail.lo
    c = p.e * f.where(x < 0, p.m, p.e + p.e) / p.d
    h = (4 * p.a * p.m) * (p.square / p.d) / p.d
    y = c + h
    left = (1 + f.fma(-y, 1 + w, w)) * p.tail.power
    tail = f.where(x < 0, left, c - h)
    result = f.fma(tail, f.where(x < 0, f.unit, -1), f.where(x < 0, 0, 1))
    return f.where(x.same(x), result, x)


def curvature(f: Kernel, x: Node) -> Node:
    p = parts(f, x)
    bend = f.where(x < 0, p.e * p.m / p.d * p.m, p.e * p.m / p.d * (1 + 2 * p.e))
    outer = f.where(x < 0, 1 + 2 * p.e, 2 + 3 * p.e)
    inner = 2 * p.m - p.a * (outer - 4 * bend)
    share = 4 * inner / p.d / p.d * f.where(x < 0, 1, p.e)
    result = (1 + p.tail.lo) * share * p.tail.power * f.unit
    return f.where(x.same(x), result, x)


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
