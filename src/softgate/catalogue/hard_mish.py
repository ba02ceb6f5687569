"""hard_mish(x) = x/2·min(max(x + 2, 0), 2). It has the sign of x, zeros included.

Near -2 the sum x + 2 is exact. At -2 the slope is that of the left side, 0.
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import NARROW, Entry, ErrorBound

HALF = Fraction(1, 2)


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x * f.where(x <= -2, 0, f.where(x > 0, 1, (x + 2) / 2))


def value(f: KernelArithmetic, x: Node) -> Node:
    inner = f.bound(x, -2, 0)
    return f.where(x > 0, x, f.ieee_product(inner, (inner + 2) * HALF))


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x <= -2, 0, f.where(x > 0, 1, x + 1))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x <= -2, 0, f.where(x > 0, 0, f.keep_nan(x, 1)))


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # Selects, not a product: 0 times an infinite grad would be NaN.
    inner = f.product(x + 1, grad)
    return f.where(x <= -2, 0, f.where(x > 0, grad, inner))


entry = Entry(
    name="hard_mish",
    formula="x/2*min(max(x + 2, 0), 2)",
    paper="Howard et al. 2019, Searching for MobileNetV3 (arXiv:1905.02244), its hard_swish with "
    "the corners of mish (timm)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    cheap={"value": NARROW, "slope": NARROW, "backward": NARROW},
    bounds={"float32": ErrorBound(1.6, 0.5), "float64": ErrorBound(1.7, 0.5)},
    intervals=((-2.1, -1.9), (-1.1, -0.9), (-2.0, 0.0), (-0.1, 0.1)),
    aliases=("hardmish",),
)
