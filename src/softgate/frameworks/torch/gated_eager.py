"""The short way of gated activations: straight to the kernels, with autograd (see `eager`)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import gated_operators
from .eager import straight, unwatched
from .gated_memory import Pair, matched
from .gated_operands import halves


class FromPair(torch.autograd.Function):
    """The value of two tensors, which are kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, other: Tensor, pair: Pair) -> Tensor:
        """Run the kernel."""
        ctx.save_for_backward(gate, other)
        ctx.pair = pair
        return pair.value(gate, other)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Return both derivatives times `grad`."""
        gate, other = matched(grad, *ctx.saved_tensors)
        pair, (of_gate, of_other, _) = ctx.pair, ctx.needs_input_grad
        if not unwatched(gate, other, grad):
            return *both_ways(pair, gate, other, grad), None
        if not of_gate:
            return None, pair.value(gate, grad), None
        first, second = pair.compute("backward", gate, other, grad)
        return first, second if of_other else None, None


class FromHalves(torch.autograd.Function):
    """The value of the halves of one tensor, which is kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, gate_first: bool, pair: Pair) -> Tensor:
        """Run the kernel over rows where they lie."""
        ctx.save_for_backward(x)
        ctx.rest = (dim, gate_first, pair)
        return pair.halves(x, dim, gate_first)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Return the gradient of the whole, each half written where it belongs."""
        (x,) = ctx.saved_tensors
        dim, gate_first, pair = ctx.rest
        if x.dtype is not grad.dtype:
            x = x.to(grad.dtype)
        if unwatched(x, grad):
            return pair.joined(x, dim, gate_first, grad), None, None, None
        both = both_ways(pair, *halves(x, dim, gate_first), grad)
        return torch.cat(both if gate_first else both[::-1], dim), None, None, None


from_pair, from_halves = straight(FromPair), straight(FromHalves)


def both_ways(pair: Pair, gate: Tensor, other: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return both derivatives times `grad`, differentiable again."""
    rest = (pair.key, pair.values, pair.arithmetic or "")
    if torch._C._functorch.is_legacy_batchedtensor(grad):  # is_grads_batched
        first, second = torch.ops.softgate.gated_backward(gate, other, grad, *rest)
    else:
        first, second = gated_operators.BothWays.apply(gate, other, grad, *rest)
    return first, second
