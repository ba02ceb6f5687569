"""sigmoid(x) = 1/(1 + exp(-x))."""

from softgate.blocks import KernelArithmetic
from softgate.blocks.exponential import Logistic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound

RIGHT = 40
"""From this x on, sigmoid(x) rounds to 1 in every format."""


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.sigmoid(x)


def value(f: KernelArithmetic, x: Node) -> Node:
    # The form holds for both signs of x: no select, only clamps.
    return f.unscale(f.rising(f.bound(x, -f.exponential_limit, RIGHT)))


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.unscale(f.gate_slope(_logistic(f, x)))


def both(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    """Return value and slope from one exponential."""
    g = _logistic(f, x)
    return f.side(x, f.gate(g)), f.unscale(f.gate_slope(g))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # sigma'·(1 - 2·sigma) = -sigma'·tanh(x/2)
    g = _logistic(f, x)
    tanh = f.half_tanh(g, f.abs(x) * 0.5)
    return f.copysign(f.scaled_sum(f.gate_slope(g)) * tanh * f.unit, -x)


def _logistic(f: KernelArithmetic, x: Node) -> Logistic:
    return f.logistic(f.reduce(f.bound(f.abs(x), 0, f.exponential_limit)))


entry = Entry(
    name="sigmoid",
    formula="1/(1 + exp(-x))",
    paper="Rumelhart, Hinton & Williams 1986, Learning representations by back-propagating errors",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(1.6, 2.1), "float64": ErrorBound(1.9, 2.3)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-104.0, -86.0), (-746.0, -707.0)),
    aliases=("logistic", "expit"),
)
