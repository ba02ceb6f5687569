"""sparse_sigmoid(x) = (x + 1)/2 between 0 and 1: the slope of sparse_plus. At ±1 its slope is 0."""

from fractions import Fraction

from softgate.blocks import KernelArithmetic
from softgate.formula.graph import Node

from .entry import ErrorBound
from .pieces import Slopes, pieces

HALF = Fraction(1, 2)


def value(f: KernelArithmetic, x: Node) -> Node:
    return (f.bound(x, -1, 1) + 1) * HALF


entry = pieces(
    name="sparse_sigmoid",
    special_case_of="hard_sigmoid",
    formula="min(max((x + 1)/2, 0), 1)",
    paper="Martins & Astudillo 2016, From softmax to sparsemax (arXiv:1602.02068)",
    definition=lambda f, x: f.where(x <= -1, 0, f.where(x >= 1, 1, (x + 1) / 2)),
    value=value,
    slopes=lambda f, x: Slopes((f.abs(x) >= 1, 0), otherwise=HALF),
    bounds={"float32": ErrorBound(0.5, 0.0), "float64": ErrorBound(0.5, 0.0)},
    intervals=((-1.1, -0.9), (-1.0, 1.0), (0.9, 1.1)),
)
