"""softplus(x) = log(1 + exp(beta·x))/beta = max(x, 0) + log(1 + exp(-beta·|x|))/beta."""

from softgate.blocks import KernelArithmetic, Tail, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound, Parameter

RIGHT = 40
"""From this x on, sigmoid(x) rounds to 1 in every format."""


def definition(f: ExactArithmetic, x: Node, beta: Node) -> Node:
    return f.softplus(beta * x) / beta


def over(limit: int, f: KernelArithmetic, beta: TwoFloat) -> Node:
    """Return limit/beta: with x clamped there, beta·x stays within the limit."""
    return f.lift(limit) if beta.is_one else limit / beta.hi


def decay(f: KernelArithmetic, x: Node, beta: TwoFloat) -> Tail:
    """Return exp(-beta·|x|) as a tail."""
    return f.expand(*f.times(f.minimum(f.abs(x), over(f.deepest, f, beta)), beta))


def value(f: KernelArithmetic, x: Node, beta: TwoFloat) -> Node:
    return f.raised(x, f.amplify(f.log1p(decay(f, x, beta)), f.reciprocal(beta)))


def slope(f: KernelArithmetic, x: Node, beta: TwoFloat) -> Node:
    right, left = over(RIGHT, f, beta), -over(f.deepest, f, beta)
    x = f.where(x > right, right, x)
    return f.gate_upwards(*f.times(f.where(x < left, left, x), beta))


def curvature(f: KernelArithmetic, x: Node, beta: TwoFloat) -> Node:
    e = decay(f, x, beta)
    assert e.lo is not None
    power = f.plain_power(e.power)
    total = f.fma(power, e.lo, 1 + power)
    size = beta.hi * ((1 + e.lo) / total) / total
    return f.keep_nan(x, size * e.power * f.unit)


entry = Entry(
    name="softplus",
    formula="log(1 + exp(beta*x))/beta",
    paper="Dugas, Bengio, Belisle, Nadeau & Garcia 2001, Incorporating second-order functional "
    "knowledge for better option pricing",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.1, 2.5), "float64": ErrorBound(2.2, 2.8)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-110.0, -80.0), (-750.0, -700.0)),
    parameters=(
        Parameter("beta", 1.0, 1e-11, 1e38, "How sharply it bends at 0.", tested=(0.3, 2.5)),
    ),
    notes="Computed as defined everywhere. torch.nn.Softplus returns x itself where beta*x is "
    "above its `threshold` of 20: the same in float32, but in float64 off by up to 2e-9/beta.",
)
