"""The short way for plain CPU tensors in eager mode: straight to the kernels, with autograd.

A Function in the old style, with the context in `forward`, costs a tenth of one that functorch can
look into; `__init__` sends here only what neither functorch nor a compiler watches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import backward_from_output, operators
from .dispatch import all_plain
from .memory import Bound

_functorch = torch._C._functorch


def straight(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """Return `function.apply` without its look-out for functorch, a third of a small call's time.

    For operands that nobody has wrapped.
    """
    apply: Callable[..., Any] = super(torch.autograd.Function, function).apply  # type: ignore[misc]
    return apply


class FromInput(torch.autograd.Function):
    """The value; the input is kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, bound: Bound) -> torch.Tensor:
        """Run the kernel."""
        ctx.save_for_backward(x)
        ctx.bound = bound
        return bound.unary("value", x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return slope(x)·grad."""
        (x,) = ctx.saved_tensors
        return times_slope(ctx.bound, x, grad), None


class FromValue(torch.autograd.Function):
    """The value, which is kept for the gradient: whoever follows keeps it anyway."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, bound: Bound) -> torch.Tensor:
        """Run the kernel."""
        y = bound.unary("value", x)
        ctx.save_for_backward(y)
        ctx.bound = bound
        return y

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the slope, told from the value, times grad."""
        (y,) = ctx.saved_tensors
        return times_slope_at_value(ctx.bound, y, grad), None


def unwatched(*tensors: torch.Tensor) -> bool:
    """Tell whether tensors have memory that kernels can read, and nobody looks into the call.

    Asked when a gradient is computed: what was kept and what arrives need not be of the kind that
    the value was computed from.
    """
    return not torch.is_grad_enabled() and all_plain(*tensors)


def times_slope_at_value(bound: Bound, y: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return slope·grad from the value `y`; through the operators if somebody goes on from it."""
    return _times(bound, "from_value", y, grad)


def times_slope(bound: Bound, x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return slope(x)·grad; through the operators where somebody differentiates again."""
    return _times(bound, "backward", x, grad)


def _times(bound: Bound, quantity: str, kept: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    if kept.dtype is not grad.dtype:  # a hook may have given back what it keeps in another format
        kept = kept.to(grad.dtype)
    if unwatched(kept, grad):
        return bound.binary(quantity, kept, grad)
    function, operator = (
        (operators.Backward, operators.operators.backward)
        if quantity == "backward"
        else (backward_from_output.AtValue, operators.operators.from_value)
    )
    rest = (bound.key, bound.values, bound.arithmetic or "")
    if _functorch.is_legacy_batchedtensor(grad):  # is_grads_batched
        return operator(kept, grad, *rest)
    return function.apply(kept, grad, *rest)
