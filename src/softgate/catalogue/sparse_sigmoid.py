"""sparse_sigmoid(x) = (x + 1)/2 between 0 and 1: the slope of sparse_plus. At ±1 its slope is 0."""

from fractions import Fraction

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node, Number

from .entry import Entry, ErrorBound

HALF = Fraction(1, 2)


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.where(x <= -1, 0, f.where(x >= 1, 1, (x + 1) / 2))


def value(f: KernelArithmetic, x: Node) -> Node:
    return (f.bound(x, -1, 1) + 1) * HALF


def inside(f: KernelArithmetic, x: Node, yes: Node | Number) -> Node:
    """Return `yes` strictly between the corners, else 0; NaN propagates from `x`."""
    return f.where(f.abs(x) >= 1, 0, f.keep_nan(x, yes))


def slope(f: KernelArithmetic, x: Node) -> Node:
    return inside(f, x, HALF)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.keep_nan(x, 0)


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # A select, not a product: 0 times an infinite grad would be NaN.
    return inside(f, x, f.product(grad, HALF))


entry = Entry(
    name="sparse_sigmoid",
    special_case_of="hard_sigmoid",
    formula="min(max((x + 1)/2, 0), 1)",
    paper="Martins & Astudillo 2016, From softmax to sparsemax (arXiv:1602.02068)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    bounds={"float32": ErrorBound(0.5, 0.0), "float64": ErrorBound(0.5, 0.0)},
    intervals=((-1.1, -0.9), (-1.0, 1.0), (0.9, 1.1)),
    piecewise_linear=True,
)
