"""The tensors of a call in one shape and format, as kernels need them: two, or halves of one."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softgate.records.text import a_type
from softgate.runtime.activation import Activation

from .cpu_kernels import halves
from .dispatch import as_floats


class Operands(NamedTuple):
    """The tensors of a call: the operands, then grad for "backward"."""

    tensors: tuple[Tensor, ...]
    whole: Tensor | None = None
    """The tensor whose halves along `dim` are the operands."""
    dim: int = -1
    swapped: bool = False
    """Whether the call has the operands in the other order, with `gate`."""

    @classmethod
    def of(
        cls, function: Activation, passed: tuple[Any, ...], axis: Any, gate: Any, backward: bool
    ) -> Operands:
        """Return the operands of a call, the last of which is grad if `backward`; or raise."""
        passed = as_floats(*passed)
        inputs, grads = (passed[:-1], [passed[-1]]) if backward else (passed, [])
        if function.nin == 1:
            (x,) = inputs
            for grad in grads:
                if not (isinstance(x, Tensor) and isinstance(grad, Tensor)):
                    kinds = f"{type(x).__name__} and {type(grad).__name__}"
                    raise TypeError(f"x and grad are {kinds}: expected two tensors, or two arrays")
                _check_grad(grad, x, "x is")
            tensors = tuple(torch.broadcast_tensors(x, *grads)) if grads else (x,)
            return cls(tensors)
        swapped = gate is not None and gate != function.position(None)
        if len(inputs) == 1:
            (x,) = inputs
            dim = split_axis(function.name, x, axis)
            a, b = halves(x, dim, swapped)
            for grad in grads:
                _check_grad(grad, a)
                try:
                    grads = [grad.expand(a.shape)]
                except RuntimeError:
                    raise ValueError(
                        f"grad has shape {tuple(grad.shape)}: the value has {tuple(a.shape)}"
                    ) from None
            return cls((a, b, *grads), x, dim, swapped)
        a, b = _of_one_format(*inputs)
        for grad in grads:
            _check_grad(grad, a)
        # Without a comparison of shapes, which a tracer would record as a constant.
        if torch.jit.is_tracing() or grads or a.shape != b.shape:
            a, b, *grads = torch.broadcast_tensors(a, b, *grads)
        return cls((b, a, *grads) if swapped else (a, b, *grads), swapped=swapped)

    def result(self, quantity: str, results: tuple[Tensor, ...]) -> Any:
        """Return the results as the caller expects them: in the call's order, halves joined."""
        if len(results) == 1:
            return results[0]
        ordered = results[::-1] if self.swapped else results
        if self.whole is None or quantity == "curvature":
            return ordered
        return torch.cat(ordered, self.dim)


def split_axis(name: str, x: Tensor, axis: Any) -> int:
    """Return the axis along which `x` is split into two equal halves, or raise."""
    try:
        dim = -1 if axis is None else operator.index(axis)
    except TypeError:
        raise TypeError(f"axis = {axis!r}: expected a whole number") from None
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"axis = {dim} is out of range: x has {x.dim()} dimensions")
    # A tracer would record the result of the comparison as a constant.
    if not torch.jit.is_tracing() and not x.is_nested and x.shape[dim] % 2:
        raise ValueError(
            f"{name} splits x in two equal halves, and x has the odd length {x.shape[dim]} along "
            f"axis {dim % x.dim()} (its shape is {tuple(x.shape)}): its length must be even"
        )
    return dim


def _of_one_format(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Return two operands as tensors of one dtype, promoted as in a product."""
    if not isinstance(a, Tensor):
        a = _number_like(a, b)
    elif not isinstance(b, Tensor):
        b = _number_like(b, a)
    if a.dtype != b.dtype:
        dtype = torch.result_type(a, b)
        a, b = a.to(dtype), b.to(dtype)
    return a, b


def _number_like(number: Any, tensor: Tensor) -> Tensor:
    if not isinstance(number, int | float):
        raise TypeError(f"{a_type(number)} beside a tensor: expected two tensors, or two arrays")
    return tensor.new_full((), number)


def _check_grad(grad: Any, like: Tensor, subject: str = "the operands are") -> None:
    """Raise unless a gradient is a tensor of the format and device of the operands."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"grad is {a_type(grad)}: expected a tensor, as its operands are")
    if grad.dtype != like.dtype or grad.device != like.device:
        raise TypeError(
            f"{subject} {like.dtype} on {like.device} and grad {grad.dtype} on {grad.device}: "
            "convert one of them"
        )
