"""relu(x) = max(x, 0). At 0 the slope is 0, as in every framework."""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.where(x > 0, x, 0)


def value(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x < 0, 0, x)


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > 0, 1, f.where(x.same(x), 0, x))


def both(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    """Return value and slope."""
    return value(f, x), slope(f, x)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x.same(x), 0, x)


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # A select, not a product: half the time in float16, and 0 times an infinite grad would be NaN.
    return f.where(x <= 0, 0, f.where(x > 0, grad, x))


entry = Entry(
    name="relu",
    formula="max(x, 0)",
    paper="Nair & Hinton 2010, Rectified linear units improve restricted Boltzmann machines",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    bounds={"float32": ErrorBound(0.0, 0.0), "float64": ErrorBound(0.0, 0.0)},
    intervals=((-1.0, 1.0),),
    piecewise_linear=True,
    backward_from_output=True,
)
