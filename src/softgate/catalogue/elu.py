"""elu(x) = x where x > 0, else alpha·(exp(x) - 1). At 0 the slope is alpha."""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound, Parameter


def definition(f: ExactArithmetic, x: Node, alpha: Node) -> Node:
    return f.where(x > 0, x, alpha * f.expm1(x))


def value(f: KernelArithmetic, x: Node, alpha: TwoFloat) -> Node:
    # max(x, 0) - alpha·(1 - exp(min(x, 0))): one term is always 0, so no select is needed.
    positive = f.where(x < 0, 0, x)
    drop = f.saturation(f.where(x < 0, -x, 0))
    if alpha.is_one:
        return positive - drop
    factor = f.same_sign(alpha)
    if factor.lo is not None:
        positive = f.fma(-drop, factor.lo, positive)
    return f.fma(-drop, factor.hi, positive)


def slope(f: KernelArithmetic, x: Node, alpha: TwoFloat) -> Node:
    decay = f.product(f.scaled_sum(f.amplify(f.expand_upwards(x), alpha)), f.unit)
    return decay if alpha.is_one else f.where(x > 0, 1, decay)


def curvature(f: KernelArithmetic, x: Node, alpha: TwoFloat) -> Node:
    return f.where(x > 0, 0, f.product(f.scaled_sum(f.amplify(f.expand_upwards(x), alpha)), f.unit))


entry = Entry(
    name="elu",
    formula="x where x > 0, else alpha*(exp(x) - 1)",
    paper="Clevert, Unterthiner & Hochreiter 2016, Fast and accurate deep network learning by "
    "exponential linear units (ELUs)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(1.0, 1.1), "float64": ErrorBound(1.3, 1.1)},
    intervals=((-1.0, 0.0), (-18.0, -1.0), (-110.0, -80.0), (-750.0, -700.0)),
    parameters=(
        Parameter("alpha", 1.0, -1e11, 1e11, "Minus the limit at -inf.", tested=(0.5, 1.67)),
    ),
)
