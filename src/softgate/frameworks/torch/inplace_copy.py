"""Overwriting a tensor while autograd records, where the slope needs what is overwritten.

As torch's own operators do: a copy of the input is kept for the gradient. The caller's tensor is
overwritten; only the memory that this would save is not saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from . import bind, check, evaluate, overwrite
from .compiled import follows
from .dispatch import plain
from .eager import straight, times_slope
from .inplace import check_writable
from .memory import Bound, dense, run

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


class Kept(torch.autograd.Function):
    """The value at `before`, written over `x`, of which `before` is a copy that autograd knows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, before: Tensor, bound: Bound) -> Tensor:
        """Run the kernel from the copy into `x`."""
        if dense(x) is x and before.stride() == x.stride():
            run(bound.runner("value", x.dtype), x, before)
        else:
            x.copy_(bound.unary("value", before))
        ctx.mark_dirty(x)
        ctx.save_for_backward(before)
        ctx.bound = bound
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        """Return slope·grad to the copy: nothing is left of what `x` was."""
        (before,) = ctx.saved_tensors
        return None, times_slope(ctx.bound, before, grad), None


_KEPT = straight(Kept)


def overwrite_keeping(
    activation: Activation, x: Tensor, parameters: Mapping[str, float], name: str
) -> Tensor:
    """Overwrite a tensor with the value at each of its elements, whatever the gradient needs.

    `name` is the name of the function called, for error messages.
    """
    compiling = is_dynamo_compiling()
    recorded = x.requires_grad and torch.is_grad_enabled()
    if not recorded or follows(activation, parameters, compiling):
        return overwrite(activation, x, parameters, name)
    # Of a view, what `Kept` does not overwrite would lose its gradient with what it does.
    if compiling or not plain(x) or x._is_view():
        return x.copy_(evaluate(activation, "value", x.clone(), parameters=parameters))
    bound = bind(activation, None, parameters)
    check(bound, x)
    check_writable(name, x)
    result: Tensor = _KEPT(x, x.clone(), bound)
    return result
