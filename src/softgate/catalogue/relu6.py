"""relu6(x) = min(max(x, 0), 6). At 0 and at 6 the slope is 0, as in PyTorch."""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound

CAP = 6


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.where(x > 0, f.where(x < CAP, x, CAP), 0)


def value(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x < 0, 0, f.where(x > CAP, CAP, x))


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > 0, f.where(x < CAP, 1, 0), f.keep_nan(x, 0))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.keep_nan(x, 0)


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # A select, not a product: 0 times an infinite grad would be NaN.
    return f.where(x > 0, f.where(x < CAP, grad, 0), f.keep_nan(x, 0))


entry = Entry(
    name="relu6",
    formula="min(max(x, 0), 6)",
    paper="Krizhevsky 2010, Convolutional deep belief networks on CIFAR-10",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    bounds={"float32": ErrorBound(0.0, 0.0), "float64": ErrorBound(0.0, 0.0)},
    intervals=((-1.0, 1.0), (5.0, 7.0)),
    piecewise_linear=True,
    backward_from_output=True,
)
