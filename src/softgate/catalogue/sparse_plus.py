"""sparse_plus(x) = (x + 1)²/4 between -1 and 1, 0 left of it and x right of it.

Near -1, where (x + 1)² is small, x + 1 is exact; elsewhere its rounding error is added back. The
slope is sparse_sigmoid, without a jump.
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.formats import BFLOAT16
from softgate.formula.graph import Node

from . import sparse_sigmoid
from .entry import NARROW, Entry, ErrorBound

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def definition(f: ExactArithmetic, x: Node) -> Node:
    return f.where(x <= -1, 0, f.where(x >= 1, x, (x + 1) * (x + 1) / 4))


def value(f: KernelArithmetic, x: Node) -> Node:
    inner = f.bound(x, -1, 1)
    root = inner + 1
    lost = inner - (root - 1)
    square = f.fma(root, root, (root + root) * lost)
    return f.where(x >= 1, x, square * QUARTER)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    return f.where(f.abs(x) >= 1, 0, f.keep_nan(x, HALF))


def backward(f: KernelArithmetic, x: Node, grad: Node) -> Node:
    # Selects, not a product: 0 times an infinite grad would be NaN.
    inner = f.product(sparse_sigmoid.value(f, x), grad)
    return f.where(x <= -1, 0, f.where(x >= 1, grad, inner))


entry = Entry(
    name="sparse_plus",
    formula="0 where x <= -1, x where x >= 1, else (x + 1)**2/4",
    paper="Martins & Astudillo 2016, From softmax to sparsemax (arXiv:1602.02068)",
    definition=definition,
    value=value,
    slope=sparse_sigmoid.value,
    curvature=curvature,
    backward=backward,
    cheap={"value": (BFLOAT16,), "slope": NARROW, "backward": NARROW},
    bounds={"float32": ErrorBound(0.6, 0.5), "float64": ErrorBound(0.6, 0.5)},
    intervals=((-1.1, -0.9), (-1.0, 1.0), (0.9, 1.1)),
)
