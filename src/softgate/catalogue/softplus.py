"""softplus(x) = log(1 + exp(beta·x))/beta = max(x, 0) + log(1 + exp(-beta·|x|))/beta."""

from ..blocks import Kernel, TwoFloat
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry, Parameter


def definition(f: Definition, x: Node, beta: Node) -> Node:
    return f.softplus(beta * x) / beta  # type: ignore[operator]


RIGHT = 40
"""Beyond it sigmoid(x) is 1 in every format."""


def quotient(f: Kernel, limit: int, beta: TwoFloat) -> Node:
    """Return limit/beta, where to clamp x so that beta·x stays within the limit."""
    return f.lift(limit) if beta.is_one else limit / beta.hi


def size(f: Kernel, x: Node, beta: TwoFloat) -> TwoFloat:
    """Return beta·|x| in two parts, as far as exp(-beta·|x|) is not 0."""
    return f.times(f.clamp(f.abs(x), quotient(f, f.deepest, beta)), beta)


def value(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    tail = f.log1p(f.expand(*size(f, x, beta)))
    return f.raised(x, f.amplify(tail, f.reciprocal(beta)))


def slope(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    below = f.minimum(x, quotient(f, RIGHT, beta))
    bounded = f.maximum(below, -quotient(f, f.deepest, beta))
    gate = f.gate(f.logistic(f.reduce(*f.times(-bounded, beta))))
    return f.keep_nan(x, f.unscale(gate))


def curvature(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    gate = f.gate_slope(f.logistic(f.reduce(*size(f, x, beta))))
    return f.keep_nan(x, f.unscale(f.scaled(f.scaled_sum(gate) * beta.hi)))


entry = Entry(
    name="softplus",
    formula="log(1 + exp(beta*x))/beta",
    paper="Dugas, Bengio, Belisle, Nadeau & Garcia 2001, Incorporating second-order functional "
    "knowledge for better option pricing",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": Bound(4.0, 4.0), "float64": Bound(4.0, 4.0)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-110.0, -80.0), (-750.0, -700.0)),
    parameters=(Parameter("beta", 1.0, above=1e-11, doc="how sharply it bends at 0"),),
    notes="Computed everywhere as defined. torch.nn.Softplus returns x itself where "
    "beta*x > 20 (its `threshold`), which changes values only below float32's last bit there "
    "but makes the slope exactly 1 and the curvature 0.",
)
