"""More of `formulas`: clipped, shrunk and algebraic activations, kin of elu and softplus."""

from __future__ import annotations

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from .formulas import Array, Backward, Value, elu, elu_backward, tanh

ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _clipped(low: float, high: float) -> tuple[Value, Backward]:
    def value(x: Array, y: Array, w: Array) -> None:
        np.clip(x, low, high, out=y)

    def backward(x: Array, g: Array, y: Array, w: Array) -> None:
        np.multiply(g, (x > low) & (x < high), out=y)

    return value, backward


def _squared_relu(x: Array, y: Array, w: Array) -> None:
    np.maximum(x, 0, out=y)
    y *= y


def _squared_relu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.maximum(x, 0, out=y)
    y *= 2
    y *= g


def _selu(x: Array, y: Array, w: Array) -> None:
    np.minimum(x, 0, out=w)
    np.expm1(w, out=w)
    w *= ALPHA
    np.maximum(x, 0, out=y)
    y += w
    y *= SCALE


def _selu_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.minimum(x, 0, out=w)
    np.exp(w, out=y)
    y *= SCALE * ALPHA
    np.copyto(y, SCALE, where=x > 0)
    y *= g


def _log_sigmoid(x: Array, y: Array, w: Array) -> None:
    special.log_expit(x, out=y)


def _log_sigmoid_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.negative(x, out=y)
    special.expit(y, out=y)
    y *= g


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


def _hard_swish_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(x, 1 / 3, out=y)
    y += 0.5
    np.copyto(y, 0, where=x <= -3)
    np.copyto(y, 1, where=x >= 3)
    y *= g


def _softshrink(x: Array, y: Array, w: Array) -> None:
    np.clip(x, -0.5, 0.5, out=w)
    np.subtract(x, w, out=y)


def _hardshrink(x: Array, y: Array, w: Array) -> None:
    np.multiply(x, np.abs(x) > 0.5, out=y)


def _shrink_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.multiply(g, np.abs(x) > 0.5, out=y)


def _tanhshrink(x: Array, y: Array, w: Array) -> None:
    tanh(x, w, y)
    np.subtract(x, w, out=y)


def _tanhshrink_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    tanh(x, y, w)
    y *= y
    y *= g


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


def _squareplus_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    _root(x, w)
    np.divide(x, w, out=y)
    y += 1
    y *= 0.5
    y *= g


def _identity(x: Array, y: Array, w: Array) -> None:
    np.copyto(y, x)


def _identity_backward(x: Array, g: Array, y: Array, w: Array) -> None:
    np.copyto(y, g)


FORMULAS: dict[str, tuple[Value, Backward]] = {
    "relu6": _clipped(0, 6),
    "squared_relu": (_squared_relu, _squared_relu_backward),
    "celu": (elu, elu_backward),
    "selu": (_selu, _selu_backward),
    "log_sigmoid": (_log_sigmoid, _log_sigmoid_backward),
    "hard_sigmoid": (_hard_sigmoid, _hard_sigmoid_backward),
    "hard_tanh": _clipped(-1, 1),
    "hard_swish": (_hard_swish, _hard_swish_backward),
    "softshrink": (_softshrink, _shrink_backward),
    "hardshrink": (_hardshrink, _shrink_backward),
    "tanhshrink": (_tanhshrink, _tanhshrink_backward),
    "softsign": (_softsign, _softsign_backward),
    "squareplus": (_squareplus, _squareplus_backward),
    "identity": (_identity, _identity_backward),
}
