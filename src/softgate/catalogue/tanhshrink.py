"""tanhshrink(x) = x - tanh(x), which approaches x³/3 near 0 and x ∓ 1 for large |x|.

The difference cancels near 0. `blocks.exponential` computes a - tanh(a) and 1 - tanh(a) directly;
the slope is tanh².
"""

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from . import tanh
from .entry import Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x - f.tanh(x)


def value(f: KernelArithmetic, x: Node) -> Node:
    a = f.abs(x)
    square = f.product(a, a)
    ratio = f.over_shrink(a, square)
    # The rounding error of a² is added back.
    near = f.fma(ratio, square, f.product(ratio, f.fma(a, a, -square)))
    return f.copysign(f.where(a < 1, near, f.below_one(a) + (a - 1)), x)


def slope(f: KernelArithmetic, x: Node) -> Node:
    # tanh²: near 0 that is (a - a·u)², u = a²/G
    a = f.abs(x)
    square = f.product(a, a)
    u = f.over_shrink(square, square)
    near = f.fma(-f.product(square, u), 2 - u, square)
    tanh = 1 - f.below_one(a)
    return f.where(a < 1, near, f.product(tanh, tanh))


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # 2·tanh·(1 - tanh²)
    return -tanh.curvature(f, x)


entry = Entry(
    name="tanhshrink",
    formula="x - tanh(x)",
    paper="Collobert, Kavukcuoglu & Farabet 2011, Torch7: a Matlab-like environment for machine "
    "learning",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(2.2, 2.1), "float64": ErrorBound(2.5, 2.5)},
    intervals=((-1.0, 1.0), (0.9, 1.1), (-20.0, 20.0), (1e-17, 1e-12), (1e-110, 1e-100)),
    aliases=("tanh_shrink",),
)
