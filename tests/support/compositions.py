"""Expressions around activations that a graph compiler may simplify together with them.

XLA and Grappler merge constants across products and quotients, and LLVM does so inside reductions
that it unrolls. Each expression is evaluated once in
NumPy's float64, from the kernels and the chain rule, and once by the framework under test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

import softgate as sg
from softgate.runtime.activation import Activation

QUANTITIES = ("value", "slope", "curvature")
TINY, HUGE = 1e-20, 1e34
UNSCALED = (sg.sigmoid, sg.elu, sg.celu, sg.softplus, sg.log_sigmoid, sg.tanh)
"""The activations whose value, slope or curvature ends in a product with 2**-64."""
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "scalar": ((), ()),
    "one element": ((1,), (1,)),
    "broadcast": ((2, 1), (1, 3)),
    "several": ((5,), (5,)),
}
"""Shapes of the two operands of an expression."""
POINTS = np.array([-1.37, 0.83, -0.46, 1.21, -2.3])
"""No activation of the catalogue has a kink at any of these, nor where they are mapped to."""
DEEPER = {
    "value": "product, slope",
    "slope": "three levels, slope",
    "curvature": "two levels, curvature",
}
"""Expressions that are long, one with each quantity."""
RELATIVE = 2e-4
"""A wrong constant gives 0, inf, NaN or a factor of a power of two; rounding gives far less."""

Quantity = Callable[[Any], Any]
Expression = Callable[[Any, Any], Any]
Derivative = Callable[[Quantity, Any], Any]


def operands(shape: str) -> list[Any]:
    """Return the operands x and y in float64; every element is a float32."""
    pairs = zip((POINTS, POINTS[::-1]), SHAPES[shape], strict=True)
    return [np.resize(points, size).astype(np.float32).astype(np.float64) for points, size in pairs]


def in_turn(activation: Activation) -> tuple[str, ...]:
    """Return one of the quantities, another one for the next activation of the catalogue.

    All of them for an activation with a stable form that ends in a product with 2**-64.
    """
    place = list(sg.activations().values()).index(activation) % len(QUANTITIES)
    return QUANTITIES if activation in UNSCALED else (QUANTITIES[place],)


def neighbour(activation: Activation) -> Activation:
    """Return the next activation of the catalogue, to be multiplied with this one."""
    functions = list(sg.activations().values())
    return functions[(functions.index(activation) + 1) % len(functions)]


def quantity(activation: Activation, name: str) -> Quantity:
    return activation if name == "value" else getattr(activation, name)


def reductions(
    activation: Activation,
    total: Quantity,
    product: Quantity,
    quantities: Sequence[str] = QUANTITIES,
) -> dict[str, Expression]:
    """Return reductions of each quantity; `total` and `product` are the framework's."""
    chosen: dict[str, Expression] = {}
    for name in quantities:
        f = quantity(activation, name)
        chosen[f"sum of {name}*{TINY}"] = lambda x, _, f=f: total(f(x) * TINY)
        chosen[f"product of {name}*3"] = lambda x, _, f=f: product(f(x) * 3.0)
    return chosen


def expressions(
    activation: Activation,
    derivative: Derivative,
    thorough: bool = True,
    quantities: Sequence[str] = QUANTITIES,
) -> dict[str, Expression]:
    """Return each expression of x and y; `derivative(call, x)` differentiates elementwise.

    Of value, slope and curvature, those in `quantities` are multiplied and divided.
    """
    other = neighbour(activation)
    chosen: dict[str, Expression] = {}
    if thorough or "slope" in quantities:
        chosen["two levels, slope"] = lambda x, _: derivative(
            lambda v: activation(activation(v)), x
        )
    for name in quantities:
        f, g = quantity(activation, name), quantity(other, name)
        chosen |= _products(name, f)
        if thorough:
            chosen |= _others(name, f, g)
    if not thorough:
        return chosen
    deeper: dict[str, Expression] = {
        "value": lambda x, _: derivative(lambda v: activation(v) * activation(-v) * other(v), x),
        "slope": lambda x, _: derivative(lambda v: activation(activation(activation(v))), x),
        "curvature": lambda x, _: derivative(
            lambda w: derivative(lambda v: activation(activation(v)), w), x
        ),
    }
    chosen["two levels"] = lambda x, _: activation(activation(x))
    return chosen | {DEEPER[name]: deeper[name] for name in quantities}


def _products(name: str, f: Quantity) -> dict[str, Expression]:
    return {
        f"{name}(x)*{name}(-y)": lambda x, y: f(x) * f(-y),
        f"{name}(x)*{TINY}": lambda x, _: f(x) * TINY,
    }


def _others(name: str, f: Quantity, g: Quantity) -> dict[str, Expression]:
    return {
        f"{name}(x)*{name}(x)": lambda x, _: f(x) * f(x),
        f"{name}(x)*{name}(-y)*other {name}(x)": lambda x, y: f(x) * f(-y) * g(x),
        f"other {name}(x)/(1e-3 + |{name}(x)|)": lambda x, _: g(x) / (abs(f(x)) + 1e-3),
        f"{name}(x)*{HUGE}": lambda x, _: f(x) * HUGE,
        f"{name}(x)/{HUGE}": lambda x, _: f(x) / HUGE,
        f"{name}((x*{HUGE})/{HUGE})": lambda x, _: f((x * HUGE) / HUGE),
    }


def references(activation: Activation, x: Any, y: Any, names: Collection[str]) -> dict[str, Any]:
    """Return what some expressions are, in float64, by the chain rule."""
    f, g, other = activation, activation.slope, neighbour(activation)

    def two_levels_curvature() -> Any:
        return f.curvature(f(x)) * g(x) ** 2 + g(f(x)) * f.curvature(x)

    def product_slope() -> Any:
        a, b, c = f(x), f(-x), other(x)
        return g(x) * b * c - a * g(-x) * c + a * b * other.slope(x)

    exact = {
        "two levels, slope": lambda: g(f(x)) * g(x),
        "three levels, slope": lambda: g(f(f(x))) * g(f(x)) * g(x),
        "two levels, curvature": two_levels_curvature,
        "product, slope": product_slope,
    }
    plain = expressions(activation, lambda _call, at: at) | reductions(activation, np.sum, np.prod)
    unknown = set(names) - set(plain)
    assert not unknown, unknown
    return {name: exact[name]() if name in exact else plain[name](x, y) for name in names}


def mismatches(
    activation: Activation, x: Any, y: Any, results: dict[str, Any]
) -> list[tuple[str, Any, Any]]:
    """Return each expression whose float32 result is not what float64 gives."""
    assert results
    wrong = []
    for name, exact in references(activation, x, y, results).items():
        result = np.asarray(results[name], np.float64)
        normal = (np.abs(exact) > 2e-38) & (np.abs(exact) < 3e38)
        close = np.abs(result - exact) <= RELATIVE * np.abs(exact)
        if result.shape != np.shape(exact) or not np.all(close | ~normal):
            wrong.append((name, result, exact))
    return wrong
