"""The formulas as one writes them with NumPy and SciPy, in place: `y` and `w` are reused memory."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

Array = np.ndarray[Any, Any]
Value = Callable[[Array, Array, Array], object]
Backward = Callable[[Array, Array, Array, Array], object]

C = sqrt(2 / pi)


def _gelu(x: Array, y: Array, w: Array) -> None:
    special.ndtr(x, out=y)
    y *= x


def _gelu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(x, x, out=w)
    w *= -0.5
    np.exp(w, out=w)
    w *= 1 / sqrt(2 * pi)
    w *= x
    special.ndtr(x, out=y)
    y += w
    y *= g


def _tanh_argument(x: Array, w: Array) -> None:
    np.multiply(x, x, out=w)
    w *= 0.044715 * C
    w += C
    w *= x


def _gelu_tanh(x: Array, y: Array, w: Array) -> None:
    _tanh_argument(x, w)
    np.tanh(w, out=y)
    y += 1
    y *= x
    y *= 0.5


def _gelu_tanh_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    """½(1 + t)(1 + x·u′(1 - t)), t = tanh(u)."""
    _tanh_argument(x, w)
    np.tanh(w, out=y)
    np.multiply(x, x, out=w)
    w *= 3 * 0.044715 * C
    w += C
    w *= x
    y *= -1
    y += 1
    w *= y
    w += 1
    y *= -0.5
    y += 1
    y *= w
    y *= g


def _gelu_sigmoid(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, 1.702, out=w)
    special.expit(w, out=y)
    y *= x


def _gelu_sigmoid_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(x, 1.702, out=w)
    _silu_backward(w, g, y, w)


def _silu(x: Array, y: Array, w: Array) -> None:
    special.expit(x, out=y)
    y *= x


def _silu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    """σ + σ(1 - σ)x = σ(x + 1 - xσ)."""
    special.expit(x, out=y)
    t = x * y
    np.subtract(x, t, out=w)
    w += 1
    y *= w
    y *= g


def _sigmoid(x: Array, y: Array, w: Array) -> None:
    special.expit(x, out=y)


def _sigmoid_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    special.expit(x, out=w)
    np.subtract(1, w, out=y)
    y *= w
    y *= g


def tanh(x: Array, y: Array, w: Array) -> None:
    """NumPy's own."""
    np.tanh(x, out=y)


def _tanh_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.tanh(x, out=w)
    w *= w
    np.subtract(1, w, out=y)
    y *= g


def elu(x: Array, y: Array, w: Array) -> None:
    """max(x, 0) + expm1(min(x, 0))."""
    np.minimum(x, 0, out=w)
    np.expm1(w, out=w)
    np.maximum(x, 0, out=y)
    y += w


def elu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    """g·exp(min(x, 0))."""
    np.minimum(x, 0, out=w)
    np.exp(w, out=y)
    y *= g


def _softplus(x: Array, y: Array, w: Array) -> None:
    np.logaddexp(x, 0, out=y)


def _softplus_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    special.expit(x, out=y)
    y *= g


def _mish(x: Array, y: Array, w: Array) -> None:
    np.logaddexp(x, 0, out=w)
    np.tanh(w, out=y)
    y *= x


def _mish_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    """Compute t + xσ(1 - t²), t = tanh(softplus(x))."""
    np.logaddexp(x, 0, out=w)
    np.tanh(w, out=y)
    np.multiply(y, y, out=w)
    np.subtract(1, w, out=w)
    w *= special.expit(x)
    w *= x
    y += w
    y *= g


def _relu(x: Array, y: Array, w: Array) -> None:
    np.maximum(x, 0, out=y)


def _relu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(g, x > 0, out=y)


def _leaky_relu(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, 0.01, out=w)
    np.maximum(x, w, out=y)


def _leaky_relu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(g, 0.01, out=y)
    np.copyto(y, g, where=x > 0)


VALUES: dict[str, Value] = {
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "gelu_sigmoid": _gelu_sigmoid,
    "silu": _silu,
    "sigmoid": _sigmoid,
    "tanh": tanh,
    "elu": elu,
    "softplus": _softplus,
    "mish": _mish,
    "relu": _relu,
    "leaky_relu": _leaky_relu,
}

BACKWARDS: dict[str, Backward] = {
    "gelu": _gelu_backward,
    "gelu_tanh": _gelu_tanh_backward,
    "gelu_sigmoid": _gelu_sigmoid_backward,
    "silu": _silu_backward,
    "sigmoid": _sigmoid_backward,
    "tanh": _tanh_backward,
    "elu": elu_backward,
    "softplus": _softplus_backward,
    "mish": _mish_backward,
    "relu": _relu_backward,
    "leaky_relu": _leaky_relu_backward,
}
