"""hardshrink(x) = x beyond the threshold, 0 within it. At ±threshold both value and slope are 0.

It is odd bit for bit: within the threshold it is a zero with the sign of x.
"""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.graph import Node

from .entry import Parameter
from .pieces import Slopes, pieces


def value(f: KernelArithmetic, x: Node, threshold: TwoFloat) -> Node:
    return f.where(f.within(f.abs(x), threshold), f.copysign(f.lift(0), x), x)


def slopes(f: KernelArithmetic, x: Node, threshold: TwoFloat) -> Slopes:
    return Slopes((f.within(f.abs(x), threshold), 0), otherwise=1)


entry = pieces(
    name="hardshrink",
    formula="x where abs(x) > threshold, else 0",
    paper="Donoho & Johnstone 1994, Ideal spatial adaptation by wavelet shrinkage",
    definition=lambda f, x, threshold: f.where(f.abs(x) > threshold, x, 0),
    value=value,
    slopes=slopes,
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
)
