"""selu(x) = scale·x where x > 0, else scale·alpha·(exp(x) - 1). At 0 the slope is scale·alpha.

With these two constants activations keep mean 0 and variance 1 from layer to layer.
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound

ALPHA = Fraction("1.6732632423543772848170429916717")
SCALE = Fraction("1.0507009873554804934193349852946")


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.where(x > 0, SCALE * x, SCALE * (ALPHA * f.expm1(x)))


def value(f: KernelArithmetic, x: Node) -> Node:
    # scale·max(x, 0) - scale·alpha·(1 - exp(min(x, 0))), one of which is always 0; c·y as
    # y + (c - 1)·y rounds once, and the rounding error of c is negligible.
    positive = f.where(x < 0, 0, x)
    drop = f.saturation(f.where(x < 0, -x, 0))
    right = f.fma(positive, SCALE - 1, positive)
    return f.fma(-drop, SCALE * ALPHA - 1, right - drop)


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > 0, SCALE, decay(f, x))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x > 0, 0, decay(f, x))


def decay(f: KernelArithmetic, x: Node) -> Node:
    """Return scale·alpha·exp(min(x, 0)); NaN is kept."""
    return f.unscale(f.amplify(f.expand_upwards(x), f.number(SCALE * ALPHA)))


entry = Entry(
    name="selu",
    formula="scale*(x where x > 0, else alpha*(exp(x) - 1)), "
    "scale = 1.0507009873554804934..., alpha = 1.6732632423543772848...",
    paper="Klambauer, Unterthiner, Mayr & Hochreiter 2017, Self-normalizing neural networks "
    "(arXiv:1706.02515)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.0, 1.3), "float64": ErrorBound(2, 1.4)},
    intervals=((-1.0, 0.0), (0.0, 1.0), (-18.0, -1.0), (-110.0, -80.0), (-750.0, -700.0)),
)
