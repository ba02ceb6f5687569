"""gelu_tanh(x) = x·sigmoid(sqrt(8/pi)·(x + 0.044715·x³)), the same as x/2·(1 + tanh(…/2))."""

from softgate.blocks import KernelArithmetic
from softgate.blocks.exponential import SQRT_8_OVER_PI
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.formats import FLOAT32
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound

CUBIC = SQRT_8_OVER_PI * 44715 / 1000000


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x * f.sigmoid(f.sqrt(8 / f.pi) * (x + 0.044715 * x * x * x))


def _limit(f: KernelArithmetic) -> int:
    # Result and slope are 0 there, and the scaled exponent is still in range.
    return 11 if f.fmt is FLOAT32 else 22


def value(f: KernelArithmetic, x: Node) -> Node:
    a = f.clamp(f.abs(x), _limit(f))
    return f.ramp(x, f.gate(f.logistic(f.reduce_cubic(a), fine=False), a))


def slope(f: KernelArithmetic, x: Node) -> Node:
    a = f.bound(f.abs(x), 0, _limit(f))
    g = f.logistic(f.reduce_cubic(a), fine=False)
    return f.side(x, f.product_slope(g, *f.cubic_change(a)))


def both(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    """Return value and slope from one logistic function."""
    a = f.bound(f.abs(x), 0, _limit(f))
    g = f.logistic(f.reduce_cubic(a))
    change = f.cubic_change(a)
    assert change.lo is not None
    return f.ramp(x, f.gate(g, a)), f.side(x, f.fine_product_slope(g, change.hi, change.lo))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # sigma'(b)·(2·b' + a·b'' - a·b'²·tanh(b/2))
    a = f.bound(f.abs(x), 0, _limit(f))
    g = f.logistic(f.reduce_cubic(a))
    square = a * a
    rise = f.fma(square, 3 * CUBIC, SQRT_8_OVER_PI)
    bend = f.fma(square, 12 * CUBIC, 2 * SQRT_8_OVER_PI)
    factor = f.fma(-(a * f.half_tanh(g)), rise * rise, bend)
    return f.keep_nan(x, f.scaled_sum(f.gate_slope(g)) * factor * f.unit)


entry = Entry(
    name="gelu_tanh",
    formula="x*sigmoid(sqrt(8/pi)*(x + 0.044715*x**3))",
    paper="Hendrycks & Gimpel 2016, Gaussian error linear units (arXiv:1606.08415)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.3, 3.6), "float64": ErrorBound(2.6, 4.9)},
    intervals=((-1.0, 1.0), (-6.0, 6.0), (-10.8, -9.8), (-21.6, -21.0)),
    aliases=("gelu_new", "gelu_pytorch_tanh", "gelu_fast"),
)
