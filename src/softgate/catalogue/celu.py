"""celu(x) = x where x > 0, else alpha·(exp(x/alpha) - 1). Its slope has no jump: at 0 it is 1.

x/alpha is carried in two parts. Where it is so small that celu rounds to x, x is returned, because
x/alpha would underflow for large alpha.
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic, Tail, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node, Number

from . import elu
from .entry import Entry, ErrorBound, Parameter

SATURATED = 40
"""From this b on, 1 - exp(-b) rounds to 1 in every format."""


def definition(f: ExactArithmetic, x: Node, alpha: Node) -> Node:
    return f.where(x > 0, x, alpha * f.expm1(x / alpha))


def argument(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: Number) -> TwoFloat:
    """Return b = -x/alpha in two parts where x < 0, else 0, clamped to `limit`."""
    a = f.clamp(f.where(x < 0, -x, 0), limit * alpha.hi)
    return f.times(a, f.reciprocal(alpha))


def value(f: KernelArithmetic, x: Node, alpha: TwoFloat) -> Node:
    if alpha.is_one:
        return elu.value(f, x, alpha)
    b = argument(f, x, alpha, SATURATED)
    drop = f.saturation(*b)
    factor = f.same_sign(alpha)
    fall = f.product(drop, factor.hi)
    if factor.lo is not None:
        fall = f.fma(drop, factor.lo, fall)
    linear = Fraction(1, 1 << (f.fmt.precision + 1))
    return f.where(b.hi > linear, -fall, x)


def decay(f: KernelArithmetic, x: Node, alpha: TwoFloat) -> Tail:
    """Return exp(min(x, 0)/alpha) as a tail; at NaN it is 1."""
    return f.expand(*argument(f, x, alpha, f.deepest))


def slope(f: KernelArithmetic, x: Node, alpha: TwoFloat) -> Node:
    if alpha.is_one:
        return elu.slope(f, x, alpha)
    return f.keep_nan(x, f.unscale(decay(f, x, alpha)))


def curvature(f: KernelArithmetic, x: Node, alpha: TwoFloat) -> Node:
    bend = f.unscale(f.amplify(decay(f, x, alpha), f.reciprocal(alpha)))
    return f.where(x > 0, 0, f.keep_nan(x, bend))


entry = Entry(
    name="celu",
    formula="x where x > 0, else alpha*(exp(x/alpha) - 1)",
    paper="Barron 2017, Continuously differentiable exponential linear units (arXiv:1704.07483)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(1.0, 1.1), "float64": ErrorBound(1.3, 1.1)},
    intervals=((-1.0, 0.0), (-18.0, -1.0), (-110.0, -80.0), (-750.0, -700.0)),
    parameters=(
        Parameter(
            "alpha",
            1.0,
            above=1e-11,
            below=1e11,
            doc="Minus the limit at -inf, and how far the bend reaches.",
            tested=(0.3, 1e6),
        ),
    ),
)
