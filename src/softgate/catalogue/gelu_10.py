"""gelu_10(x) = gelu(x) between -10 and 10, which is min(gelu(x), 10).

gelu(x) reaches 10 between x = 10 and the next number of every format, so x > 10 decides.
"""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from . import gelu
from .entry import Entry

LIMIT = 10


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.clip(x * f.Phi(x), -LIMIT, LIMIT)


def operators(f: ExactArithmetic, x: Node) -> Node:
    """Return the definition with x > 10 for the comparison, since x·Phi(x) is NaN at -inf."""
    return f.where(x > LIMIT, LIMIT, x * f.Phi(x))


def value(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > LIMIT, LIMIT, gelu.value(f, x))


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > LIMIT, 0, gelu.slope(f, x))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > LIMIT, 0, gelu.curvature(f, x))


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # A select, not a product: 0 times an infinite grad would be NaN.
    return f.where(x > LIMIT, 0, f.fma(gelu.slope(f, x), grad, 0))


entry = Entry(
    name="gelu_10",
    formula="min(max(x*Phi(x), -10), 10)",
    paper="Wu, Judd, Zhang, Isaev & Micikevicius 2020, Integer quantization for deep learning "
    "inference: principles and empirical evaluation (arXiv:2004.09602)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    operators=operators,
    bounds=gelu.entry.bounds,
    intervals=((9.9, 10.1), *gelu.entry.intervals),
    aliases=("clipped_gelu",),
)
