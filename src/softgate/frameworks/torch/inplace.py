"""Overwriting a tensor with the values of an activation.

While autograd records, a copy of the input is saved, because the gradient is computed from it. Only
piecewise-linear functions whose value gives the same gradient need none. In-place writes that torch
forbids raise before anything is written: the kernels bypass its checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from . import evaluate, private
from .cpu_kernels import BoundFunction
from .dispatch import is_integer, plain
from .eager import straight, times_slope
from .operators import bind

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

_views = private.views.get()


class InPlace(torch.autograd.Function):
    """The value in the memory of the input, where it is saved for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bound: BoundFunction) -> Tensor:
        """Run the kernel in place."""
        bound.overwrite("value", (x,), x)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """Return slope·grad."""
        (saved,) = ctx.saved_tensors
        return times_slope(ctx.bound, saved, grad), None


class InPlaceWithCopy(torch.autograd.Function):
    """The value at `copy`, written over `x`, of which `copy` is a copy made by autograd."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, copy: Tensor, bound: BoundFunction) -> Tensor:
        """Run the kernel from the copy into `x`."""
        bound.overwrite("value", (x,), copy)
        ctx.mark_dirty(x)
        ctx.save_for_backward(copy)
        ctx.bound = bound
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        """Return slope·grad for the copy, and no gradient for `x`, which was overwritten."""
        (copy,) = ctx.saved_tensors
        return None, times_slope(ctx.bound, copy, grad), None


_in_place, _in_place_with_copy = straight(InPlace), straight(InPlaceWithCopy)


def overwrite(
    activation: Activation, x: Tensor, parameters: Mapping[str, float], name: str | None = None
) -> Tensor:
    """Overwrite a tensor with the value at each of its elements, and return it.

    `name` is the name of the function called, for error messages; by default the activation's.
    """
    name = name or activation.name
    result: Tensor
    if is_integer(x):
        result = evaluate(activation, "value", x, parameters=parameters)
        if result.dtype != x.dtype:
            raise TypeError(
                f"{name}_ of a {x.dtype} tensor: its result, {result.dtype}, does not fit; "
                f"write y = {name}(x)"
            )
        return x.copy_(result)
    recorded = x.requires_grad and torch.is_grad_enabled()
    if is_dynamo_compiling() or not plain(x):
        source = x.clone() if recorded else x
        return x.copy_(evaluate(activation, "value", source, parameters=parameters))
    bound = bind(activation, None, parameters)
    bound.route("value", x.dtype)  # raises for a dtype without a kernel
    _check_writable(name, x)
    if not recorded:
        bound.overwrite("value", (x,), x)
        torch.autograd.graph.increment_version(x)
        return x
    if _views is not None and bound.saves_output(x.dtype):
        result = _in_place(x, bound)
    elif _views is None or _views.is_view(x):
        # Through a view, the Function would drop the gradient of elements outside of it.
        result = x.copy_(evaluate(activation, "value", x.clone(), parameters=parameters))
    else:
        result = _in_place_with_copy(x, x.clone(), bound)
    return result


def _check_writable(name: str, x: Tensor) -> None:
    """Raise if torch forbids in-place writes to a tensor: kernels bypass its check."""
    if x.is_inference() and not torch.is_inference_mode_enabled():
        raise RuntimeError(
            f"{name}_ of an inference tensor outside of inference mode: it cannot be overwritten; "
            f"write x = {name}(x), or x.clone() first"
        )
    if not (x.requires_grad and torch.is_grad_enabled()):
        return
    if x.is_leaf:
        raise RuntimeError(
            f"{name}_ of a leaf tensor that requires grad: it cannot be overwritten while autograd "
            f"records; write y = {name}(x), or use torch.no_grad()"
        )
    if _views is None or not _views.is_view(x):
        return  # torch's own functions in place, which are called then, raise
    base = _views.base(x)
    if base is not None and base.requires_grad and base.is_leaf:
        raise RuntimeError(
            f"{name}_ of a view of a leaf tensor that requires grad: it cannot be overwritten "
            f"while autograd records; write y = {name}(x), or use torch.no_grad()"
        )
    if _views.forbidden(x):
        raise RuntimeError(
            f"{name}_ of a view that cannot be overwritten while autograd records: it was made "
            f"by a function of several views, as chunk and split are, or without autograd; write "
            f"x = {name}(x), or take the view by an index"
        )
