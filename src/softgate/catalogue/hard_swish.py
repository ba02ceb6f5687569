"""hard_swish(x) = x·hard_sigmoid(x), the corners at ±3. It has the sign of x, zeros included.

Near -3, where x/6 + 1/2 cancels, x + 3 is exact. At ±3 the slope is that of the outer side.
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.formats import Format
from softgate.formula.graph import Node

from .entry import NARROW, Entry, ErrorBound

HALF, THIRD, SIXTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x * f.where(x <= -3, 0, f.where(x >= 3, 1, x / 6 + HALF))


def sixth_of(f: KernelArithmetic, y: Node) -> Node:
    """Return y/6, rounded once."""
    sixth = f.number(SIXTH)
    assert sixth.lo is not None
    return f.fma(y, sixth.hi, y * sixth.lo)


def value(f: KernelArithmetic, x: Node) -> Node:
    inner = f.bound(x, -3, 3)
    product = f.product(f.abs(inner), sixth_of(f, inner + 3))
    return f.where(x >= 3, x, f.copysign(product, x))


def value16(f: KernelArithmetic, x: Node, storage: Format) -> Node:
    """Return the value at numbers of a 16-bit format.

    Near 0 it is x/2 + x²/6. Where float32 rounds that to x/2, which may be a tie, an offset that is
    negligible elsewhere breaks the tie as x²/6 would.
    """
    inner = f.where(x < -3, -3, x)
    above = inner + 3
    gate = f.where(above > 6, 6, above) * SIXTH
    exponent = max(storage.smallest_exponent - f.fmt.precision, f.fmt.smallest_exponent)
    return f.copysign(f.fma(inner, gate, Fraction(2) ** exponent), x)


def inner_slope(f: KernelArithmetic, x: Node) -> Node:
    """Return x/3 + 1/2, exactly 0 at -3/2."""
    return sixth_of(f, f.fma(x, 2, 3))


def slope(f: KernelArithmetic, x: Node) -> Node:
    return f.where(x <= -3, 0, f.where(x >= 3, 1, inner_slope(f, x)))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.where(f.abs(x) >= 3, 0, f.keep_nan(x, THIRD))


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # Selects, not a product: 0 times an infinite grad would be NaN.
    inner = f.product(inner_slope(f, x), grad)
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
    value16=value16,
    cheap={"value": NARROW, "slope": NARROW, "backward": NARROW},
    bounds={"float32": ErrorBound(2.0, 2.1), "float64": ErrorBound(2.1, 2.2)},
    intervals=((-3.1, -2.4), (-1.6, -1.4), (-1.0, 1.0), (2.4, 3.1)),
    aliases=("hardswish", "hard_silu"),
)
