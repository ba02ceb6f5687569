"""Activations for which torch has no operator, composed of those it has, on memory given to them.

torch.nn.functional itself composes tanhshrink and softsign so. What autograd would have kept of the
value (tanh's output) is made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Maker = Callable[[Any, Any, Any], Callable[[], Any]]


def _steps(*steps: Callable[[Any, Any, Any], Any]) -> Maker:
    """Return a maker of a call that does these steps on x, grad and out, and returns the last's."""

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
