"""leaky_relu(x) = x where x > 0, else slope·x. At 0 the slope is that of the negative side."""

from fractions import Fraction

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.graph import Node

from .entry import ErrorBound, Parameter
from .pieces import Slopes, pieces, times


def value(f: KernelArithmetic, x: Node, slope: TwoFloat) -> Node:
    # With slope 0, 0·(-inf) would be NaN; the limit is 0.
    largest = Fraction(2) ** f.fmt.max_exponent
    finite = f.where(x < -largest, -largest, x)
    # At -0 the result is x, which keeps the sign.
    return f.where(x >= 0, x, times(f, slope, f.where(slope.hi.same(0), finite, x)))


entry = pieces(
    name="leaky_relu",
    formula="x where x > 0, else slope*x",
    paper="Maas, Hannun & Ng 2013, Rectifier nonlinearities improve neural network acoustic models",
    definition=lambda f, x, slope: f.where(x > 0, x, slope * x),
    value=value,
    slopes=lambda f, x, slope: Slopes((x > 0, 1), otherwise=slope),
    positive=("slope",),
    bounds={"float32": ErrorBound(1.0, 0.3), "float64": ErrorBound(0.5, 0.0)},
    intervals=((-1.0, 1.0),),
    parameters=(Parameter("slope", 0.01, -1e38, 1e38, "The slope where x <= 0.", tested=(0.3,)),),
    backward_from_output=True,
)
