"""leaky_relu(x) = x where x > 0, else slope·x. At 0 the slope is that of the negative side."""

from fractions import Fraction

from ..blocks import Kernel, TwoFloat
from ..formula import Definition
from ..graph import Node
from .entry import Bound, Entry, Parameter


def definition(f: Definition, x: Node, slope: Node) -> Node:
    return f.where(x > 0, x, slope * x)


def value(f: Kernel, x: Node, slope: TwoFloat) -> Node:
    # Times 0, -inf would give NaN where the limit is 0.
    largest = Fraction(2) ** f.fmt.max_exponent
    x_finite = f.where(x < -largest, -largest, x)
    x_left = f.where(slope.hi.same(0), x_finite, x)
    factor = f.same_sign(slope)
    left = x_left * factor.hi
    if factor.lo is not None:
        left = f.fma(x_left, factor.lo, left)
    return f.where(x > 0, x, left)


def slope(f: Kernel, x: Node, slope: TwoFloat) -> Node:
    return f.where(x > 0, 1, f.where(x.same(x), slope.hi, x))


def curvature(f: Kernel, x: Node, slope: TwoFloat) -> Node:
    return f.where(x.same(x), 0, x)


entry = Entry(
    name="leaky_relu",
    formula="x where x > 0, else slope*x",
    paper="Maas, Hannun & Ng 2013, Rectifier nonlinearities improve neural network acoustic models",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": Bound(1.0, 0.5), "float64": Bound(0.5, 0.0)},
    intervals=((-1.0, 1.0),),
    parameters=(Parameter("slope", 0.01, doc="the slope on the negative side"),),
    piecewise_linear=True,
)
