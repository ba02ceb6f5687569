"""relu(x) = max(x, 0). At 0 the slope is 0, as in every framework."""

from softgate.blocks import KernelArithmetic
from softgate.formula.graph import Node

from .pieces import Slopes, pieces

entry = pieces(
    name="relu",
    formula="max(x, 0)",
    paper="Nair & Hinton 2010, Rectified linear units improve restricted Boltzmann machines",
    definition=lambda f, x: f.where(x > 0, x, 0),
    value=lambda f, x: f.where(x < 0, 0, x),
    slopes=lambda f, x: Slopes((x > 0, 1), otherwise=0),
    intervals=((-1.0, 1.0),),
    backward_from_output=True,
)


def both(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    """Return value and slope."""
    return entry.value(f, x), entry.slope(f, x)
