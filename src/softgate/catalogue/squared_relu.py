"""squared_relu(x) = max(x, 0)². The slope, 2·max(x, 0), has no jump."""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import NARROW, Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.where(x > 0, x * x, 0)


def value(f: KernelArithmetic, x: Node) -> Node:
    # At -0 and NaN the result is x.
    return f.where(x > 0, f.product(x, x), f.where(x < 0, 0, x))


def slope(f: KernelArithmetic, x: Node) -> Node:
    positive = f.where(x < 0, 0, x)
    return positive + positive


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > 0, 2, f.keep_nan(x, 0))


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # A select, not a product: 0 times an infinite grad would be NaN.
    return f.where(x > 0, f.product(x + x, grad), f.keep_nan(x, 0))


entry = Entry(
    name="squared_relu",
    formula="max(x, 0)**2",
    paper="So, Mańke, Liu, Dai, Shazeer & Le 2021, Primer: searching for efficient transformers "
    "for language modeling (arXiv:2109.08668)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    cheap={"value": NARROW, "slope": NARROW, "backward": NARROW},
    bounds={"float32": ErrorBound(0.5, 0.0), "float64": ErrorBound(0.5, 0.0)},
    intervals=((-1.0, 1.0), (1.0, 100.0)),
    aliases=("relu2", "relu_squared"),
    notes="Squares beyond the largest number of a format are infinite, as they round.",
)
