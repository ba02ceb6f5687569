"""Activations written as a user would: naively, from textbooks. Importable, so that they pickle."""

from __future__ import annotations

from typing import Any

import numpy as np

import softgate as sg


@sg.activation
def swish(f: Any, x: Any, beta: float = 1.0) -> Any:
    """A gate of its own argument."""
    return x / (1 + f.exp(-beta * x))


@sg.activation
def gelu(f: Any, x: Any) -> Any:
    return 0.5 * x * (1 + f.erf(x / f.sqrt(2)))


@sg.activation(paper="Hendrycks & Gimpel 2016")
def gelu_tanh(f: Any, x: Any) -> Any:
    return 0.5 * x * (1 + f.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@sg.activation
def mish(f: Any, x: Any) -> Any:
    return x * f.tanh(f.log(1 + f.exp(x)))


@sg.activation
def softplus(f: Any, x: Any) -> Any:
    return f.log(1 + f.exp(x))


@sg.activation
def elu(f: Any, x: Any, alpha: float = 1.0) -> Any:
    return f.where(x > 0, x, alpha * (f.exp(x) - 1))


@sg.activation
def tanh(f: Any, x: Any) -> Any:
    return (f.exp(x) - f.exp(-x)) / (f.exp(x) + f.exp(-x))


@sg.activation
def softsign(f: Any, x: Any) -> Any:
    return x / (1 + abs(x))


@sg.activation
def isru(f: Any, x: Any, a: float = 1.0) -> Any:
    return x / f.sqrt(1 + a * x**2)


@sg.activation
def snake(f: Any, x: Any, a: float = 1.0) -> Any:
    return x + (1 - f.cos(2 * a * x)) / (2 * a)


@sg.activation
def arctan(f: Any, x: Any) -> Any:
    return f.atan(x)


@sg.activation
def tanhexp(f: Any, x: Any) -> Any:
    return x * f.tanh(f.exp(x))


@sg.activation
def gaussian(f: Any, x: Any) -> Any:
    return f.exp(-(x**2))


@sg.activation
def square_relu(f: Any, x: Any) -> Any:
    return f.square(f.relu(x))


ALL = [v for v in list(globals().values()) if isinstance(v, sg.Activation)]
SAME = {gelu: "gelu", mish: "mish", softplus: "softplus", elu: "elu", tanh: "tanh", swish: "silu"}
"""What the catalogue calls them."""
