"""elu(x) = x where x > 0, else alpha·(exp(x) - 1). At 0 the slope is alpha."""

from ..blocks import Kernel, TwoFloat
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry, Parameter


def definition(f: Definition, x: Node, alpha: Node) -> Node:
    return f.where(x > 0, x, alpha * f.expm1(x))


def value(f: Kernel, x: Node, alpha: TwoFloat) -> Node:
    left = f.expm1(f.abs(x))
    if not alpha.is_one:
        high = left * alpha.hi
        left = high if alpha.lo is None else f.fma(left, alpha.lo, high)
    return f.where(x < 0, left, x)


def decay(f: Kernel, x: Node, alpha: TwoFloat) -> Node:
    """Return alpha·exp(-|x|)."""
    a = f.clamp(f.abs(x), f.deepest)
    return f.scaled_sum(f.amplify(f.exponential(a), alpha)) * f.unit


def slope(f: Kernel, x: Node, alpha: TwoFloat) -> Node:
    return f.where(x > 0, 1, f.where(x.same(x), decay(f, x, alpha), x))


def curvature(f: Kernel, x: Node, alpha: TwoFloat) -> Node:
    return f.where(x > 0, 0, f.where(x.same(x), decay(f, x, alpha), x))


entry = Entry(
    name="elu",
    formula="x where x > 0, else alpha*(exp(x) - 1)",
    paper="Clevert, Unterthiner & Hochreiter 2016, Fast and accurate deep network learning by "
    "exponential linear units (ELUs)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": Bound(4.0, 4.0), "float64": Bound(4.0, 4.0)},
    intervals=((-1.0, 0.0), (-18.0, -1.0), (-110.0, -80.0), (-750.0, -700.0)),
    parameters=(Parameter("alpha", 1.0, -1e11, 1e11, "minus the limit at -inf"),),
)
