"""log_ndtr(x) = log(Phi(x)), Phi the normal distribution function.

With a = |x| and the inverse Mills ratio G(a) = phi(a)/Phi(-a) it is -(a²/2 + log(√(2·pi)·G)) where
x <= 0, and log(1 - Phi(-a)) elsewhere: neither cancels nor underflows. G is a fit up to
`gaussian_limit`; beyond it is a·S, with Laplace's asymptotic series S in 1/a².
"""

from fractions import Fraction
from typing import NamedTuple

from softgate.blocks import KernelArithmetic
from softgate.blocks.math_functions import logarithm
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound

HALF = Fraction(1, 2)
LOG_SQRT_2PI = Fraction("0.91893853320467274178032973640561763986139747363778341281715")
SERIES = (1, -2, 10, -74, 706, -8162)
"""S = 1 + z + …: its coefficients after 1, from z on, z = 1/a²."""
LOG_SERIES = (Fraction(1), Fraction(-5, 2), Fraction(37, 3), Fraction(-353, 4), Fraction(4081, 5))
"""The same of log(S)."""
FAR, TERMS = -12, 12
"""Below this x, that many terms of the series of Phi are exact to 2**-53."""
LARGE = {"float32": 2**60, "float64": 2**500}
"""Beyond this a the rounding error of a²/2 is negligible, and computing it would overflow."""


class Mills(NamedTuple):
    """G(min(a, limit)), whether a is beyond the limit, and 1/a and 1/a² there."""

    near: Node
    far: Node
    inverse: Node
    z: Node


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.where(x < 0, f.log(f.Phi(x)), f.log1p(-f.Phi(-x)))


def operators(f: ExactArithmetic, x: Node) -> Node:
    """Return the definition with the asymptotic series of Phi where float32's Phi underflows.

    Each branch is finite for all x, since autograd multiplies its derivative by 0 elsewhere.
    """
    left = f.minimum(x, FAR)
    inner = f.maximum(left, -(2**50))  # beyond, z is negligible
    z = 1 / (inner * inner)
    ratio: Node = f.lift(0)
    for k in range(2 * TERMS - 1, 0, -2):
        ratio = -k * z * (1 + ratio)
    far = -left / 2 * left - f.log(-left) - LOG_SQRT_2PI + f.log1p(ratio)
    near = f.log(f.Phi(f.minimum(f.maximum(x, FAR), 0)))
    right = f.log1p(-f.Phi(-f.where(x < 0, 0, x)))
    return f.where(x < FAR, far, f.where(x < 0, near, right))


def mills(f: KernelArithmetic, a: Node) -> Mills:
    end = f.lift(f.gaussian_limit)
    inverse = 1 / f.maximum(a, end)
    return Mills(f.inverse_mills(f.clamp(a, end)), a > end, inverse, inverse * inverse)


def terms(f: KernelArithmetic, series: tuple[Fraction | int, ...]) -> tuple[Fraction | int, ...]:
    """Return the part of a series that is needed beyond `gaussian_limit`."""
    return series[:4] if f.fmt is FLOAT32 else series


def value(f: KernelArithmetic, x: Node) -> Node:
    a = f.abs(x)
    g = mills(f, a)
    tail = f.unscale(f.normal_tail(f.clamp(a, f.gaussian_limit), fine=True))
    right = 1 - tail
    left = f.where(g.far, a, g.near)
    log = logarithm(
        f,
        f.where(x > 0, right, left),
        f.where(x > 0, -tail, left - 1),
        f.where(x > 0, (1 - right) - tail, 0),
    )
    half = a * HALF
    square = a * half
    lost = f.where(a < LARGE[f.fmt.name], f.fma(a, half, -square), 0)
    rest = f.where(g.far, f.polynomial(g.z, terms(f, LOG_SERIES)) * g.z, 0)
    constant = f.number(LOG_SQRT_2PI)
    assert constant.lo is not None
    below = square + (log + constant.hi + (lost + (rest + constant.lo)))
    return f.keep_nan(x, f.where(x > 0, f.copysign(log, -x), -below))


def ratio(f: KernelArithmetic, x: Node, g: Mills) -> Node:
    """Return G(-x) = phi(x)/Phi(x) where x <= 0."""
    a = f.abs(x)
    far = f.fma(f.polynomial(g.z, terms(f, SERIES)), g.inverse, a)
    return f.where(g.far, far, g.near)


def right_ratio(f: KernelArithmetic, x: Node) -> Node:
    """Return phi(x)/Phi(x) where x > 0."""
    a = f.clamp(f.abs(x), f.gaussian_limit)
    tail = f.unscale(f.normal_tail(a, fine=True))
    below = 1 - tail
    ratio = f.scaled_sum(f.normal_density(a)) / below
    # Add back the rounding error of 1 - tail; 1/below is about 1 + tail + tail².
    lost = ((1 - below) - tail) * (1 + f.fma(tail, tail, tail))
    return f.product(f.fma(-ratio, lost, ratio), f.unit)


def slope(f: KernelArithmetic, x: Node) -> Node:
    result = f.where(x > 0, right_ratio(f, x), ratio(f, x, mills(f, f.abs(x))))
    return f.keep_nan(x, result)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # -G·(G - a) where x <= 0, which tends to -1: S·(S - 1)/z; elsewhere -h·(h + x), h = phi/Phi
    g = mills(f, f.abs(x))
    near = g.near * (g.near - f.abs(x))
    first = f.polynomial(g.z, terms(f, SERIES))
    left = f.where(g.far, f.fma(first * first, g.z, first), near)
    h = right_ratio(f, x)
    right = h * (h + f.clamp(x, f.gaussian_limit))
    return f.keep_nan(x, -f.where(x > 0, right, left))


entry = Entry(
    name="log_ndtr",
    formula="log(Phi(x))",
    paper="Abramowitz & Stegun 1964, Handbook of mathematical functions, 26.2.12",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    operators=operators,
    bounds={"float32": ErrorBound(3.9, 3.3), "float64": ErrorBound(4.8, 4)},
    intervals=(
        (-1.0, 1.0),
        (-6.0, 6.0),
        (-15.0, -14.0),
        (-40.0, -38.0),
        (12.0, 14.7),
        (36.0, 39.0),
    ),
    aliases=("log_normal_cdf",),
    notes="Results beyond the largest number of a format are infinite, as they round.",
)
