"""hard_swish(x) = x·hard_sigmoid(x), the corners at ±3. It has the sign of x everywhere, 0 included.

Near -3, where x/6 + 1/2 cancels, x + 3 is exact. At ±3 the slope is that of the outer side.
"""

from fractions import Fraction

from ..blocks import Kernel
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry

HALF, SIXTH, THIRD = Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)


def definition(f: Definition, x: Node) -> Node:
    return x * f.where(x <= -3, 0, f.where(x >= 3, 1, x / 6 + HALF))


def value(f: Kernel, x: Node) -> Node:
    inner = f.bound(x, -3, 3)
    sixth = f.number(SIXTH)
    assert sixth.lo is not None
    rise = inner + 3
    gate = f.fma(rise, sixth.hi, rise * sixth.lo)
    product = f.product(f.abs(inner), gate)
    return f.where(x >= 3, x, f.copysign(product, x))


def slope(f: Kernel, x: Node) -> Node:
    inner = f.fma(x, THIRD, HALF)
    return f.where(x <= -3, 0, f.where(x >= 3, 1, inner))


def curvature(f: Kernel, x: Node) -> Node:
    return f.where(f.abs(x) >= 3, 0, f.keep_nan(x, THIRD))


def backward(f: Kernel, x: Node, grad: Node) -> Node:
    # Choices, not a product: an infinite grad makes no NaN of a slope of 0.
    inner = f.product(f.fma(x, THIRD, HALF), grad)
    return f.where(x <= -3, 0, f.where(x >= 3, grad, inner))


entry = Entry(
    name="hard_swish",
    formula="x*min(max(x/6 + 1/2, 0), 1)",
    paper="Howard et al. 2019, Searching for MobileNetV3 (arXiv:1905.02244)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    backward=backward,
    bounds={"float32": Bound(2.0, 1.0), "float64": Bound(2.0, 1.0)},
    intervals=((-3.1, -2.4), (-1.6, -1.4), (-1.0, 1.0), (2.4, 3.1)),
    aliases=("hardswish", "hard_silu"),
)
