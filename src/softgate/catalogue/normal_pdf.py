"""phi(x) = exp(-x²/2)/sqrt(2·pi), the normal density."""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.phi(x)


def value(f: KernelArithmetic, x: Node) -> Node:
    a = f.clamp(f.abs(x), f.gaussian_limit)
    return f.keep_nan(x, f.product(f.scaled_sum(f.normal_density(a)), f.unit))


def slope(f: KernelArithmetic, x: Node) -> Node:
    # -x·phi(x)
    a = f.clamp(f.abs(x), f.gaussian_limit)
    result = f.product(f.product(a, f.scaled_sum(f.normal_density(a))), f.unit)
    return f.keep_nan(x, f.copysign(result, -x))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # (x² - 1)·phi(x)
    a = f.clamp(f.abs(x), f.gaussian_limit)
    return f.keep_nan(x, f.fma(a, a, -1) * f.scaled_sum(f.normal_density(a)) * f.unit)


entry = Entry(
    name="phi",
    formula="exp(-x**2/2)/sqrt(2*pi)",
    paper="Abramowitz & Stegun 1964, Handbook of mathematical functions, 26.2",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(1.4, 2.1), "float64": ErrorBound(1.4, 2.5)},
    intervals=((-1.0, 1.0), (-6.0, 6.0), (-14.7, -12.5), (-38.9, -37.0)),
    aliases=("normal_pdf", "gaussian"),
)
