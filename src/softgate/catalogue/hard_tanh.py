"""hard_tanh(x) = min(max(x, low), high). At low and at high the slope is 0, as in PyTorch."""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.graph import Node

from .entry import Parameter
from .pieces import Slopes, pieces


def value(f: KernelArithmetic, x: Node, low: TwoFloat, high: TwoFloat) -> Node:
    # Where x equals `hi` of a bound, x is the rounded bound.
    return f.where(x < low.hi, low.hi, f.where(x > high.hi, high.hi, x))


entry = pieces(
    name="hard_tanh",
    formula="min(max(x, low), high)",
    paper="Collobert 2004, Large scale machine learning (thesis, Université Paris 6)",
    definition=lambda f, x, low, high: f.where(x <= low, low, f.where(x >= high, high, x)),
    value=value,
    slopes=lambda f, x, low, high: Slopes(
        (f.reaches(x, high), 0), (f.exceeds(x, low), 1), otherwise=0
    ),
    exact=("low", "high"),
    intervals=((-2.0, 0.0), (0.0, 1.0), (1.0, 7.0)),
    aliases=("hardtanh",),
    parameters=(
        Parameter("low", -1.0, -1e38, 1e38, "The smallest value.", tested=(0.0,)),
        Parameter("high", 1.0, -1e38, 1e38, "The largest value.", tested=(0.7,), exceeds="low"),
    ),
    backward_from_output=True,
)
