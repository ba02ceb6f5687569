"""hard_tanh(x) = min(max(x, low), high). At low and at high the slope is 0, as in PyTorch."""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node, Number

from .entry import Entry, ErrorBound, Parameter


def definition(f: ExactArithmetic, x: Node, low: Node, high: Node) -> Node:
    return f.where(x <= low, low, f.where(x >= high, high, x))


def value(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat) -> Node:
    # Where x equals `hi` of a bound, x is the rounded bound.
    return f.where(x < low.hi, low.hi, f.where(x > high.hi, high.hi, x))


def inside(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat, yes: Node | Number) -> Node:
    """Return `yes` strictly between the bounds, else 0; NaN propagates from `x`."""
    above = f.where(f.exceeds(x, low), yes, f.keep_nan(x, 0))
    return f.where(f.reaches(x, high), 0, above)


def slope(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat) -> Node:
    return inside(f, x, low, high, 1)


def curvature(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat) -> Node:
    return f.keep_nan(x, 0)


def backward(f: KernelArithmetic, x: Node, grad: Node, low: TwoFloat, high: TwoFloat) -> Node:
    # A select, not a product: 0 times an infinite grad would be NaN.
    return inside(f, x, low, high, grad)


entry = Entry(
    name="hard_tanh",
    formula="min(max(x, low), high)",
    paper="Collobert 2004, Large scale machine learning (thesis, Université Paris 6)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    exact=("low", "high"),
    backward=backward,
    bounds={"float32": ErrorBound(0.0, 0.0), "float64": ErrorBound(0.0, 0.0)},
    intervals=((-2.0, 0.0), (0.0, 1.0), (1.0, 7.0)),
    aliases=("hardtanh",),
    parameters=(
        Parameter("low", -1.0, -1e38, 1e38, "The smallest value.", tested=(0.0,)),
        Parameter("high", 1.0, -1e38, 1e38, "The largest value.", tested=(0.7,), exceeds="low"),
    ),
    piecewise_linear=True,
    backward_from_output=True,
)
