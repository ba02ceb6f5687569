"""exp, expm1, log, log1p, erf, erfc, sin, cos and atan of any argument, for users' formulas.

The catalogue's forms restrict their arguments; these hold for every float of the format, with a
relative error of about one ulp, gradual underflow, overflow to infinity, and NaN outside the
domain.

sin and cos reduce u = n·pi/2 + r with pi/2 in three floats: u minus n times the first is exact as
long as n is small enough, up to `FAR`. Beyond it the phase is not resolved, and the result is only
guaranteed to lie between -1 and 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Node

from . import KernelArithmetic
from .exponential import LN2, MIRRORED
from .fits import ERF, LOGARITHM, TRIGONOMETRY

EXP_RANGE = {"float32": (-105, 89), "float64": (-746, 710)}
"""Outside this range exp underflows to 0 or overflows."""
MINUS_ONE = -40
"""Below this expm1 rounds to -1 in every format."""
SQRT2 = Fraction("1.41421356237309504880168872420969807856967187537694807317668")
ERF_NEAR = Fraction(3, 4)
"""Up to this |u| erf has a fit; beyond it 1 - erfc does not cancel."""
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640629")
FAR = {"float32": 2.0**17, "float64": 2.0**45}
"""Up to this |u| sin and cos have an error of about one ulp of 1."""
TINY = Fraction(1, 1 << 30)
"""Below this |u| sin(u) rounds to u in every format."""
EIGHTH = Fraction("0.41421356237309504880168872420969807856967187537694807317668")
"""tan(pi/8) = sqrt(2) - 1."""


def bias(f: KernelArithmetic) -> int:
    """Return 1.5·2**mantissa_bits: adding it rounds to an integer, held in the low bits."""
    return 3 << (f.fmt.mantissa_bits - 1)


class Power(NamedTuple):
    """exp(u) = (1 + w)·first·second, both powers of two; `inverse` is 1/second."""

    w: Node
    first: Node
    second: Node
    inverse: Node


def power(f: KernelArithmetic, u: Node, low: int) -> Power:
    """Return exp(u) in parts; 2**n is split in two factors, since it may be out of range."""
    e = f.reduce(f.bound(u, low, EXP_RANGE[f.fmt.name][1]), rate=MIRRORED, bias=0)
    square, q = f._quadratic(e.r, -1)
    whole, one = bias(f), bias(f) + f.fmt.max_exponent
    n = e.magic - whole
    first = f.fma(n, Fraction(1, 2), one)
    second = n - (first - one)
    powers = (f.exponent_only(t) for t in (first, second + one, one - second))
    return Power(f.fma(square, q, e.r), *powers)


def exp(f: KernelArithmetic, u: Node) -> Node:
    """Return exp(u)."""
    p = power(f, u, EXP_RANGE[f.fmt.name][0])
    return f.product(f.fma(p.first, p.w, p.first), p.second)


def expm1(f: KernelArithmetic, u: Node) -> Node:
    """Return exp(u) - 1 = ((first - 1/second) + first·w)·second; -0 stays -0."""
    p = power(f, u, MINUS_ONE)
    result = f.product(f.fma(p.first, p.w, p.first - p.inverse), p.second)
    return f.copysign(result, u)


def logarithm(
    f: KernelArithmetic, w: Node, offset: Node | None = None, lost: Node | None = None
) -> Node:
    """Return log(w) for finite w > 0, or log(1 + offset) where w is 1 + offset rounded.

    w = m·2**e with sqrt(1/2) <= m <= sqrt(2); `lost` is the rounding error of w.
    """
    tiny = w < Fraction(2) ** f.fmt.min_exponent
    lift = f.fmt.precision + 1
    normal = f.where(tiny, w * (1 << lift), w)
    mantissa = 1 << f.fmt.mantissa_bits
    e = f.exponent_field(normal) - (mantissa + f.fmt.max_exponent)
    m = f.add_exponent(normal, bias(f) - e)
    large = m > SQRT2
    m = f.where(large, m * Fraction(1, 2), m)
    e = f.where(large, e + 1, e) - f.where(tiny, lift, 0)
    t = m - 1
    if offset is not None:
        t = f.where(e.same(0), offset, t)
    s = t / (t + 2)
    z = s * s
    small = s * f.fma(-z, f.polynomial(z, f.fit(LOGARITHM, "LOG1P").coefficients), t)
    # `high` has few enough bits that e·high is exact.
    digits = 1 << (f.fmt.precision - (8 if f.fmt is FLOAT32 else 11))
    high = Fraction(int(LN2 * digits), digits)
    total = f.fma(e, high, t)
    rest = f.fma(e, high, -total) + t
    low = f.fma(e, LN2 - high, -small)
    if lost is not None:
        low = low + f.where(e.same(0), 0, lost / w)
    return total + (rest + low)


def log(f: KernelArithmetic, u: Node) -> Node:
    """Return log(u): -inf at 0, NaN below."""
    return _ends(f, u, logarithm(f, u))


def _ends(f: KernelArithmetic, w: Node, inside: Node) -> Node:
    """Return a logarithm of w with its values at 0, at infinity, below 0 and at NaN."""
    # sqrt of a negative number is NaN; -0 + 0 is +0.
    outside = f.where(w > 0, w, -1 / (f.sqrt(w) + 0))
    return f.where(w > 0, f.where(w <= largest(f), inside, outside), outside)


def largest(f: KernelArithmetic) -> Fraction:
    """Return the largest number of the format."""
    return (2 - Fraction(1, 1 << f.fmt.mantissa_bits)) * Fraction(2) ** f.fmt.max_exponent


def log1p(f: KernelArithmetic, u: Node) -> Node:
    """Return log(1 + u): -inf at -1, NaN below; -0 stays -0."""
    w = u + 1
    back = w - 1
    lost = (1 - (w - back)) + (u - back)
    return f.copysign(_ends(f, w, logarithm(f, w, u, lost)), u)


def _complement(f: KernelArithmetic, a: Node) -> Node:
    """Return erfc(a)/2 = Phi(-sqrt(2)·a) times 2**scale, for a >= 0; NaN is not propagated.

    The rounding error `rest` of t = sqrt(2)·a is corrected by the factor 1 - rest·G(t), G the
    inverse Mills ratio, for which (3·t + sqrt(t² + 8))/4 is accurate enough.
    """
    a = f.clamp(a, Fraction(f.gaussian_limit) / SQRT2)
    t, rest = f.times(a, f.number(SQRT2))
    assert rest is not None
    tail = f.scaled_sum(f.normal_tail(t))
    mills = f.fma(3, t, f.sqrt(f.fma(t, t, 8))) * Fraction(1, 4)
    return f.fma(tail, -(rest * mills), tail)


def erfc(f: KernelArithmetic, u: Node) -> Node:
    """Return 1 - erf(u), without cancellation where u > 0."""
    sign = f.where(u < 0, -2 * f.unit, 2 * f.unit)
    result = f.fma(_complement(f, f.abs(u)), sign, f.where(u < 0, 2, 0))
    return f.keep_nan(u, result)


def erf(f: KernelArithmetic, u: Node) -> Node:
    """Return the error function, with full relative accuracy near 0."""
    a = f.abs(u)
    near = f.fma(u, f.polynomial(u * u, f.fit(ERF, "ERF").coefficients), u)
    far = f.fma(_complement(f, a), -2 * f.unit, 1)
    return f.where(a > ERF_NEAR, f.copysign(far, u), near)


class ReducedAngle(NamedTuple):
    """sin(r), cos(r) and the quarter turns before r: -2, -1, 0, 1 or 2."""

    sin: Node
    cos: Node
    quarters: Node


def parts(f: KernelArithmetic, value: Fraction, count: int) -> list[Fraction]:
    """Return `count` floats that add up to `value`, each the remainder after those before it."""
    result: list[Fraction] = []
    for _ in range(count):
        result.append(Fraction(f.fmt.round(value - sum(result))))
    return result


def reduce_angle(f: KernelArithmetic, u: Node) -> ReducedAngle:
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
    return ReducedAngle(sin, f.fma(z, tail, 1), f.fma(quarter, -4, n))


def sin(f: KernelArithmetic, u: Node) -> Node:
    """Return the sine; -0 stays -0."""
    t = reduce_angle(f, u)
    size = f.abs(t.quarters)
    other = f.copysign(t.cos, t.quarters)
    result = f.where(size.same(1), other, f.where(size > 1, -t.sin, t.sin))
    return f.where(f.abs(u) < TINY, u, result)


def cos(f: KernelArithmetic, u: Node) -> Node:
    """Return the cosine."""
    t = reduce_angle(f, u)
    size = f.abs(t.quarters)
    return f.where(size.same(1), -t.sin * t.quarters, f.where(size > 1, -t.cos, t.cos))


def atan(f: KernelArithmetic, u: Node) -> Node:
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
