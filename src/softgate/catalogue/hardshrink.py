"""hardshrink(x) = x beyond the threshold, 0 within it. At ±threshold both value and slope are 0.

It is odd bit for bit: within the threshold it is a zero with the sign of x.
"""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound, Parameter


def definition(f: ExactArithmetic, x: Node, threshold: Node) -> Node:
    return f.where(f.abs(x) > threshold, x, 0)


def value(f: KernelArithmetic, x: Node, threshold: TwoFloat) -> Node:
    return f.where(f.within(f.abs(x), threshold), f.copysign(f.lift(0), x), x)


def slope(f: KernelArithmetic, x: Node, threshold: TwoFloat) -> Node:
    return f.where(f.within(f.abs(x), threshold), 0, f.keep_nan(x, 1))


def curvature(f: KernelArithmetic, x: Node, threshold: TwoFloat) -> Node:
    return f.keep_nan(x, 0)


def backward(f: KernelArithmetic, x: Node, grad: Node, threshold: TwoFloat) -> Node:
    # A select, not a product: 0 times an infinite grad would be NaN.
    return f.where(f.within(f.abs(x), threshold), 0, f.keep_nan(x, grad))


entry = Entry(
    name="hardshrink",
    formula="x where abs(x) > threshold, else 0",
    paper="Donoho & Johnstone 1994, Ideal spatial adaptation by wavelet shrinkage",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    bounds={"float32": ErrorBound(0.0, 0.0), "float64": ErrorBound(0.0, 0.0)},
    intervals=((-1.0, -0.25), (-0.25, 0.25), (0.25, 1.0)),
    aliases=("hard_shrink", "hard_threshold"),
    parameters=(
        Parameter(
            "threshold",
            0.5,
            above=0.0,
            below=1e38,
            doc="Up to where magnitudes become 0, PyTorch's `lambd`.",
            tested=(0.0, 0.3),
            closed=True,
        ),
    ),
    piecewise_linear=True,
)
