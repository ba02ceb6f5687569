"""xielu(x) = alpha_p·x² + beta·x where x > 0, else alpha_n·(exp(x) - 1 - x) + beta·x.

Near 0 exp(x) - 1 - x cancels: with b = -x and exp(-b) = s·(1 + w), s = 2**n, it is
(b + (s - 1)) + s·w, where the first sum is exact. From b = 1 on, alpha_n·(exp(x) - 1) is added to
(beta - alpha_n)·x, which may tend to infinity while beta·x and alpha_n·x would overflow.
"""

from fractions import Fraction
from typing import NamedTuple

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound, Parameter, ParameterRange

BOUNDED = ParameterRange(
    "alpha_n <= 2*beta", lambda values: values["alpha_n"] <= 2 * values["beta"]
)
"""Where alpha_n is larger, the rounding errors of exp(x) - 1 - x are up to 7 ulp of the result."""


class NegativeSide(NamedTuple):
    """What the forms share where x <= 0."""

    b: Node
    """-min(x, 0), at most `deepest`."""
    inner: Node
    """The comparison x <= eps."""
    fall: Node
    """1 - exp(min(x, eps))."""
    rest: TwoFloat
    """beta - alpha_n, the slope far left."""


def definition(
    f: ExactArithmetic, x: Node, alpha_p: Node, alpha_n: Node, beta: Node, eps: Node
) -> Node:
    inner = f.where(x <= eps, x, eps)
    left = alpha_n * (f.expm1(inner) - x) + beta * x
    return f.where(x > 0, alpha_p * x * x + beta * x, left)


def operators(
    f: ExactArithmetic, x: Node, alpha_p: Node, alpha_n: Node, beta: Node, eps: Node
) -> Node:
    """Return the definition without the difference of infinite terms at -inf."""
    inner = f.where(x <= eps, x, eps)
    left = alpha_n * f.expm1(inner) + (beta - alpha_n) * x
    return f.where(x > 0, alpha_p * x * x + beta * x, left)


def terms(
    f: ExactArithmetic, x: Node, alpha_p: Node, alpha_n: Node, beta: Node, eps: Node
) -> tuple[Node, ...]:
    """Return the two summands, and between eps and 0, where the first cancels, its part."""
    inner = f.where(x <= eps, x, eps)
    bent = f.where(x > 0, alpha_p * x * x, alpha_n * (f.expm1(inner) - x))
    part = f.where(x > 0, 0, f.where(x <= eps, 0, alpha_n * x))
    return bent, beta * x, part


def left(
    f: KernelArithmetic, x: Node, alpha_n: TwoFloat, beta: TwoFloat, eps: TwoFloat
) -> NegativeSide:
    b = f.clamp(f.where(x < 0, -x, 0), f.deepest)
    inner = f.within(x, eps)
    at_eps = f.where(eps.hi < 0, -eps.hi, 0)
    fall = f.saturation(f.where(inner, b, at_eps))
    hi = beta.hi - alpha_n.hi
    back = hi - beta.hi
    lo = (beta.hi - (hi - back)) - (alpha_n.hi + back)
    if beta.lo is not None and alpha_n.lo is not None:
        lo = lo + (beta.lo - alpha_n.lo)
    return NegativeSide(b, inner, fall, TwoFloat(hi, lo))


def times(f: KernelArithmetic, x: Node, number: TwoFloat) -> Node:
    """Return x·number; with 0 it is 0 at ±inf, too."""
    number, inside = f.same_sign(number), finite(f, x)
    product = f.product(f.where(number.hi.same(0), inside, x), number.hi)
    return product if number.lo is None else f.fma(inside, number.lo, product)


def finite(f: KernelArithmetic, x: Node) -> Node:
    """Return `x`, or a large number at ±inf."""
    largest = Fraction(2) ** f.fmt.max_exponent
    return f.bound(x, -largest, largest)


def bend(f: KernelArithmetic, b: Node) -> Node:
    """Return exp(-b) - 1 + b for 0 <= b <= 1."""
    e = f.reduce(f.clamp(b, 2), bias=f.fmt.max_exponent)
    square, q = f._quadratic(e.r)
    s = f.exponent_only(e.magic)
    # Near 0, where s is 1 and b is r, it is r²·Q, without the sum of r and -r.
    small = f.product(square, q)
    return f.where(s.same(1), small, f.fma(s, small - e.r, b + (s - 1)))


def value(
    f: KernelArithmetic,
    x: Node,
    alpha_p: TwoFloat,
    alpha_n: TwoFloat,
    beta: TwoFloat,
    eps: TwoFloat,
) -> Node:
    rise = f.fma(x, alpha_p.hi, beta.hi)
    if alpha_p.lo is not None and beta.lo is not None:
        # Where it has overflowed, the smaller parts may have done so with the other sign.
        rest = f.fma(x, alpha_p.lo, beta.lo)
        rise = f.where(rise < 2**f.fmt.max_exponent, rise + rest, rise)
    p = left(f, x, alpha_n, beta, eps)
    far = f.fma(-p.fall, alpha_n.hi, times(f, x, p.rest))
    bent, linear = bend(f, p.b), times(f, x, beta)
    # A sum with +0 would lose the sign of a product that underflows.
    near = f.where(bent.same(0), linear, f.fma(bent, alpha_n.hi, linear))
    below = f.where(p.inner, f.where(p.b < 1, near, far), far)
    return f.where(x > 0, f.product(x, rise), f.where(x.same(0), f.where(p.inner, x, below), below))


def slope(
    f: KernelArithmetic,
    x: Node,
    alpha_p: TwoFloat,
    alpha_n: TwoFloat,
    beta: TwoFloat,
    eps: TwoFloat,
) -> Node:
    right = f.fma(x, alpha_p.hi + alpha_p.hi, beta.hi)
    p = left(f, x, alpha_n, beta, eps)
    below = f.fma(-p.fall, alpha_n.hi, beta.hi)
    if alpha_n.lo is not None and beta.lo is not None:
        below += f.fma(-p.fall, alpha_n.lo, beta.lo)
    assert p.rest.lo is not None
    end = p.rest.hi + p.rest.lo
    below = f.where(p.inner, f.where(p.fall.same(1), end, below), end)
    return f.where(x > 0, right, f.keep_nan(x, below))


def curvature(
    f: KernelArithmetic,
    x: Node,
    alpha_p: TwoFloat,
    alpha_n: TwoFloat,
    beta: TwoFloat,
    eps: TwoFloat,
) -> Node:
    bent = f.unscale(f.amplify(f.expand(f.clamp(f.abs(x), f.deepest)), alpha_n))
    below = f.where(f.within(x, eps), bent, f.keep_nan(x, 0))
    return f.where(x > 0, alpha_p.hi + alpha_p.hi, below)


entry = Entry(
    name="xielu",
    formula="alpha_p*x**2 + beta*x where x > 0, else alpha_n*(exp(min(x, eps)) - 1 - x) + beta*x",
    paper="Huang & Schlag 2024, Deriving activation functions using integration (arXiv:2411.13010)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    operators=operators,
    terms=terms,
    bounds={"float32": ErrorBound(2.2, 1.1), "float64": ErrorBound(2.2, 1.1)},
    intervals=((-1.0, 1.0), (-4.0, 0.0), (-0.36, -0.33), (-2.3, -2.2), (-20.0, 4.0)),
    parameters=(
        Parameter(
            "alpha_p",
            0.8,
            above=0.0,
            below=1e11,
            doc="Half the curvature where x > 0. Hugging Face trains its inverse softplus.",
            tested=(2.0,),
        ),
        Parameter(
            "alpha_n",
            0.8,
            above=0.0,
            below=1e11,
            doc="The curvature left of 0. Hugging Face trains the inverse softplus of "
            "alpha_n - beta.",
            tested=(0.3,),
        ),
        Parameter("beta", 0.5, 0.0, 1e11, "The slope at 0.", tested=(0.3,), closed=True),
        Parameter(
            "eps",
            0.0,
            above=-1.0,
            below=1.0,
            doc="The largest argument of the exponential: 0 in the paper, -1e-6 in Hugging Face, "
            "where the value therefore jumps at 0.",
            tested=(-0.01,),
        ),
    ),
    bounded_where={"float32": BOUNDED, "float64": BOUNDED},
    notes="It has a root where x < 0 if alpha_n > beta. Its errors are measured in ulps of the "
    "larger summand, alpha_n*(exp(x) - 1 - x) or beta*x; between eps and 0, where the first is "
    "alpha_n*(exp(eps) - 1) - alpha_n*x, of the largest of these.",
)
