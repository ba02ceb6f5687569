"""rrelu(x) = x where x > 0, else (lower + upper)/2·x: RReLU outside of training.

In training the slope is drawn between lower and upper for each element; this is its mean.
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic, TwoFloat

from . import leaky_relu
from .entry import ErrorBound, Parameter, ParameterRange
from .pieces import Slopes, pieces

HALF = Fraction(1, 2)


def mean(f: KernelArithmetic, lower: TwoFloat, upper: TwoFloat) -> TwoFloat:
    """Return (lower + upper)/2 in two parts, the first rounded correctly where they cancel, too."""
    a, b = lower.hi, upper.hi
    total = a + b
    back = total - a
    rest = (a - (total - back)) + (b - back)
    for low in (lower.lo, upper.lo):
        rest = rest if low is None else rest + low
    hi = total + rest
    return TwoFloat(hi * HALF, (rest - (hi - total)) * HALF)


entry = pieces(
    name="rrelu",
    formula="x where x > 0, else (lower + upper)/2*x",
    paper="Xu, Wang, Chen & Li 2015, Empirical evaluation of rectified activations in "
    "convolutional network (arXiv:1505.00853)",
    definition=lambda f, x, lower, upper: f.where(x > 0, x, (lower + upper) / 2 * x),
    value=lambda f, x, lower, upper: leaky_relu.value(f, x, mean(f, lower, upper)),
    slopes=lambda f, x, lower, upper: Slopes((x > 0, 1), otherwise=mean(f, lower, upper)),
    positive=("lower", "upper"),
    bounds={"float32": ErrorBound(1.0, 0.5), "float64": ErrorBound(1.1, 0.5)},
    intervals=((-1.0, 1.0),),
    parameters=(
        Parameter("lower", 0.125, -1e37, 1e37, "The smallest slope in training.", tested=(0.2,)),
        Parameter("upper", 1 / 3, -1e37, 1e37, "The largest slope in training.", tested=(0.7,)),
    ),
    backward_from_output=True,
    # In float32, both are carried to 2**-49 of their size.
    bounded_where={
        "float32": ParameterRange(
            "|lower + upper| >= 2**-20*|upper|",
            lambda values: (
                abs(values["lower"] + values["upper"]) >= 2.0**-20 * abs(values["upper"])
            ),
        )
    },
    special_case_of="leaky_relu",
)
