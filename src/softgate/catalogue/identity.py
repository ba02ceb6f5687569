"""identity(x) = x, for layers without an activation."""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x


def value(f: KernelArithmetic, x: Node) -> Node:
    return x


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.keep_nan(x, 1)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.keep_nan(x, 0)


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # A copy of grad: x is not read and may be NaN.
    return grad


entry = Entry(
    name="identity",
    formula="x",
    paper="Rosenblatt 1958, The perceptron: a probabilistic model for information storage and "
    "organization in the brain (its units' sums, before the threshold)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    bounds={"float32": ErrorBound(0.0, 0.0), "float64": ErrorBound(0.0, 0.0)},
    intervals=((-1.0, 1.0),),
    aliases=("linear",),
    piecewise_linear=True,
)
