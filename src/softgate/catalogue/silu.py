"""silu(x) = x·sigmoid(beta·x), also called swish."""

from fractions import Fraction

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node, Number

from .entry import Entry, ErrorBound, Parameter


def definition(f: ExactArithmetic, x: Node, beta: Node) -> Node:
    return x * f.sigmoid(beta * x)


def value(f: KernelArithmetic, x: Node, beta: TwoFloat) -> Node:
    if beta.is_one:
        a = f.clamp(f.abs(x), f.exponential_limit)
        return f.ramp(x, f.logistic_gate(a))
    # x·sigma(beta·x) = ±y·sigma(|beta|·y), y = ±x; the result has the sign of x.
    a, b = argument(f, x, beta, f.wide_limit)
    result = f.wide_ramp(f.where(beta.hi < 0, -x, x), f.reduce(*b), a)
    return f.where(beta.hi.same(0), x * Fraction(1, 2), f.copysign(result, x))


def slope(f: KernelArithmetic, x: Node, beta: TwoFloat) -> Node:
    if beta.is_one:
        a = f.bound(f.abs(x), 0, f.exponential_limit)
        return f.side(x, f.product_slope(f.logistic(f.reduce(a), fine=False), a))
    _, b = argument(f, x, beta, f.exponential_limit)
    tail = f.product_slope(f.logistic(f.reduce(*b)), *b)
    return f.step(f.where(beta.hi < 0, -x, x), tail)


def both(f: KernelArithmetic, x: Node, beta: TwoFloat) -> tuple[Node, Node]:
    """Return value and slope, from one logistic function where beta = 1."""
    if not beta.is_one:
        _, b = argument(f, x, beta, f.exponential_limit)
        assert b.lo is not None
        # The slope has 3.6 units of relative error with `product_slope`, too many for a product.
        tail = f.fine_product_slope(f.logistic(f.reduce(*b)), b.hi, b.lo)
        return value(f, x, beta), f.step(f.where(beta.hi < 0, -x, x), tail)
    a = f.bound(f.abs(x), 0, f.exponential_limit)
    g = f.logistic(f.reduce(a), fine=False)
    return f.ramp(x, f.gate(g, a)), f.side(x, f.product_slope(g, a))


def curvature(f: KernelArithmetic, x: Node, beta: TwoFloat) -> Node:
    # beta·sigma'(b)·(2 - b·tanh(b/2)), b = |beta·x|
    a, b = argument(f, x, beta, f.exponential_limit)
    g = f.logistic(f.reduce(*b))
    factor = f.fma(-b.hi, f.half_tanh(g), 2) * beta.hi
    result = f.scaled_sum(f.gate_slope(g)) * factor * f.unit
    # A large beta would make the remainder at the limit visible.
    return f.keep_nan(x, f.where(f.abs(x) > a, 0, result))


def argument(f: KernelArithmetic, x: Node, beta: TwoFloat, limit: Number) -> tuple[Node, TwoFloat]:
    """Return a = |x|, clamped, and |beta|·a in two parts; NaN is not propagated."""
    a = f.abs(x)
    if beta.is_one:
        a = f.clamp(a, limit)
        return a, TwoFloat(a)
    rest = None if beta.lo is None else f.where(beta.hi < 0, -beta.lo, beta.lo)
    steep = TwoFloat(f.abs(beta.hi), rest)
    largest = (2 - Fraction(2, 1 << f.fmt.precision)) * Fraction(2) ** f.fmt.max_exponent
    inside = f.minimum(a, f.minimum(limit / steep.hi, largest))
    b = f.times(inside, steep)
    assert b.lo is not None
    # However small beta is, the tail is 0 at infinity; with beta = 0 the gate is 1/2.
    far = a > largest
    end = f.where(steep.hi.same(0), 0, limit)
    return inside, TwoFloat(f.where(far, end, b.hi), f.where(far, 0, b.lo))


entry = Entry(
    name="silu",
    formula="x*sigmoid(beta*x)",
    paper="Elfwing, Uchibe & Doya 2018, Sigmoid-weighted linear units (arXiv:1702.03118)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.2, 2.8), "float64": ErrorBound(2.7, 3.6)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-110.0, -85.0), (-752.0, -700.0)),
    aliases=("swish",),
    notes="With beta = 1 float32 errs by at most 2.0 and 2.8 ulp; the bounds are for other betas.",
    parameters=(
        Parameter(
            "beta",
            1.0,
            above=-1e38,
            below=1e38,
            doc="Steepness of the gate; 0 gives x/2.",
            tested=(0.3, 1.702, -2.0),
        ),
    ),
)
