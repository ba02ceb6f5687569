"""leaky_relu(x) = x where x > 0, else slope·x. At 0 the slope is that of the negative side."""

from fractions import Fraction

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound, Parameter


def definition(f: ExactArithmetic, x: Node, slope: Node) -> Node:
    return f.where(x > 0, x, slope * x)


def leftwards(f: KernelArithmetic, factor: Node, slope: TwoFloat) -> Node:
    """Return slope·factor; 0 has the sign +."""
    number = f.same_sign(slope)
    product = f.product(factor, number.hi)
    return product if number.lo is None else f.fma(factor, number.lo, product)


def value(f: KernelArithmetic, x: Node, slope: TwoFloat) -> Node:
    # With slope 0, 0·(-inf) would be NaN; the limit is 0.
    largest = Fraction(2) ** f.fmt.max_exponent
    finite = f.where(x < -largest, -largest, x)
    # At -0 the result is x, which keeps the sign.
    return f.where(x >= 0, x, leftwards(f, f.where(slope.hi.same(0), finite, x), slope))


def slope(f: KernelArithmetic, x: Node, slope: TwoFloat) -> Node:
    return f.where(x > 0, 1, f.where(x.same(x), slope.hi, x))


def curvature(f: KernelArithmetic, x: Node, slope: TwoFloat) -> Node:
    return f.where(x.same(x), 0, x)


def backward(f: KernelArithmetic, x: Node, grad: Node, slope: TwoFloat) -> Node:
    return f.where(x > 0, grad, f.where(x.same(x), leftwards(f, grad, slope), x))


entry = Entry(
    name="leaky_relu",
    formula="x where x > 0, else slope*x",
    paper="Maas, Hannun & Ng 2013, Rectifier nonlinearities improve neural network acoustic models",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    positive=("slope",),
    backward=backward,
    bounds={"float32": ErrorBound(1.0, 0.3), "float64": ErrorBound(0.5, 0.0)},
    intervals=((-1.0, 1.0),),
    parameters=(Parameter("slope", 0.01, -1e38, 1e38, "The slope where x <= 0.", tested=(0.3,)),),
    piecewise_linear=True,
    backward_from_output=True,
)
