"""squareplus(x) = (x + √(x² + b))/2: softplus' shape without exp or log.

As written x + √(x² + b) cancels where x < 0. With a = |x|, r = √(a² + b) and d = a + r the two
sides are d/2 and b/(2·d), and every term is positive. Where a² would overflow, b is negligible.
"""

from fractions import Fraction
from typing import NamedTuple

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Node

from . import relu
from .entry import Entry, ErrorBound, Parameter

HALF, TWO = Fraction(1, 2), Fraction(2)
TINY, UP, ENOUGH = TWO**-960, TWO**100, TWO**400
"""With b below `TINY` a² + b could underflow: a is carried times `UP`, b times its square. Such a b
is negligible where a >= `ENOUGH`. float32 kernels are not used for b below 2**-100."""


class Parts(NamedTuple):
    """a = up·|x|, q = a² + b, r = √q, with b times up²; `inverse` is 1/up.

    Where not `near`, b is negligible: q = a², with a scaled down so that q does not overflow.
    """

    near: Node
    a: Node
    b: TwoFloat
    q: Node
    r: Node
    up: Node
    inverse: Node


def definition(f: ExactArithmetic, x: Node, b: Node) -> Node:
    return (x + f.sqrt(x * x + b)) / 2


def down(f: KernelArithmetic) -> Fraction:
    """Return the scale factor of numbers so large that their squares would overflow."""
    return TWO ** -(f.fmt.max_exponent // 2 + 3)


def parts(f: KernelArithmetic, x: Node, b: TwoFloat) -> Parts:
    end, up, inverse = f.lift(TWO ** (f.fmt.max_exponent // 2)), f.lift(1), f.lift(1)
    if f.fmt is not FLOAT32:
        tiny = b.hi < TINY
        end = f.where(tiny, ENOUGH, end)
        up, inverse = f.where(tiny, UP, up), f.where(tiny, 1 / UP, inverse)
        b = TwoFloat(b.hi * up * up)
    near = f.abs(x) < end
    a = f.product(f.abs(x), f.where(near, up, down(f)))
    q = f.fma(a, a, f.where(near, b.hi, 0))
    return Parts(near, a, b, q, f.sqrt(q), up, inverse)


def value(f: KernelArithmetic, x: Node, b: TwoFloat) -> Node:
    # Where not near, d is |x|, and the result is d or b/(4·d).
    near, a, b_, _, r, _, inverse = parts(f, x, b)
    total = a + r
    d = f.where(near, total, f.abs(x))
    left = b_.hi / d
    # Add back the rounding errors of the division and of the sum a + r (r is the larger term).
    rest = f.fma(-left, a - (total - r), f.fma(-left, d, b_.hi))
    rest = f.where(near, rest, 0)
    if b_.lo is not None:
        rest += b_.lo
    left = f.fma(rest, left * (1 / f.maximum(b_.hi, TINY)), left)
    half = HALF * inverse
    factor = f.where(near, half, f.where(x < 0, HALF * HALF, 1))
    result = f.product(f.where(x < 0, left, d), factor)
    return f.where(b.hi.same(0), relu.entry.value(f, x), result)


def slope(f: KernelArithmetic, x: Node, b: TwoFloat) -> Node:
    """Return (1 + x/r)/2 near 0; elsewhere the tail where x < 0, else 1 - tail.

    The tail is b/(2·r·(a + r)) = b/(2·(a·r + q)).
    """
    near, a, b_, q, r, *_ = parts(f, x, b)
    middle = a + a < r
    # Raised where it is negligible beside r: division of a subnormal is slow.
    raised = a + TWO ** -(3 * f.fmt.max_exponent // 4)
    ratio = f.where(middle, raised, b_.hi) / f.where(middle, r, f.fma(a, r, q))
    if b_.lo is not None:
        ratio = f.fma(ratio, f.where(middle, 0, b_.lo / b_.hi), ratio)
    unit = f.where(near, HALF, HALF * down(f) ** 2)
    factor = f.copysign(unit, f.where(middle, x, -x))
    start = f.where(middle, HALF, f.where(x < 0, 0, 1))
    return f.where(b.hi.same(0), relu.entry.slope(f, x), f.fma(ratio, factor, start))


def curvature(f: KernelArithmetic, x: Node, b: TwoFloat) -> Node:
    # b/(2·r³)
    near, _, b_, q, r, up, _ = parts(f, x, b)
    result = f.where(near, b_.hi / q * (up / r) * HALF, f.keep_nan(x, 0))
    return f.where(b.hi.same(0), relu.entry.curvature(f, x), result)


entry = Entry(
    name="squareplus",
    formula="(x + sqrt(x**2 + b))/2",
    paper="Barron 2021, Squareplus: a softplus-like algebraic rectifier (arXiv:2112.11687)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.1, 2.7), "float64": ErrorBound(2.2, 3)},
    intervals=((-4.0, 4.0), (-20.0, -10.0), (-1e5, 1e5), (-1e20, -1e17)),
    parameters=(
        Parameter(
            "b",
            4.0,
            above=0.0,
            below=1e30,
            doc="How round the bend is. With 0 it is relu, whose slope at 0 is 0.",
            tested=(0.01, 1.3),
            closed=True,
        ),
    ),
)
