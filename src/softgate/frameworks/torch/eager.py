"""Kernels called directly for plain CPU tensors in eager mode, with autograd.

A Function in the old style, with the context in `forward`, has a tenth of the overhead of one that
functorch can transform; it is used only if neither functorch nor a compiler traces the call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import operators, private, small_tensors
from .cpu_kernels import BoundActivation, BoundGated, halves, matched
from .dispatch import all_plain, both_plain

straight = private.straight.get()
_forward_mode = private.forward_mode.get()


class ActivationFunction(torch.autograd.Function):
    """The value; the input is saved for the gradient, or the value if it gives the same bits.

    The next operator often saves the value too.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, computed: tuple[Tensor, BoundActivation]) -> Tensor:
        """Return the value, which a kernel has computed."""
        y, ctx.bound = computed
        ctx.save_for_backward(y if ctx.bound.from_output and y.dtype.itemsize > 1 else x)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """Return slope·grad."""
        (saved,) = ctx.saved_tensors
        return times_slope(ctx.bound, saved, grad), None


class GatedFunction(torch.autograd.Function):
    """act(gate)·other; both operands are saved for the gradient."""

    @staticmethod
    def forward(
        ctx: Any, gate: Tensor, other: Tensor, computed: tuple[Tensor, BoundGated]
    ) -> Tensor:
        """Return the value, which a kernel has computed."""
        ctx.save_for_backward(gate, other)
        y, ctx.bound = computed
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Return both derivatives times `grad`."""
        gate, other = matched(grad, *ctx.saved_tensors)
        bound, (of_gate, of_other, _) = ctx.bound, ctx.needs_input_grad
        if not untraced(gate, other, grad):
            return *partials(bound, gate, other, grad), None
        if not of_gate and bound.factor is None:
            return None, bound.value(gate, grad), None
        first, second = bound.compute("backward", gate, other, grad)
        return first if of_gate else None, second if of_other else None, None


class GatedSplitFunction(torch.autograd.Function):
    """act(gate)·other of the halves of one tensor, which is saved for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, gate_first: bool, bound: BoundGated) -> Tensor:
        """Run the kernel over the rows of both halves."""
        ctx.save_for_backward(x)
        ctx.rest = (dim, gate_first, bound)
        return bound.halves(x, dim, gate_first)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Return the gradient of the whole tensor, both halves computed in one pass."""
        (x,) = ctx.saved_tensors
        dim, gate_first, bound = ctx.rest
        if x.dtype is not grad.dtype:
            x = x.to(grad.dtype)
        if untraced(x, grad):
            return bound.joined(x, dim, gate_first, grad), None, None, None
        both = partials(bound, *halves(x, dim, gate_first), grad)
        return torch.cat(both if gate_first else both[::-1], dim), None, None, None


from_one = straight(ActivationFunction)
from_pair, from_halves = straight(GatedFunction), straight(GatedSplitFunction)


def untraced(*tensors: Tensor) -> bool:
    """Return whether kernels can compute a gradient of these tensors directly.

    The saved tensors and the incoming gradient need not be plain where the operands were.
    """
    return not torch.is_grad_enabled() and all_plain(*tensors)


def times_slope(bound: BoundActivation, saved: Tensor, grad: Tensor) -> Tensor:
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
    if not differentiable and both_plain(saved, grad):
        return bound.binary("backward", saved, grad)
    result: Tensor = operators.operators.backward(saved, grad, *bound.arguments)
    return result


def partials(bound: BoundGated, gate: Tensor, other: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return both derivatives of a gated function times `grad`, differentiable again."""
    first, second = operators.operators.gated_backward(gate, other, grad, *bound.arguments)
    return first, second
