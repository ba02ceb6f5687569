"""torch's operators by activation, as calls that write into a tensor given to them.

Each maker takes x, grad and out. The overloads are torch's own kernels on out's memory, save
`relu.out`, which allocates and copies: torch.relu runs clamp_min, so that is what is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

A = torch.ops.aten
Maker = Callable[[Any, Any, Any], Callable[[], Any]]

COMPOSED = "torch has no such operator: composed of three (value) or two (backward)"
TAKES_OUTPUT = "torch's backward is handed the output, so it computes no exponential"
ALLOCATES = "torch's operator has no out: it allocates"

NOTES = {
    "value": {"gelu_sigmoid": COMPOSED},
    "backward": {
        "gelu_sigmoid": COMPOSED,
        "sigmoid": TAKES_OUTPUT,
        "tanh": TAKES_OUTPUT,
        "mish": ALLOCATES,
    },
}


def _gelu_sigmoid(x: Any, g: Any, y: Any) -> Callable[[], Any]:
    def call() -> Any:
        torch.mul(x, 1.702, out=y)
        torch.sigmoid(y, out=y)
        return torch.mul(x, y, out=y)

    return call


def _gelu_sigmoid_backward(x: Any, g: Any, y: Any) -> Callable[[], Any]:
    """x·σ(βx) is silu(βx)/β, so its slope is silu's at βx."""

    def call() -> Any:
        torch.mul(x, 1.702, out=y)
        return A.silu_backward.grad_input(g, y, grad_input=y)

    return call


def _of_output(value: Callable[[Any], Any], backward: Callable[..., Any]) -> Maker:
    def make(x: Any, g: Any, y: Any) -> Callable[[], Any]:
        output = value(x)
        return lambda: backward(g, output, grad_input=y)

    return make


def _from_x(value: Callable[..., Any], backward: Callable[..., Any]) -> Maker:
    return lambda x, g, y: lambda: backward(g, value(x, out=y), grad_input=y)


VALUES: dict[str, Maker] = {
    "gelu": lambda x, g, y: lambda: A.gelu.out(x, out=y),
    "gelu_tanh": lambda x, g, y: lambda: A.gelu.out(x, approximate="tanh", out=y),
    "gelu_sigmoid": _gelu_sigmoid,
    "silu": lambda x, g, y: lambda: A.silu.out(x, out=y),
    "sigmoid": lambda x, g, y: lambda: A.sigmoid.out(x, out=y),
    "tanh": lambda x, g, y: lambda: A.tanh.out(x, out=y),
    "elu": lambda x, g, y: lambda: A.elu.out(x, out=y),
    "softplus": lambda x, g, y: lambda: A.softplus.out(x, out=y),
    "mish": lambda x, g, y: lambda: A.mish.out(x, out=y),
    "relu": lambda x, g, y: lambda: A.clamp_min.out(x, 0, out=y),
    "leaky_relu": lambda x, g, y: lambda: A.leaky_relu.out(x, 0.01, out=y),
}

BACKWARDS: dict[str, Maker] = {
    "gelu": lambda x, g, y: lambda: A.gelu_backward.grad_input(g, x, grad_input=y),
    "gelu_tanh": lambda x, g, y: (
        lambda: A.gelu_backward.grad_input(g, x, approximate="tanh", grad_input=y)
    ),
    "gelu_sigmoid": _gelu_sigmoid_backward,
    "silu": lambda x, g, y: lambda: A.silu_backward.grad_input(g, x, grad_input=y),
    "sigmoid": _of_output(torch.sigmoid, A.sigmoid_backward.grad_input),
    "tanh": _of_output(torch.tanh, A.tanh_backward.grad_input),
    "elu": lambda x, g, y: lambda: A.elu_backward.grad_input(g, 1, 1, 1, False, x, grad_input=y),
    "softplus": lambda x, g, y: lambda: A.softplus_backward.grad_input(g, x, 1, 20, grad_input=y),
    "mish": lambda x, g, y: lambda: A.mish_backward(g, x),
    "relu": lambda x, g, y: lambda: A.threshold_backward.grad_input(g, x, 0, grad_input=y),
    "leaky_relu": lambda x, g, y: (
        lambda: A.leaky_relu_backward.grad_input(g, x, 0.01, False, grad_input=y)
    ),
}

CALLS = {"value": VALUES, "backward": BACKWARDS}

BACKWARDS_FROM_X: dict[str, Maker] = {
    "sigmoid": _from_x(torch.sigmoid, A.sigmoid_backward.grad_input),
    "tanh": _from_x(torch.tanh, A.tanh_backward.grad_input),
}
