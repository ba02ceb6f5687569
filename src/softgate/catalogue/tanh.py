"""tanh(x) = 1 - 2/(1 + exp(2·x))."""

from softgate.blocks import KernelArithmetic
from softgate.blocks.exponential import TWICE, Logistic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.tanh(x)


def value(f: KernelArithmetic, x: Node) -> Node:
    return f.copysign(f.tanh(f.abs(x)), x)


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.unscale(f.gate_slope(_logistic(f, x)), 4)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # -2·tanh·(1 - tanh²)
    g = _logistic(f, x)
    tanh = f.half_tanh(g, f.abs(x))
    return f.copysign(f.scaled_sum(f.gate_slope(g)) * tanh * (8 * f.unit), -x)


def _logistic(f: KernelArithmetic, x: Node) -> Logistic:
    e = f.reduce(f.bound(f.abs(x), 0, f.exponential_limit / 2), rate=TWICE)
    return f.logistic(e, fine=False)


entry = Entry(
    name="tanh",
    formula="tanh(x)",
    paper="LeCun, Bottou, Orr & Müller 1998, Efficient BackProp",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.5, 2.1), "float64": ErrorBound(2.5, 2.5)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (43.0, 53.0), (353.0, 374.0)),
)
