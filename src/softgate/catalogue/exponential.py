"""exponential(x) = exp(x), which is its own slope and curvature."""

from softgate.blocks import KernelArithmetic
from softgate.blocks.math_functions import exp
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.exp(x)


def value(f: KernelArithmetic, x: Node) -> Node:
    return exp(f, x)


entry = Entry(
    name="exponential",
    formula="exp(x)",
    paper="Euler 1748, Introductio in analysin infinitorum",
    definition=definition,
    value=value,
    slope=value,
    curvature=value,
    bounds={"float32": ErrorBound(1.1, 1.1), "float64": ErrorBound(1.1, 1.1)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-110.0, -80.0), (80.0, 90.0), (-750.0, 710.0)),
    aliases=("exp",),
    notes="Results beyond the largest number of a format are infinite, as they round.",
)
