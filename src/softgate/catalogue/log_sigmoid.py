"""log_sigmoid(x) = log(1/(1 + exp(-x))) = -softplus(-x) = min(x, 0) - log(1 + exp(-|x|))."""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from . import softplus
from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return -f.softplus(-x)


def value(f: KernelArithmetic, x: Node) -> Node:
    return -softplus.value(f, -x, one(f))


def slope(f: KernelArithmetic, x: Node) -> Node:
    # sigmoid(-x)
    return softplus.slope(f, -x, one(f))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # -sigmoid'(x), which is even
    return -softplus.curvature(f, x, one(f))


def one(f: KernelArithmetic) -> TwoFloat:
    """Return softplus' beta."""
    return TwoFloat(f.lift(1))


entry = Entry(
    name="log_sigmoid",
    formula="-log(1 + exp(-x))",
    paper="Mikolov, Sutskever, Chen, Corrado & Dean 2013, Distributed representations of words "
    "and phrases and their compositionality (arXiv:1310.4546)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.1, 2.5), "float64": ErrorBound(2.3, 2.8)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (80.0, 110.0), (700.0, 750.0)),
    aliases=("logsigmoid", "log_expit"),
)
