"""threshold(x) = x where x > threshold, else value. At the threshold both are those of the left."""

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.graph import Node

from .entry import Parameter
from .pieces import Slopes, pieces


def value(f: KernelArithmetic, x: Node, threshold: TwoFloat, value: TwoFloat) -> Node:
    # Where x equals the value, x keeps the sign of zero.
    left = f.where(x.same(value.hi), x, value.hi)
    return f.where(f.within(x, threshold), left, x)


entry = pieces(
    name="threshold",
    formula="x where x > threshold, else value",
    paper="Konda, Memisevic & Krueger 2014, Zero-bias autoencoders and the benefits of co-adapting "
    "features (arXiv:1402.3337)",
    definition=lambda f, x, threshold, value: f.where(x > threshold, x, value),
    value=value,
    slopes=lambda f, x, threshold, value: Slopes((f.within(x, threshold), 0), otherwise=1),
    intervals=((-1.0, 0.25), (0.25, 1.0), (1.0, 2.0)),
    aliases=("thresholded_relu",),
    parameters=(
        Parameter(
            "threshold",
            1.0,
            above=-1e38,
            below=1e38,
            doc="Up to where x is replaced, ONNX' `alpha`. PyTorch and Keras have no default.",
            tested=(0.3,),
        ),
        Parameter("value", 0.0, -1e38, 1e38, "What replaces x.", tested=(-2.0,)),
    ),
)
