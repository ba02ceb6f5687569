"""sin and cos by quarter turns, atan by eighths.

u = n·pi/2 + r with pi/2 in three floats: u minus n times the first is exact as long as n is small
enough, up to `FAR`. Beyond it the phase is not resolved, and the result is only guaranteed to lie
between -1 and 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from softgate.formula.graph import Node

from . import Kernel
from .coefficients import TRIGONOMETRY
from .elementary import bias

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640629")
FAR = {"float32": 2.0**17, "float64": 2.0**45}
"""Up to this |u| sin and cos have an error of about one ulp of 1."""
TINY = Fraction(1, 1 << 30)
"""Below this |u| sin(u) rounds to u in every format."""
EIGHTH = Fraction("0.41421356237309504880168872420969807856967187537694807317668")
"""tan(pi/8) = sqrt(2) - 1."""


class Turn(NamedTuple):
    """sin(r), cos(r) and the quarter turns before r: -2, -1, 0, 1 or 2."""

    sin: Node
    cos: Node
    quarters: Node


def parts(f: Kernel, value: Fraction, count: int) -> list[Fraction]:
    """Return `count` floats that add up to `value`, each the remainder after those before it."""
    result: list[Fraction] = []
    for _ in range(count):
        result.append(Fraction(f.fmt.round(value - sum(result))))
    return result


def turn(f: Kernel, u: Node) -> Turn:
    """Return u reduced to half a quarter turn on either side of 0; NaN and infinity give NaN."""
    whole = bias(f)
    n = f.fma(f.bound(u, -FAR[f.fmt.name], FAR[f.fmt.name]), 2 / PI, whole) - whole
    first, second, third = parts(f, PI / 2, 3)
    r = f.fma(n, -first, u)
    # r - n·second plus the rounding errors of product and difference: both may cancel.
    product = n * second
    high = r - product
    back = high - r
    lost = (r - (high - back)) - (product + back)
    r = high + f.fma(n, -third, lost - f.fma(n, second, -product))
    # Beyond FAR r is arbitrary: clamp it to the interval of the fits. inf - inf above is NaN.
    r = f.bound(r, Fraction(-4, 5), Fraction(4, 5))
    quarter = f.fma(n, Fraction(1, 4), whole) - whole
    z = f.product(r, r)
    sin = f.fma(r * z, f.polynomial(z, f.fit(TRIGONOMETRY, "SIN").coefficients), r)
    tail = f.polynomial(z, (-0.5, *f.fit(TRIGONOMETRY, "COS").coefficients))
    return Turn(sin, f.fma(z, tail, 1), f.fma(quarter, -4, n))


def sin(f: Kernel, u: Node) -> Node:
    """Return the sine; -0 stays -0."""
    t = turn(f, u)
    size = f.abs(t.quarters)
    other = f.copysign(t.cos, t.quarters)
    result = f.where(size.same(1), other, f.where(size > 1, -t.sin, t.sin))
    return f.where(f.abs(u) < TINY, u, result)


def cos(f: Kernel, u: Node) -> Node:
    """Return the cosine."""
    t = turn(f, u)
    size = f.abs(t.quarters)
    return f.where(size.same(1), -t.sin * t.quarters, f.where(size > 1, -t.cos, t.cos))


def atan(f: Kernel, u: Node) -> Node:
    """Return the arc tangent: pi/4 + atan((a - 1)/(a + 1)) or pi/2 - atan(1/a) beyond tan(pi/8)."""
    a = f.abs(u)
    near, far = a < EIGHTH, a > 1 / EIGHTH
    # One division for all three cases; a/1 is exact.
    above = f.where(near, a, f.where(far, -1, a - 1))
    t = above / f.where(near, 1, f.where(far, a, a + 1))
    z = t * t
    small = f.fma(t * z, f.polynomial(z, f.fit(TRIGONOMETRY, "ATAN").coefficients), t)
    quarter, half = parts(f, PI / 4, 2), parts(f, PI / 2, 2)
    base = [f.where(near, 0, f.where(far, h, q)) for q, h in zip(quarter, half, strict=True)]
    return f.copysign(base[0] + (small + base[1]), u)
