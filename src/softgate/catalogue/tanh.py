"""tanh(x) = 1 - 2/(1 + exp(2·x))."""

from ..blocks import Kernel
from ..blocks.exponential import TWICE
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry

RIGHT = 20
"""Beyond it tanh(x) is 1 in every format."""


def definition(f: Definition, x: Node) -> Node:
    return f.tanh(x)


def value(f: Kernel, x: Node) -> Node:
    a = f.clamp(f.abs(x), RIGHT)
    size = f.half_tanh(f.logistic(f.reduce(a, rate=TWICE)))
    return f.keep_nan(x, f.copysign(size, x))


def slope(f: Kernel, x: Node) -> Node:
    a = f.clamp(f.abs(x), f.exponential_limit / 2)
    tail = f.gate_slope(f.logistic(f.reduce(a, rate=TWICE)))
    return f.keep_nan(x, f.scaled_sum(tail) * (4 * f.unit))


def curvature(f: Kernel, x: Node) -> Node:
    # -2·tanh·(1 - tanh²)
    a = f.clamp(f.abs(x), f.exponential_limit / 2)
    g = f.logistic(f.reduce(a, rate=TWICE))
    size = f.scaled_sum(f.gate_slope(g)) * f.half_tanh(g) * (8 * f.unit)
    return f.keep_nan(x, f.copysign(size, -x))


entry = Entry(
    name="tanh",
    formula="tanh(x)",
    paper="LeCun, Bottou, Orr & Müller 1998, Efficient BackProp",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": Bound(2.5, 2.0), "float64": Bound(2.5, 2.0)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (43.0, 53.0), (353.0, 374.0)),
)
