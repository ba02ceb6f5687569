"""Calls on torch tensors over NumPy's memory: operators, autograd, torch.compile.

Where torch has an operator with an `out` argument, that operator is timed: eager code runs the same
kernel. Other derivatives go through autograd, the backward alone, from the tensors it saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..backends import from_tensor, to_tensor
from .registry import Peer
from .timed_call import ALLOCATES, Array, BenchTask, TimedCall, load

AUTOGRAD = "through autograd: the backward alone, from the saved tensors"


def start(threads: int) -> str:
    """Set torch's threads."""
    torch.set_num_threads(threads)
    return ""


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of torch's operator, or of a function of tensors."""
    if peer.implementation == "torch" and peer.usual and task.reused:
        maker = OPERATORS[task.quantity].get(peer.function)
        if maker is not None:
            value, backward = NOTES.get(peer.function, ("", ""))
            note = value if task.quantity == "value" else backward
            tensors = (to_tensor(array) for array in (task.x, task.grad, task.out))
            return TimedCall(maker(*tensors), read, (note,) if note else ())
    function = load(peer)
    if peer.implementation == "torch.compile":
        import torch._functorch.config as functorch

        torch._dynamo.reset()  # recompiling for another shape or dtype would be dynamic
        functorch.donated_buffer = False  # otherwise only one backward would be possible
        function = torch.compile(function, fullgraph=True)
    return of_function(function, task)


def of_function(function: Callable[[Any], Any], task: BenchTask) -> TimedCall:
    """Return the call of a function of tensors, or of its backward."""
    x = to_tensor(task.x)
    allocates = (ALLOCATES,) if task.reused else ()
    if task.quantity == "value":
        return TimedCall(lambda: function(x), read, allocates, x)
    leaf, grad = x.requires_grad_(), to_tensor(task.grad)
    y = function(leaf)

    def backward() -> Any:
        return torch.autograd.grad(y, leaf, grad, retain_graph=True)[0]

    return TimedCall(backward, read, (AUTOGRAD, *allocates), grad)


def saved_bytes(function: Callable[[Any], Any], count: int) -> int:
    """Return the bytes that autograd saves for the backward of a function."""
    from softgate.torch import saved_bytes as count_bytes

    return count_bytes(function, torch.linspace(-3, 3, count, requires_grad=True))


def read(tensor: Any) -> Array:
    """Return a tensor as an array."""
    return np.asarray(from_tensor(tensor))


def gelu_sigmoid(x: Any) -> Any:
    """x·σ(1.702·x)."""
    return x * torch.sigmoid(1.702 * x)


def squared_relu(x: Any) -> Any:
    """max(x, 0)²."""
    return torch.square(torch.relu(x))


def squareplus(x: Any) -> Any:
    """(x + √(x² + 4))/2."""
    return 0.5 * (x + torch.sqrt(x * x + 4))


def identity(x: Any) -> Any:
    """Return a copy of x."""
    return x.clone()


A = torch.ops.aten
Maker = Callable[[Any, Any, Any], Callable[[], Any]]

COMPOSED = "torch has no such operator: composed of three (value) or two (backward)"
COMPOSED_OF = "torch has no such operator: composed of {}"
TAKES_OUTPUT = "torch's backward takes the output, so it computes no exponential"
NO_OUT = "torch's operator has no out argument: it allocates"
COPIES = "torch copies: it has nothing to compute"
SAVES = "torch also writes exp(-|x|), for its backward"
TAKES_SAVED = "torch's backward takes the saved exp(-|x|), so it computes no exponential"


NOTES = {
    "gelu_sigmoid": (COMPOSED, COMPOSED),
    "sigmoid": ("", TAKES_OUTPUT),
    "tanh": ("", TAKES_OUTPUT),
    "mish": ("", NO_OUT),
    "hard_swish": ("", NO_OUT),
    "log_sigmoid": (SAVES, TAKES_SAVED),
    "squared_relu": (COMPOSED_OF.format(2), COMPOSED_OF.format(3)),
    "tanhshrink": (COMPOSED_OF.format(2), f"{COMPOSED_OF.format(2)}, and {TAKES_OUTPUT}"),
    "softsign": (COMPOSED_OF.format(3), COMPOSED_OF.format(4)),
    "squareplus": (COMPOSED_OF.format(5), COMPOSED_OF.format(7)),
    "identity": (COPIES, COPIES),
}
"""Notes on the value and on the backward of some functions."""

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
    saved = torch.empty_like(x)
    return lambda: A.log_sigmoid_forward.output(x, output=y, buffer=saved)[0]


def _log_sigmoid_backward(x: Any, g: Any, y: Any) -> Callable[[], Any]:
    saved = A.log_sigmoid_forward(x)[1]
    return lambda: A.log_sigmoid_backward.grad_input(g, x, saved, grad_input=y)


def _backward(operator: Any, *scalars: Any) -> Maker:
    return lambda x, g, y: lambda: operator.grad_input(g, x, *scalars, grad_input=y)


def _elu_backward(*scalars: float) -> Maker:
    return lambda x, g, y: lambda: A.elu_backward.grad_input(g, *scalars, False, x, grad_input=y)


def _steps(*steps: Callable[[Any, Any, Any], Any]) -> Maker:
    """Return a maker of a call that runs `steps` on x, grad and out and returns the last result."""

    def make(x: Any, g: Any, y: Any) -> Callable[[], Any]:
        def call() -> Any:
            result = y
            for step in steps:
                result = step(x, g, y)
            return result

        return call

    return make


def _tanhshrink_backward(x: Any, g: Any, y: Any) -> Callable[[], Any]:
    output = torch.tanh(x)

    def call() -> Any:
        torch.ops.aten.tanh_backward.grad_input(g, output, grad_input=y)
        return torch.sub(g, y, out=y)

    return call


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
    "squared_relu": _steps(
        lambda x, g, y: torch.clamp_min(x, 0, out=y), lambda x, g, y: torch.mul(y, y, out=y)
    ),
    "tanhshrink": _steps(
        lambda x, g, y: torch.tanh(x, out=y), lambda x, g, y: torch.sub(x, y, out=y)
    ),
    "softsign": _steps(
        lambda x, g, y: torch.abs(x, out=y),
        lambda x, g, y: torch.add(y, 1, out=y),
        lambda x, g, y: torch.div(x, y, out=y),
    ),
    "squareplus": _steps(
        lambda x, g, y: torch.mul(x, x, out=y),
        lambda x, g, y: torch.add(y, 4, out=y),
        lambda x, g, y: torch.sqrt(y, out=y),
        lambda x, g, y: torch.add(x, y, out=y),
        lambda x, g, y: torch.mul(y, 0.5, out=y),
    ),
    "identity": _steps(lambda x, g, y: y.copy_(x)),
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
    "squared_relu": _steps(
        lambda x, g, y: torch.clamp_min(x, 0, out=y),
        lambda x, g, y: torch.mul(y, g, out=y),
        lambda x, g, y: torch.mul(y, 2, out=y),
    ),
    "tanhshrink": _tanhshrink_backward,
    "softsign": _steps(
        lambda x, g, y: torch.abs(x, out=y),
        lambda x, g, y: torch.add(y, 1, out=y),
        lambda x, g, y: torch.mul(y, y, out=y),
        lambda x, g, y: torch.div(g, y, out=y),
    ),
    "squareplus": _steps(
        lambda x, g, y: torch.mul(x, x, out=y),
        lambda x, g, y: torch.add(y, 4, out=y),
        lambda x, g, y: torch.rsqrt(y, out=y),
        lambda x, g, y: torch.mul(x, y, out=y),
        lambda x, g, y: torch.add(y, 1, out=y),
        lambda x, g, y: torch.mul(y, g, out=y),
        lambda x, g, y: torch.mul(y, 0.5, out=y),
    ),
    "identity": _steps(lambda x, g, y: y.copy_(g)),
}

OPERATORS = {"value": VALUES, "backward": BACKWARDS}
