"""torch's operators by activation, as calls that write into a tensor given to them.

Each maker takes x, grad and out. The overloads are torch's own kernels on out's memory, save
`relu.out`, which allocates and copies: torch.relu runs clamp_min, so that is what is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import torch_steps

A = torch.ops.aten
Maker = Callable[[Any, Any, Any], Callable[[], Any]]

COMPOSED = "torch has no such operator: composed of three (value) or two (backward)"
TAKES_OUTPUT = "torch's backward is handed the output, so it computes no exponential"
ALLOCATES = "torch's operator has no out: it allocates"
COPIES = "torch copies: it has nothing to compute"
KEEPS = "torch writes exp(-|x|) beside the result, for its backward"
TAKES_KEPT = "torch's backward is handed exp(-|x|), so it computes no exponential"


def _composed_of(value: int, backward: int) -> dict[str, str]:
    text = "torch has no such operator: composed of {}"
    return {"value": text.format(value), "backward": text.format(backward)}


_COMPOSED = {
    "squared_relu": _composed_of(2, 3),
    "tanhshrink": {
        "value": _composed_of(2, 2)["value"],
        "backward": f"{_composed_of(2, 2)['backward']}, and {TAKES_OUTPUT}",
    },
    "softsign": _composed_of(3, 4),
    "squareplus": _composed_of(5, 7),
    "identity": {"value": COPIES, "backward": COPIES},
}

NOTES = {
    "value": {
        "gelu_sigmoid": COMPOSED,
        "log_sigmoid": KEEPS,
        **{name: notes["value"] for name, notes in _COMPOSED.items()},
    },
    "backward": {
        "gelu_sigmoid": COMPOSED,
        "sigmoid": TAKES_OUTPUT,
        "tanh": TAKES_OUTPUT,
        "mish": ALLOCATES,
        "hard_swish": ALLOCATES,
        "log_sigmoid": TAKES_KEPT,
        **{name: notes["backward"] for name, notes in _COMPOSED.items()},
    },
}

SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


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


def _log_sigmoid(x: Any, g: Any, y: Any) -> Callable[[], Any]:
    kept = torch.empty_like(x)
    return lambda: A.log_sigmoid_forward.output(x, output=y, buffer=kept)[0]


def _log_sigmoid_backward(x: Any, g: Any, y: Any) -> Callable[[], Any]:
    kept = A.log_sigmoid_forward(x)[1]
    return lambda: A.log_sigmoid_backward.grad_input(g, x, kept, grad_input=y)


def _backward(operator: Any, *scalars: Any) -> Maker:
    return lambda x, g, y: lambda: operator.grad_input(g, x, *scalars, grad_input=y)


def _elu_backward(*scalars: float) -> Maker:
    return lambda x, g, y: lambda: A.elu_backward.grad_input(g, *scalars, False, x, grad_input=y)


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
    "relu6": lambda x, g, y: lambda: A.hardtanh.out(x, 0, 6, out=y),
    "celu": lambda x, g, y: lambda: A.elu.out(x, out=y),
    "selu": lambda x, g, y: lambda: A.elu.out(x, *SELU, out=y),
    "log_sigmoid": _log_sigmoid,
    "hard_sigmoid": lambda x, g, y: lambda: A.hardsigmoid.out(x, out=y),
    "hard_tanh": lambda x, g, y: lambda: A.hardtanh.out(x, out=y),
    "hard_swish": lambda x, g, y: lambda: A.hardswish.out(x, out=y),
    "softshrink": lambda x, g, y: lambda: A.softshrink.out(x, out=y),
    "hardshrink": lambda x, g, y: lambda: A.hardshrink.out(x, out=y),
    **torch_steps.VALUES,
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
    "elu": _elu_backward(1, 1, 1),
    "softplus": lambda x, g, y: lambda: A.softplus_backward.grad_input(g, x, 1, 20, grad_input=y),
    "mish": lambda x, g, y: lambda: A.mish_backward(g, x),
    "relu": lambda x, g, y: lambda: A.threshold_backward.grad_input(g, x, 0, grad_input=y),
    "leaky_relu": lambda x, g, y: (
        lambda: A.leaky_relu_backward.grad_input(g, x, 0.01, False, grad_input=y)
    ),
    "relu6": _backward(A.hardtanh_backward, 0, 6),
    "celu": _elu_backward(1, 1, 1),
    "selu": _elu_backward(*SELU),
    "log_sigmoid": _log_sigmoid_backward,
    "hard_sigmoid": _backward(A.hardsigmoid_backward),
    "hard_tanh": _backward(A.hardtanh_backward, -1, 1),
    "hard_swish": lambda x, g, y: lambda: A.hardswish_backward(g, x),
    "softshrink": _backward(A.softshrink_backward, 0.5),
    "hardshrink": _backward(A.hardshrink_backward, 0.5),
    **torch_steps.BACKWARDS,
}

CALLS = {"value": VALUES, "backward": BACKWARDS}
