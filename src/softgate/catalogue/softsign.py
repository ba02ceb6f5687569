"""softsign(x) = x/(1 + |x|): tanh's shape without an exponential, and with a far longer tail."""

from fractions import Fraction

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import NARROW, Entry, ErrorBound


def definition(f: ExactArithmetic, x: Node) -> Node:
    return x / (1 + f.abs(x))


def value(f: KernelArithmetic, x: Node) -> Node:
    # Clamped where the result is ±1: inf·0 would be NaN. The quotient x/(1 + |x|) would be slow
    # where x is subnormal.
    a = f.bound(f.abs(x), 0, Fraction(2) ** (f.fmt.precision + 2))
    return f.copysign(f.product(a, 1 / (1 + a)), x)


def slope(f: KernelArithmetic, x: Node) -> Node:
    # 1/(1 + |x|)² as the square of the reciprocal, since (1 + |x|)² may overflow. The rounding
    # errors of the sum and the division have weight 2 here and are added back.
    a = f.bound(f.abs(x), 0, Fraction(2) ** (3 * f.fmt.max_exponent // 4))
    total = 1 + a
    lost = f.where(a < 1, a, 1) - (total - f.where(a < 1, 1, a))
    inverse = 1 / total
    rest = f.fma(-inverse, lost, f.fma(-inverse, total, 1))
    square = f.product(inverse, inverse)
    return f.fma(square + square, rest, square)


def curvature(f: KernelArithmetic, x: Node) -> Node:
    # -2·x/|x|/(1 + |x|)³, and 0 at 0, where it jumps from 2 to -2
    q = 1 / (1 + f.abs(x))
    return f.where(x.same(0), 0, f.copysign(2 * q * q * q, -x))


entry = Entry(
    name="softsign",
    formula="x/(1 + abs(x))",
    paper="Turian, Bergstra & Bengio 2009, Quadratic features and deep architectures for chunking",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    cheap={"backward": NARROW},
    bounds={"float32": ErrorBound(2.0, 1.1), "float64": ErrorBound(2.2, 1.1)},
    intervals=((-1.0, 1.0), (-20.0, 20.0), (-1e5, 1e5), (1e18, 1e23)),
    aliases=("soft_sign",),
)
