"""softshrink(x) = x moved towards 0 by the threshold, and 0 within it.

At ±threshold the slope is 0, as in PyTorch. It is odd bit for bit: within the threshold it is a
zero with the sign of x. Its derivatives are hardshrink's.
"""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.graph import Node

from . import hardshrink
from .entry import ErrorBound, Parameter
from .pieces import pieces


def value(f: KernelArithmetic, x: Node, threshold: TwoFloat) -> Node:
    beyond = f.abs(x) - threshold.hi
    if threshold.lo is not None:
        beyond -= threshold.lo
    return f.copysign(f.where(beyond < 0, 0, beyond), x)


entry = pieces(
    name="softshrink",
    formula="x - threshold where x > threshold, x + threshold where x < -threshold, else 0",
    paper="Donoho & Johnstone 1994, Ideal spatial adaptation by wavelet shrinkage",
    definition=lambda f, x, threshold: f.where(
        x > threshold, x - threshold, f.where(x < -threshold, x + threshold, 0)
    ),
    value=value,
    slopes=hardshrink.slopes,
    bounds={"float32": ErrorBound(0.5, 0.0), "float64": ErrorBound(0.5, 0.0)},
    intervals=((-1.0, -0.25), (-0.25, 0.25), (0.25, 1.0)),
    aliases=("soft_shrink", "soft_threshold"),
    parameters=(
        Parameter(
            "threshold",
            0.5,
            above=0.0,
            below=1e38,
            doc="What magnitudes lose, PyTorch's `lambd`.",
            tested=(0.0, 0.3),
            closed=True,
        ),
    ),
)
