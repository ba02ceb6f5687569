"""silu(x) = x·sigmoid(beta·x), also called swish."""

from ..blocks import Kernel, TwoFloat
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry, Parameter


def definition(f: Definition, x: Node, beta: Node) -> Node:
    return x * f.sigmoid(beta * x)


def value(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    a = f.clamp(f.abs(x), f.exponential_limit)
    return f.ramp(x, f.gate(f.logistic(f.reduce(a)), a))


def slope(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    a = f.bound(f.abs(x), 0, f.exponential_limit)
    return f.side(x, f.product_slope(f.logistic(f.reduce(a)), a))


def curvature(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    a = f.clamp(f.abs(x), f.exponential_limit)
    g = f.logistic(f.reduce(a))
    return f.keep_nan(x, f.scaled_sum(f.gate_slope(g)) * f.fma(-a, f.half_tanh(g), 2) * f.unit)


entry = Entry(
    name="silu",
    formula="x*sigmoid(beta*x)",
    paper="Elfwing, Uchibe & Doya 2018, Sigmoid-weighted linear units (arXiv:1702.03118)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": Bound(2.0, 2.0), "float64": Bound(2.0, 2.0)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-110.0, -85.0), (-752.0, -700.0)),
    aliases=("swish",),
    parameters=(Parameter("beta", 1.0, doc="Steepness of the gate; 0 gives x/2."),),
)
