"""Overwriting a tensor with the values of an activation.

While autograd records, the gradient is computed from the value if possible; otherwise a copy of the
input is saved, as torch's operators do. In-place writes that torch forbids raise before anything is
written: the kernels bypass its checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from . import check_dtype, evaluate
from .compiled import follows
from .cpu_kernels import BoundActivation, dense, run
from .dispatch import is_integer, plain
from .eager import BackwardFromOutput, straight, times_slope
from .operators import bind

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

_autograd = torch._C._autograd


class InPlace(torch.autograd.Function):
    """The value in the memory of the input, where it is saved for the gradient."""

    backward = BackwardFromOutput.backward

    @staticmethod
    def forward(ctx: Any, x: Tensor, bound: BoundActivation) -> Tensor:
        """Run the kernel in place."""
        bound.in_place(x)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x


class InPlaceWithCopy(torch.autograd.Function):
    """The value at `copy`, written over `x`, of which `copy` is a copy made by autograd."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, copy: Tensor, bound: BoundActivation) -> Tensor:
        """Run the kernel from the copy into `x`."""
        if dense(x) is x and copy.stride() == x.stride():
            run(bound.runner("value", x.dtype), x, copy)
        else:
            x.copy_(bound.unary("value", copy))
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

    While autograd records, raise unless the slope is a function of the value. `name` is the name of
    the function called, for error messages; by default the activation's.
    """
    name = name or activation.name
    if is_integer(x):
        result = evaluate(activation, "value", x, parameters=parameters)
        if result.dtype != x.dtype:
            raise TypeError(
                f"{name}_ of a {x.dtype} tensor: its result, {result.dtype}, does not fit; "
                f"write y = {name}(x)"
            )
        return x.copy_(result)
    compiling = is_dynamo_compiling()
    recorded = x.requires_grad and torch.is_grad_enabled()
    if recorded and not follows(activation, parameters, x.dtype, compiling):
        raise RuntimeError(
            f"{name}_ would overwrite what its own gradient needs: "
            f"write x = {name}(x), or use torch.no_grad()"
        )
    if compiling or not plain(x):
        return x.copy_(evaluate(activation, "value", x, parameters=parameters))
    bound: BoundActivation = bind(activation, None, parameters)
    check_dtype(bound, x)
    _check_writable(name, x)
    if recorded:
        overwritten: Tensor = _in_place(x, bound)
        return overwritten
    bound.in_place(x)
    torch.autograd.graph.increment_version(x)
    return x


def overwrite_with_copy(
    activation: Activation, x: Tensor, parameters: Mapping[str, float], name: str
) -> Tensor:
    """Overwrite a tensor as `overwrite` does; copy the input if the gradient needs it."""
    compiling = is_dynamo_compiling()
    recorded = x.requires_grad and torch.is_grad_enabled()
    if not recorded or follows(activation, parameters, x.dtype, compiling):
        return overwrite(activation, x, parameters, name)
    # Through a view, the Function would drop the gradient of elements outside of it.
    if compiling or not plain(x) or x._is_view():
        return x.copy_(evaluate(activation, "value", x.clone(), parameters=parameters))
    bound: BoundActivation = bind(activation, None, parameters)
    check_dtype(bound, x)
    _check_writable(name, x)
    result: Tensor = _in_place_with_copy(x, x.clone(), bound)
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
    if not x._is_view():
        return
    base = x._base
    if base is not None and base.requires_grad and base.is_leaf:
        raise RuntimeError(
            f"{name}_ of a view of a leaf tensor that requires grad: it cannot be overwritten "
            f"while autograd records; write y = {name}(x), or use torch.no_grad()"
        )
    if _autograd._get_creation_meta(x) != _autograd.CreationMeta.DEFAULT:
        raise RuntimeError(
            f"{name}_ of a view that cannot be overwritten while autograd records: it was made "
            f"by a function of several views, as chunk and split are, or without autograd; write "
            f"x = {name}(x), or take the view by an index"
        )
