"""The short way for plain CPU tensors in eager mode: straight to the kernels, with autograd.

A Function in the old style, with the context in `forward`, costs a tenth of one that functorch can
look into; `__init__` sends here only what neither functorch nor a compiler watches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import operators
from .memory import Bound

_functorch = torch._C._functorch


def straight(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """Return `function.apply` without its look-out for functorch, a third of a small call's time.

    For operands that nobody has wrapped.
    """
    apply: Callable[..., Any] = super(torch.autograd.Function, function).apply  # type: ignore[misc]
    return apply


def looked_into(x: torch.Tensor) -> bool:
    """Tell whether functorch, or the vmap of `is_grads_batched`, wraps a tensor."""
    return _functorch.is_functorch_wrapped_tensor(x) or _functorch.is_legacy_batchedtensor(x)


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


class InPlace(FromValue):
    """The same over the input's memory."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, bound: Bound) -> torch.Tensor:
        """Run the kernel in place."""
        bound.in_place(x)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x


def unwatched(grad: torch.Tensor) -> bool:
    """Tell whether nobody differentiates a gradient again or looks into it."""
    return not torch.is_grad_enabled() and type(grad) is torch.Tensor and not looked_into(grad)


def times_slope_at_value(bound: Bound, y: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return slope·grad from the value `y`; in torch operators if it is differentiated again."""
    if unwatched(grad):
        return bound.binary("from_value", y, grad)
    return grad * bound.forms.slope_at_value(y)


def times_slope(bound: Bound, x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return slope(x)·grad; through the operators where somebody differentiates again."""
    if unwatched(grad):
        return bound.binary("backward", x, grad)
    rest = (bound.key, bound.values, bound.arithmetic or "")
    if _functorch.is_legacy_batchedtensor(grad):  # is_grads_batched
        return operators.operators.backward(x, grad, *rest)
    return operators.Backward.apply(x, grad, *rest)
