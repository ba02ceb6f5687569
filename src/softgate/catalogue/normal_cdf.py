"""Phi(x), the normal distribution function: the gate of gelu."""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.Phi(x)


def value(f: KernelArithmetic, x: Node) -> Node:
    a = f.clamp(f.abs(x), f.gaussian_limit)
    return f.step(x, f.normal_tail(a))


def slope(f: KernelArithmetic, x: Node) -> Node:
    # phi(x)
    a = f.clamp(f.abs(x), f.gaussian_limit)
    return f.keep_nan(x, f.product(f.scaled_sum(f.normal_density(a)), f.unit))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # -x·phi(x)
    a = f.clamp(f.abs(x), f.gaussian_limit)
    result = f.product(f.product(a, f.scaled_sum(f.normal_density(a))), f.unit)
    return f.keep_nan(x, f.copysign(result, -x))


entry = Entry(
    name="Phi",
    formula="Phi(x)",
    paper="Abramowitz & Stegun 1964, Handbook of mathematical functions, 26.2",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(3.0, 1.4), "float64": ErrorBound(4, 1.4)},
    intervals=((-1.0, 1.0), (-6.0, 6.0), (-14.7, -12.5), (-38.9, -37.0)),
    aliases=("ndtr", "normal_cdf"),
)
