"""Kernels called directly for plain CPU tensors in eager mode, with autograd.

A Function in the old style, with the context in `forward`, has a tenth of the overhead of one that
functorch can transform; it is used only if neither functorch nor a compiler traces the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import private, small_tensors
from .cpu_kernels import BoundFunction, halves, matched
from .dispatch import all_plain, both_plain
from .operators import backward_of

straight = private.straight.get()
_forward_mode = private.forward_mode.get()


class KernelFunction(torch.autograd.Function):
    """The value; the operands are saved for the gradient, or the value if it gives the same bits.

    The next operator often saves the value too. The two operands may be the halves of one tensor,
    which is then saved, and gets one gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, computed: tuple[Tensor, BoundFunction, Halved | None], *operands: Tensor
    ) -> Tensor:
        """Return the value, which a kernel has computed."""
        y, ctx.bound, ctx.halved = computed
        if ctx.bound.from_output and y.dtype.itemsize > 1:
            ctx.save_for_backward(y)
        else:
            ctx.save_for_backward(*operands)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Return the derivatives times `grad` by the operands that need one."""
        saved = ctx.saved_tensors
        if ctx.halved is not None:
            return None, _joined(ctx.bound, ctx.halved, saved[0], grad)
        if len(saved) == 1:
            return None, times_slope(ctx.bound, saved[0], grad)
        return None, *partials(ctx.bound, saved, grad, ctx.needs_input_grad[1:])


recorded_value = straight(KernelFunction)
Halved = tuple[int, bool]
"""The axis along which a tensor is cut in two operands, and whether the second half is first."""


def untraced(*tensors: Tensor) -> bool:
    """Return whether kernels can compute a gradient of these tensors directly.

    The saved tensors and the incoming gradient need not be plain where the operands were.
    """
    return not torch.is_grad_enabled() and all_plain(*tensors)


def times_slope(bound: BoundFunction, saved: Tensor, grad: Tensor) -> Tensor:
    """Return slope·grad; through the operators if it is differentiated again."""
    differentiable = torch.is_grad_enabled()
    if not differentiable and _forward_mode._current_level < 0:
        product = small_tensors.operators.get().binary(
            saved, grad, bound.tables["backward"].address
        )
        if product is not None:
            return product
    if saved.dtype is not grad.dtype:  # a hook may have changed the dtype of saved tensors
        saved = saved.to(grad.dtype)
    result: Tensor
    if not differentiable and both_plain(saved, grad):
        result = bound.compute("backward", saved, grad)
    else:
        result = backward_of(1)(saved, grad, *bound.arguments)
    return result


def partials(
    bound: BoundFunction, saved: Sequence[Tensor], grad: Tensor, needed: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    """Return the derivatives by two operands times `grad`, those that are needed."""
    operands = (*matched(grad, *saved), grad)
    if not untraced(*operands):
        return tuple(backward_of(2)(*operands, *bound.arguments))
    if all(needed):
        return tuple(bound.compute("backward", *operands))
    return tuple(
        [
            bound.compute("backward", *operands, result=k) if need else None
            for k, need in enumerate(needed)
        ]
    )


def _joined(bound: BoundFunction, halved: Halved, x: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient of a tensor of which both halves are operands, computed in one pass."""
    dim, swapped = halved
    if x.dtype is not grad.dtype:
        x = x.to(grad.dtype)
    if untraced(x, grad):
        return bound.joined(x, dim, swapped, grad)
    both = backward_of(2)(*halves(x, dim, swapped), grad, *bound.arguments)
    return torch.cat(both[::-1] if swapped else both, dim)
