"""hard_sigmoid(x) = x/width + 1/2, clamped to 0 and 1. At both corners the slope is 0.

Near the left corner x/width + 1/2 cancels; (x + width/2)/width does not, as the sum is exact there.
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import ErrorBound, Parameter
from .pieces import Reciprocal, Slopes, pieces

HALF = Fraction(1, 2)


def definition(f: ExactArithmetic, x: Node, width: Node) -> Node:
    return f.where(x <= -width / 2, 0, f.where(x >= width / 2, 1, x / width + HALF))


def value(f: KernelArithmetic, x: Node, width: TwoFloat) -> Node:
    from_corner = f.bound(x, -width.hi, width.hi) + width.hi * HALF
    if width.lo is not None:
        from_corner += width.lo * HALF
    y = f.divided(from_corner, width)
    return f.where(y < 0, 0, f.where(y > 1, 1, y))


def slopes(f: KernelArithmetic, x: Node, width: TwoFloat) -> Slopes:
    half = TwoFloat(width.hi * HALF, None if width.lo is None else width.lo * HALF)
    return Slopes((f.reaches(f.abs(x), half), 0), otherwise=Reciprocal(width))


entry = pieces(
    name="hard_sigmoid",
    formula="min(max(x/width + 1/2, 0), 1)",
    paper="Courbariaux, Bengio & David 2015, BinaryConnect: training deep neural networks with "
    "binary weights during propagations (arXiv:1511.00363)",
    definition=definition,
    value=value,
    slopes=slopes,
    bounds={"float32": ErrorBound(1.1, 0.4), "float64": ErrorBound(1.1, 0.4)},
    intervals=((-3.1, -2.4), (-1.0, 1.0), (2.4, 3.1)),
    aliases=("hardsigmoid",),
    parameters=(
        Parameter(
            "width",
            6.0,
            above=1e-30,
            below=1e30,
            doc="How far the corners are apart: 6 in PyTorch, JAX and Keras 3, 5 in ONNX and "
            "Keras 2 (where 0.2*x + 0.5 is the line), 2 in the paper.",
            tested=(5.0, 0.3),
        ),
    ),
)
