"""Activations written with NumPy and SciPy, in place.

`value(x, y, w)` writes to `y`, `backward(x, g, y, w)` the gradient to `y`; `w` is scratch memory.
`softgate.studies.subjects.peers.formulas:gelu` is the same formula as a function of one array.
"""

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
ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _of(ufunc: Callable[..., Any], *operands: float) -> Value:
    """Return the value that is one NumPy or SciPy function of x and constants."""
    return lambda x, y, w: ufunc(x, *operands, out=y)


def _scaled(slope: Value) -> Backward:
    """Return the gradient g·slope(x)."""

    def backward(x: Array, g: Array, y: Array, w: Array) -> None:
        slope(x, y, w)
        y *= g

    return backward


def _gelu(x: Array, y: Array, w: Array) -> None:
    special.ndtr(x, out=y)
    y *= x


def _gelu_slope(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, x, out=w)
    w *= -0.5
    np.exp(w, out=w)
    w *= 1 / sqrt(2 * pi)
    w *= x
    special.ndtr(x, out=y)
    y += w


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


def _gelu_tanh_slope(x: Array, y: Array, w: Array) -> None:
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


def _gelu_sigmoid(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, 1.702, out=w)
    special.expit(w, out=y)
    y *= x


def _gelu_sigmoid_slope(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, 1.702, out=w)
    _silu_slope(w, y, w)


def _silu(x: Array, y: Array, w: Array) -> None:
    special.expit(x, out=y)
    y *= x


def _silu_slope(x: Array, y: Array, w: Array) -> None:
    """σ + σ(1 - σ)x = σ(x + 1 - xσ)."""
    special.expit(x, out=y)
    t = x * y
    np.subtract(x, t, out=w)
    w += 1
    y *= w


def _sigmoid_slope(x: Array, y: Array, w: Array) -> None:
    special.expit(x, out=w)
    np.subtract(1, w, out=y)
    y *= w


def _tanh_slope(x: Array, y: Array, w: Array) -> None:
    np.tanh(x, out=w)
    w *= w
    np.subtract(1, w, out=y)


def _elu(x: Array, y: Array, w: Array) -> None:
    """max(x, 0) + expm1(min(x, 0))."""
    np.minimum(x, 0, out=w)
    np.expm1(w, out=w)
    np.maximum(x, 0, out=y)
    y += w


def _elu_slope(x: Array, y: Array, w: Array) -> None:
    """exp(min(x, 0))."""
    np.minimum(x, 0, out=w)
    np.exp(w, out=y)


def _mish(x: Array, y: Array, w: Array) -> None:
    np.logaddexp(x, 0, out=w)
    np.tanh(w, out=y)
    y *= x


def _mish_slope(x: Array, y: Array, w: Array) -> None:
    """Compute t + xσ(1 - t²), t = tanh(softplus(x))."""
    np.logaddexp(x, 0, out=w)
    np.tanh(w, out=y)
    np.multiply(y, y, out=w)
    np.subtract(1, w, out=w)
    w *= special.expit(x)
    w *= x
    y += w


def _leaky_relu(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, 0.01, out=w)
    np.maximum(x, w, out=y)


def _leaky_relu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(g, 0.01, out=y)
    np.copyto(y, g, where=x > 0)


def _clipped(low: float, high: float) -> tuple[Value, Backward]:
    def value(x: Array, y: Array, w: Array) -> None:
        np.clip(x, low, high, out=y)

    def backward(x: Array, g: Array, y: Array, w: Array) -> None:
        np.multiply(g, (x > low) & (x < high), out=y)

    return value, backward


def _squared_relu(x: Array, y: Array, w: Array) -> None:
    np.maximum(x, 0, out=y)
    y *= y


def _squared_relu_slope(x: Array, y: Array, w: Array) -> None:
    np.maximum(x, 0, out=y)
    y *= 2


def _selu(x: Array, y: Array, w: Array) -> None:
    np.minimum(x, 0, out=w)
    np.expm1(w, out=w)
    w *= ALPHA
    np.maximum(x, 0, out=y)
    y += w
    y *= SCALE


def _selu_slope(x: Array, y: Array, w: Array) -> None:
    np.minimum(x, 0, out=w)
    np.exp(w, out=y)
    y *= SCALE * ALPHA
    np.copyto(y, SCALE, where=x > 0)


def _log_sigmoid_slope(x: Array, y: Array, w: Array) -> None:
    np.negative(x, out=y)
    special.expit(y, out=y)


def _hard_sigmoid(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, 1 / 6, out=y)
    y += 0.5
    np.clip(y, 0, 1, out=y)


def _hard_sigmoid_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(g, np.abs(x) < 3, out=y)
    y *= 1 / 6


def _hard_swish(x: Array, y: Array, w: Array) -> None:
    _hard_sigmoid(x, y, w)
    y *= x


def _hard_swish_slope(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, 1 / 3, out=y)
    y += 0.5
    np.copyto(y, 0, where=x <= -3)
    np.copyto(y, 1, where=x >= 3)


def _softshrink(x: Array, y: Array, w: Array) -> None:
    np.clip(x, -0.5, 0.5, out=w)
    np.subtract(x, w, out=y)


def _shrink_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(g, np.abs(x) > 0.5, out=y)


def _tanhshrink(x: Array, y: Array, w: Array) -> None:
    np.tanh(x, out=w)
    np.subtract(x, w, out=y)


def _tanhshrink_slope(x: Array, y: Array, w: Array) -> None:
    np.tanh(x, out=y)
    y *= y


def _softsign(x: Array, y: Array, w: Array) -> None:
    np.abs(x, out=w)
    w += 1
    np.divide(x, w, out=y)


def _softsign_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.abs(x, out=w)
    w += 1
    w *= w
    np.divide(g, w, out=y)


def _root(x: Array, w: Array) -> None:
    np.multiply(x, x, out=w)
    w += 4
    np.sqrt(w, out=w)


def _squareplus(x: Array, y: Array, w: Array) -> None:
    _root(x, w)
    np.add(x, w, out=y)
    y *= 0.5


def _squareplus_slope(x: Array, y: Array, w: Array) -> None:
    _root(x, w)
    np.divide(x, w, out=y)
    y += 1
    y *= 0.5


FORMULAS: dict[str, tuple[Value, Backward]] = {
    "gelu": (_gelu, _scaled(_gelu_slope)),
    "gelu_tanh": (_gelu_tanh, _scaled(_gelu_tanh_slope)),
    "gelu_sigmoid": (_gelu_sigmoid, _scaled(_gelu_sigmoid_slope)),
    "silu": (_silu, _scaled(_silu_slope)),
    "sigmoid": (_of(special.expit), _scaled(_sigmoid_slope)),
    "tanh": (_of(np.tanh), _scaled(_tanh_slope)),
    "elu": (_elu, _scaled(_elu_slope)),
    "softplus": (_of(np.logaddexp, 0), _scaled(_of(special.expit))),
    "mish": (_mish, _scaled(_mish_slope)),
    "relu": (_of(np.maximum, 0), lambda x, g, y, w: np.multiply(g, x > 0, out=y)),
    "leaky_relu": (_leaky_relu, _leaky_relu_backward),
    "relu6": _clipped(0, 6),
    "squared_relu": (_squared_relu, _scaled(_squared_relu_slope)),
    "celu": (_elu, _scaled(_elu_slope)),
    "selu": (_selu, _scaled(_selu_slope)),
    "log_sigmoid": (_of(special.log_expit), _scaled(_log_sigmoid_slope)),
    "hard_sigmoid": (_hard_sigmoid, _hard_sigmoid_backward),
    "hard_tanh": _clipped(-1, 1),
    "hard_swish": (_hard_swish, _scaled(_hard_swish_slope)),
    "softshrink": (_softshrink, _shrink_backward),
    "hardshrink": (lambda x, y, w: np.multiply(x, np.abs(x) > 0.5, out=y), _shrink_backward),
    "tanhshrink": (_tanhshrink, _scaled(_tanhshrink_slope)),
    "softsign": (_softsign, _softsign_backward),
    "squareplus": (_squareplus, _scaled(_squareplus_slope)),
    "identity": (_of(np.positive), lambda x, g, y, w: np.copyto(y, g)),
}
"""Value and backward by the function's name."""


def __getattr__(name: str) -> Callable[[Array], Array]:
    """Return a formula's value as a function that allocates its output."""
    if name not in FORMULAS:
        raise AttributeError(
            f"there is no NumPy formula {name!r}; choose from {', '.join(FORMULAS)}"
        )
    value = FORMULAS[name][0]

    def function(x: Array) -> Array:
        out, work = np.empty_like(x), np.empty_like(x)
        value(x, out, work)
        return out

    return function
