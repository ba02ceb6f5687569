"""laplace(x) = Phi((x - mu)/sigma), Phi the normal distribution function, as in MEGA.

In the tail an error of z = (x - mu)/sigma has |z| times its weight, so z is carried in two parts.
The first determines Phi; the second corrects it by the derivative, phi(z).
"""

from fractions import Fraction

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, ErrorBound, Parameter, ParameterRange

QUARTER = Fraction(1, 4)
DENSITY_LIMIT = {"float32": 16.1, "float64": 39.9}
"""The z to clamp at: phi(z)/sigma underflows to 0 there even if sigma is 1e-11."""


def definition(f: ExactArithmetic, x: Node, mu: Node, sigma: Node) -> Node:
    return f.Phi((x - mu) / sigma)


def score(
    f: KernelArithmetic, x: Node, mu: TwoFloat, sigma: TwoFloat, most: float
) -> tuple[Node, TwoFloat]:
    """Return x - mu, and |x - mu|/sigma up to `most` in two parts; if clamped, the second is 0."""
    distance = x - mu.hi
    back = distance - x
    rest = (x - (distance - back)) - (mu.hi + back)
    if mu.lo is not None:
        # Where x - mu.hi cancels, mu.lo may exceed it: the two are added again.
        finite = f.abs(distance) < 2**f.fmt.max_exponent
        first, rest = distance, f.where(finite, rest - mu.lo, 0)
        distance = first + rest
        rest = rest - (distance - first)
    limit = most * sigma.hi
    near = f.abs(distance) < limit
    rest = f.where(near, f.where(distance < 0, -rest, rest), 0)
    a = f.clamp(f.abs(distance), limit)
    inverse = f.reciprocal(sigma)
    z = f.times(a, inverse)
    low = z.lo if z.lo is not None else f.lift(0)
    return distance, TwoFloat(z.hi, f.fma(rest, inverse.hi, low))


def value(f: KernelArithmetic, x: Node, mu: TwoFloat, sigma: TwoFloat) -> Node:
    distance, (z, low) = score(f, x, mu, sigma, f.gaussian_limit)
    assert low is not None
    tail = f.scaled_sum(f.normal_tail(z))
    # phi(z)/Phi(-z) is (3·z + √(z² + 8))/4 to within 3 %.
    ratio = f.fma(3, z, f.sqrt(f.fma(z, z, 8))) * QUARTER
    return f.step(distance, f.scaled(f.fma(tail, -(low * ratio), tail)))


def density(f: KernelArithmetic, z: TwoFloat) -> Node:
    """Return phi(z) times 2**scale."""
    assert z.lo is not None
    first = f.scaled_sum(f.normal_density(z.hi))
    return f.fma(first, -(z.lo * z.hi), first)


def slope(f: KernelArithmetic, x: Node, mu: TwoFloat, sigma: TwoFloat) -> Node:
    # phi(z)/sigma
    _, z = score(f, x, mu, sigma, DENSITY_LIMIT[f.fmt.name])
    scaled, inverse = density(f, z), f.reciprocal(sigma)
    result = scaled * inverse.hi
    if inverse.lo is not None:
        result = f.fma(scaled, inverse.lo, result)
    return f.keep_nan(x, f.product(result, f.unit))


def curvature(f: KernelArithmetic, x: Node, mu: TwoFloat, sigma: TwoFloat) -> Node:
    # -z·phi(z)/sigma²
    most = DENSITY_LIMIT[f.fmt.name]
    distance, z = score(f, x, mu, sigma, most)
    inverse = f.reciprocal(sigma).hi
    # phi(z)/sigma² does not underflow at the clamp if sigma is small.
    front = f.where(z.hi < most * (1 - 2.0**-20), z.hi, 0)
    result = f.product(front * density(f, z) * inverse * inverse, f.unit)
    return f.keep_nan(x, f.copysign(result, -distance))


entry = Entry(
    name="laplace",
    formula="Phi((x - mu)/sigma)",
    paper="Ma et al. 2022, Mega: moving average equipped gated attention (arXiv:2209.10655)",
    definition=definition,
    value=value,
    slope=slope,
    curvature=curvature,
    bounds={"float32": ErrorBound(3.5, 3.1), "float64": ErrorBound(4.3, 3.3)},
    intervals=((-1.0, 2.0), (-3.5, -2.8), (-10.3, -9.7), (0.5, 0.9), (4.0, 12.0)),
    parameters=(
        Parameter("mu", 0.707107, -1e30, 1e30, "The centre.", tested=(-1.5,)),
        Parameter("sigma", 0.282095, 1e-11, 1e11, "The width.", tested=(2.5,)),
    ),
    # In float32, mu is carried to 2**-49 of its size.
    bounded_where={
        "float32": ParameterRange(
            "|mu| <= 2**20*sigma", lambda v: abs(v["mu"]) <= 2**20 * v["sigma"]
        )
    },
    notes="Hugging Face computes 0.5*(1 + erf(…)), which cancels where x < mu.",
)
