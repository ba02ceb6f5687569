"""sqrtsoftplus(x) = √softplus(x): a router's score, above 0 everywhere.

Where x < 0, softplus(x) underflows at half the |x| at which its root does. So the exponential is
that of -|x|/2, the tail (1 + v)·2**m. With E = exp(-|x|) = (1 + e)·4**m, log(1 + E) is
(1 + l)·4**m, and its root √(1 + l)·2**m.
"""

from fractions import Fraction
from typing import NamedTuple

from softgate.blocks import KernelArithmetic, Tail
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
FAR = 40
"""Beyond this -x, softplus(x) rounds to exp(x) in every format."""
FLAT = 1000
"""From this x on, exp(-x)·x is negligible beside 1 in every format."""


class Parts(NamedTuple):
    """`e` is that of the module's docstring, `shifted` is 1 + l, `power` is 2**(m + scale)."""

    e: Node
    shifted: Node
    power: Node
    small: Node
    """E."""
    log: Tail
    """log(1 + E)."""


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.sqrt(f.softplus(x))


def operators(f: ExactArithmetic, x: Node) -> Node:
    """Return the definition without underflow where softplus(x) rounds to exp(x)."""
    return f.where(x < -FAR, f.exp(x / 2), definition(f, x))


def parts(f: KernelArithmetic, x: Node) -> Parts:
    h = f.expand(f.clamp(f.abs(x) * HALF, f.deepest))
    assert h.lo is not None
    e = f.fma(h.lo, h.lo, h.lo + h.lo)
    # It may underflow, where E is negligible beside 1.
    log = f.log1p(Tail(h.hi, e, f.plain_power(h.power) * h.power))
    assert log.lo is not None
    plain = f.plain_power(log.power)
    return Parts(e, 1 + log.lo, h.power, f.fma(plain, e, plain), log)


def root(f: KernelArithmetic, x: Node, p: Parts) -> Node:
    """Return the root without 2**m where x < 0, the root elsewhere; NaN propagates from `x`."""
    return f.sqrt(f.where(x < 0, p.shifted, f.raised(x, p.log)))


def unscaled(f: KernelArithmetic, x: Node, number: Node, p: Parts) -> Node:
    """Return `number`·2**m where x < 0, else `number`."""
    return f.product(number * f.where(x < 0, p.power, 1), f.where(x < 0, f.unit, 1))


def value(f: KernelArithmetic, x: Node) -> Node:
    p = parts(f, x)
    return unscaled(f, x, root(f, x, p), p)


def slope(f: KernelArithmetic, x: Node) -> Node:
    # sigmoid(x)/(2·√softplus(x)), sigmoid(x) = E/(1 + E) where x < 0, else 1/(1 + E)
    p = parts(f, x)
    under = root(f, x, p)
    inverse = HALF / f.fma(under, p.small, under)
    return unscaled(f, x, f.fma(inverse, f.where(x < 0, p.e, 0), inverse), p)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # s²·(2·softplus(x)·exp(-x) - 1)/(4·softplus(x)·√softplus(x)), s = sigmoid(x)
    p = parts(f, x)
    total, under = 1 + p.small, root(f, x, p)
    right = f.fma(2 * p.small, f.raised(f.where(x > FLAT, FLAT, x), p.log), -1)
    above = f.where(x < 0, (1 + p.e) * (p.shifted + p.shifted - (1 + p.e)), right)
    return unscaled(f, x, above / (total * total) / (under * under) / under * QUARTER, p)


entry = Entry(
    name="sqrtsoftplus",
    formula="sqrt(log(1 + exp(x)))",
    paper="DeepSeek-AI 2026, DeepSeek-V4 (the score of its routers)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    operators=operators,
    bounds={"float32": ErrorBound(1.8, 3.4), "float64": ErrorBound(1.8, 3.8)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-210.0, -170.0), (-1500.0, -1400.0)),
)
