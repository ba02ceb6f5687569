"""gelu_sigmoid(x) = x·sigmoid(1.702·x): the quick approximation of GELU."""

from softgate.blocks import KernelArithmetic
from softgate.blocks.exponential import QUICK
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x * f.sigmoid(1.702 * x)


def value(f: KernelArithmetic, x: Node) -> Node:
    a = f.clamp(f.abs(x), f.exponential_limit / QUICK.k)
    return f.ramp(x, f.gate(f.logistic(f.reduce(a, rate=QUICK)), a))


def _size(f: KernelArithmetic, x: Node) -> Node:
    return f.bound(f.abs(x), 0, f.exponential_limit / QUICK.k)


def slope(f: KernelArithmetic, x: Node) -> Node:
    a = _size(f, x)
    g = f.logistic(f.reduce(a, rate=QUICK), fine=False)
    return f.side(x, f.product_slope(g, *f.times(a, f.number(QUICK.k))))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    a = _size(f, x)
    g = f.logistic(f.reduce(a, rate=QUICK))
    factor = f.fma(a * -QUICK.k, f.half_tanh(g), 2) * QUICK.k
    return f.keep_nan(x, f.scaled_sum(f.gate_slope(g)) * factor * f.unit)


entry = Entry(
    name="gelu_sigmoid",
    formula="x*sigmoid(1.702*x)",
    paper="Hendrycks & Gimpel 2016, Gaussian error linear units (arXiv:1606.08415)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.0, 3.3), "float64": ErrorBound(2.6, 4.4)},
    intervals=((-1.0, 1.0), (-12.0, 12.0), (-64.0, -50.0), (-442.0, -410.0)),
    aliases=("quick_gelu",),
)
