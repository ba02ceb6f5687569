"""clip(x) = min(max(x, low), high). At low and at high the slope is 1, as of torch.clamp.

hard_tanh computes the same values; its slope at low and at high is 0.
"""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node, Number

from . import hard_tanh
from .entry import Entry, ErrorBound, Parameter


def definition(f: ExactArithmetic, x: Node, low: Node, high: Node) -> Node:
    return f.where(x < low, low, f.where(x > high, high, x))


def inside(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat, yes: Node | Number) -> Node:
    """Return `yes` from low to high, both included, else 0; NaN propagates from `x`."""
    above = f.where(f.reaches(x, low), yes, f.keep_nan(x, 0))
    return f.where(f.exceeds(x, high), 0, above)


def slope(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat) -> Node:
    return inside(f, x, low, high, 1)


def curvature(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat) -> Node:
    return f.keep_nan(x, 0)


def backward(f: KernelArithmetic, x: Node, grad: Node, low: TwoFloat, high: TwoFloat) -> Node:
    # A select, not a product: 0 times an infinite grad would be NaN.
    return inside(f, x, low, high, grad)


entry = Entry(
    name="clip",
    formula="min(max(x, low), high)",
    paper="Cai, He, Sun & Vasconcelos 2017, Deep learning with low precision by half-wave Gaussian "
    "quantization (arXiv:1702.00953)",
    definition=definition,
    value=hard_tanh.value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    bounds={"float32": ErrorBound(0.0, 0.0), "float64": ErrorBound(0.0, 0.0)},
    intervals=((-2.0, 0.0), (0.0, 1.0), (1.0, 7.0)),
    aliases=("clamp",),
    parameters=(
        Parameter("low", 0.0, -1e38, 1e38, "The smallest value.", tested=(-0.7,)),
        Parameter("high", 1.0, -1e38, 1e38, "The largest value.", tested=(6.0,), exceeds="low"),
    ),
    piecewise_linear=True,
    special_case_of="hard_tanh",
)
