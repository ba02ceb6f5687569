"""gelu(x) = x·Phi(x), Phi the normal distribution function: the exact form."""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x * f.Phi(x)


def value(f: KernelArithmetic, x: Node) -> Node:
    # max(x, 0) - a·Phi(-a)
    a = f.clamp(f.abs(x), f.gaussian_limit)
    return f.ramp(x, f.normal_gate(a))


def slope(f: KernelArithmetic, x: Node) -> Node:
    # Phi(x) + x·phi(x)
    a = f.bound(f.abs(x), 0, f.gaussian_limit)
    return f.side(x, f.normal_gate_slope(a))


def fine_value(f: KernelArithmetic, x: Node) -> Node:
    """Return the value with a small relative error, for products."""
    a = f.clamp(f.abs(x), f.gaussian_limit)
    return f.ramp(x, f.normal_gate(a, fine=True))


def both(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    """Return value and slope from one exponential."""
    a = f.bound(f.abs(x), 0, f.gaussian_limit)
    gate, change = f.normal_gate_both(a)
    return f.ramp(x, gate), f.side(x, change)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # (2 - x²)·phi(x)
    a = f.clamp(f.abs(x), f.gaussian_limit)
    result = f.fma(-a, a, 2) * f.scaled_sum(f.normal_density(a)) * f.unit
    return f.keep_nan(x, result)


entry = Entry(
    name="gelu",
    formula="x*Phi(x)",
    paper="Hendrycks & Gimpel 2016, Gaussian error linear units (arXiv:1606.08415)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(3.3, 3.1), "float64": ErrorBound(4.1, 2.7)},
    intervals=((-1.0, 1.0), (-6.0, 6.0), (-14.7, -12.5), (-38.9, -37.0), (-0.7518, -0.7517)),
    aliases=("gelu_none", "gelu_erf"),
)
