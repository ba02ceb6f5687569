"""softplus(x) = log(1 + exp(beta·x))/beta = max(x, 0) + log(1 + exp(-beta·|x|))/beta."""

from ..blocks import Kernel, Tail, TwoFloat
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry, Parameter


def definition(f: Definition, x: Node, beta: Node) -> Node:
    return f.softplus(beta * x) / beta  # type: ignore[operator]


def exponent(f: Kernel, x: Node, beta: TwoFloat) -> TwoFloat:
    """Return beta·|x|, as far as exp(-beta·|x|) is not 0, in two parts."""
    limit = f.lift(f.deepest)
    return f.times(f.clamp(f.abs(x), limit if beta.is_one else limit / beta.hi), beta)


def value(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    tail = f.log1p(f.exponential(*exponent(f, x, beta)))
    return f.raised(x, f.amplify(tail, f.reciprocal(beta)))


def slope(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    e = f.exponential(*exponent(f, x, beta))
    return f.step(x, Tail((1 + e.lo) / (1 + f.plain(e)), None, e.power))


def curvature(f: Kernel, x: Node, beta: TwoFloat) -> Node:
    e = f.exponential(*exponent(f, x, beta))
    whole = 1 + f.plain(e)
    share = ((1 + e.lo) / whole) / whole * beta.hi
    return f.where(x.same(x), share * e.power * f.unit, x)


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
