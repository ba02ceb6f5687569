"""First derivatives by parameters, rewritten where the definition's own would cancel.

A parameter's derivative is that of the definition, computed as it stands in the format of x: right
to a few units in the last place, times 1 + |beta·x| where an exponential is rounded. For three it
would lose everything where the function is nearly flat in its parameter. Mixed derivatives, and
those of higher order by a parameter, are the definition's as they stand, and may cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial

from softgate.formula.arithmetic import Definition
from softgate.formula.graph import Node

TERMS = 20
"""Of the series of exp(z)·(1 - z) - 1 for |z| < 1: the next is below a float64's last place."""


def silu_beta(f: Definition, x: Node, beta: Node) -> Node:
    """Return x²·sigma(t)·sigma(-t), t = beta·x."""
    t = beta * x
    return (x * f.sigmoid(t)) * (x * f.sigmoid(-t))


def softplus_beta(f: Definition, x: Node, beta: Node) -> Node:
    """Return -(log(1 + exp(-u)) + u·sigma(-u))/beta², u = |beta·x|."""
    u = f.abs(beta * x)
    return -(f.softplus(-u) + u * f.sigmoid(-u)) / (beta * beta)


def celu_alpha(f: Definition, x: Node, alpha: Node) -> Node:
    """Return exp(z)·(1 - z) - 1, z = x/alpha below 0; near 0 by its series -z²·(1/2 + z/3 + …)."""
    z = x / alpha
    series = f.lift(0)
    for k in range(TERMS, 1, -1):
        series = series * z + Fraction(k - 1, factorial(k))
    direct = f.expm1(z) - z * f.exp(z)
    return f.where(x > 0, 0, f.where(z > -1, -(z * z) * series, direct))


STABLE: dict[tuple[str, str], Callable[..., Node]] = {
    ("silu", "beta"): silu_beta,
    ("softplus", "beta"): softplus_beta,
    ("celu", "alpha"): celu_alpha,
}
"""By activation and parameter."""
