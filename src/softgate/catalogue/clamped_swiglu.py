"""clamped_swiglu(a, b) = g·sigmoid(alpha·g)·(u + 1), g = min(a, limit), u = b clamped: gpt-oss'.

Both factors are functions of one operand, `gate` and `factor`; `gated` multiplies them.
The slope of a clamped operand is 1 at the limit, as that of `torch.clamp`, and 0 beyond it.
"""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from . import silu
from .entry import Entry, ErrorBound, Parameter
from .gated import gated
from .pieces import Slopes, pieces

PAPER = "OpenAI 2025, gpt-oss-120b & gpt-oss-20b model card (arXiv:2508.10925)"
PARAMETERS = (
    Parameter(
        "alpha", 1.702, above=0.0, below=1e38, doc="Steepness of the gate.", tested=(1.0, 0.3)
    ),
    Parameter(
        "limit",
        7.0,
        above=0.0,
        below=1e38,
        doc="Largest gate, and largest absolute value of the other operand.",
        tested=(1.0, 0.7),
    ),
)


def gate_definition(f: ExactArithmetic, x: Node, alpha: Node, limit: Node) -> Node:
    return f.where(x <= limit, x * f.sigmoid(alpha * x), limit * f.sigmoid(alpha * limit))


def gate_operators(f: ExactArithmetic, x: Node, alpha: Node, limit: Node) -> Node:
    # Frameworks' functions take arrays, which alpha·limit is not.
    g = f.where(x <= limit, x, limit)
    return g * f.sigmoid(alpha * g)


def capped(f: KernelArithmetic, x: Node, limit: TwoFloat) -> Node:
    """Return min(x, limit); NaN propagates from `x`."""
    return f.where(x > limit.hi, limit.hi, x)


def gate_value(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: TwoFloat) -> Node:
    return silu.value(f, capped(f, x, limit), alpha)


def below(f: KernelArithmetic, x: Node, limit: TwoFloat, result: Node) -> Node:
    """Return `result` up to the limit, else 0: a select, since 0 times infinity would be NaN."""
    return f.where(f.exceeds(x, limit), 0, result)


def gate_slope(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: TwoFloat) -> Node:
    return below(f, x, limit, silu.slope(f, capped(f, x, limit), alpha))


def gate_both(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: TwoFloat) -> tuple[Node, Node]:
    """Return value and slope; the slope with the smaller error that a product needs."""
    g = capped(f, x, limit)
    if alpha.is_one:
        value, slope = silu.both(f, g, alpha)
    else:
        _, b = silu.argument(f, g, alpha, f.exponential_limit)
        assert b.lo is not None
        tail = f.fine_product_slope(f.logistic(f.reduce(*b)), b.hi, b.lo)
        value, slope = silu.value(f, g, alpha), f.step(g, tail)
    return value, below(f, x, limit, slope)


def gate_backward(
    f: KernelArithmetic, x: Node, grad: Node, alpha: TwoFloat, limit: TwoFloat
) -> Node:
    # The slope of `gate_both`, so that a gated kernel computes it once.
    return below(f, x, limit, f.ieee_product(gate_both(f, x, alpha, limit)[1], grad))


def gate_curvature(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: TwoFloat) -> Node:
    return below(f, x, limit, silu.curvature(f, capped(f, x, limit), alpha))


def factor_definition(f: ExactArithmetic, x: Node, alpha: Node, limit: Node) -> Node:
    return f.where(x <= limit, f.where(x >= -limit, x, -limit), limit) + 1


def factor_parts(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: TwoFloat) -> TwoFloat:
    """Return u + 1 in two parts, exact but for the second part of the limit."""
    u = f.where(f.abs(x) > limit.hi, f.copysign(limit.hi, x), x)
    hi = u + 1
    one = hi - u
    lo = (u - (hi - one)) + (1 - one)
    if limit.lo is not None:
        lo = lo + f.where(f.exceeds(f.abs(x), limit), f.where(x < 0, -limit.lo, limit.lo), 0)
    return TwoFloat(hi, lo)


def factor_value(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: TwoFloat) -> Node:
    hi, lo = factor_parts(f, x, alpha, limit)
    # With a limit in two parts, 1 - limit may cancel.
    return hi if limit.lo is None or lo is None else hi + lo


def factor_slopes(f: KernelArithmetic, x: Node, alpha: TwoFloat, limit: TwoFloat) -> Slopes:
    return Slopes((f.within(f.abs(x), limit), 1), otherwise=0)


gate = Entry(
    name="clamped_silu",
    formula="g*sigmoid(alpha*g), g = min(x, limit)",
    paper=PAPER,
    definition=gate_definition,
    operators=gate_operators,
    value=gate_value,
    slope=gate_slope,
    curvature=gate_curvature,
    backward=gate_backward,
    bounds={"float32": ErrorBound(3.5, 2.8), "float64": ErrorBound(3.5, 2.6)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (6.0, 8.0), (-66.0, -50.0), (-445.0, -410.0)),
    parameters=PARAMETERS,
)
factor = pieces(
    name="clamped_plus_one",
    formula="min(max(x, -limit), limit) + 1",
    paper=PAPER,
    definition=factor_definition,
    value=factor_value,
    slopes=factor_slopes,
    bounds={"float32": ErrorBound(1.0, 0.0), "float64": ErrorBound(0.5, 0.0)},
    intervals=((-2.0, 0.0), (0.0, 1.0), (-8.0, 8.0)),
    parameters=PARAMETERS,
)
entry = gated(
    name="clamped_swiglu",
    activation=gate,
    both=gate_both,
    factor=factor,
    parts=factor_parts,
    aliases=("swigluoai",),
    formula="g*sigmoid(alpha*g)*(1 + clip({other}, -limit, limit)), g = min({gate}, limit)",
    paper=PAPER,
    bounds={"float32": ErrorBound(3.05, 3.7), "float64": ErrorBound(3.5, 4.4)},
)
