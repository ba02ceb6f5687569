"""Operands of a gated call: two tensors of one shape and format, or the halves of one."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor


def halves(x: Tensor, dim: int, gate_first: bool) -> tuple[Tensor, Tensor]:
    """Return both halves of `x`, the gate first."""
    first, second = x.chunk(2, dim)
    return (first, second) if gate_first else (second, first)


def cut(name: str, x: Tensor, axis: Any) -> int:
    """Return where `x` is cut in two equal halves, or raise."""
    try:
        dim = -1 if axis is None else operator.index(axis)
    except TypeError:
        raise TypeError(f"axis = {axis!r}: expected a whole number") from None
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"axis = {dim} is out of range: x has {x.dim()} dimensions")
    if (
        not _traced() and not x.is_nested and x.shape[dim] % 2
    ):  # a tracer would take the answer for a constant
        raise ValueError(
            f"{name} splits x in two equal halves, and x has the odd length {x.shape[dim]} along "
            f"axis {dim % x.dim()} (its shape is {tuple(x.shape)}): its length must be even"
        )
    return dim


def together(name: str, operands: tuple[Any, ...], axis: Any) -> tuple[Tensor, Tensor]:
    """Return two operands as tensors of one shape and format, as a product of tensors would."""
    if axis is not None:
        raise TypeError(
            f"axis = {axis!r} with two operands: {name} cuts one tensor along an axis, two it "
            "takes as they are"
        )
    a, b = operands
    if not isinstance(a, Tensor):
        a = _beside(a, b)
    elif not isinstance(b, Tensor):
        b = _beside(b, a)
    if a.dtype != b.dtype:
        dtype = torch.result_type(a, b)
        a, b = a.to(dtype), b.to(dtype)
    if _traced() or a.shape != b.shape:
        a, b = torch.broadcast_tensors(a, b)
    return a, b


def _traced() -> bool:
    return torch._C._get_tracing_state() is not None


def _beside(number: Any, tensor: Tensor) -> Tensor:
    if not isinstance(number, int | float):
        raise TypeError(
            f"a {type(number).__name__} beside a tensor: expected two tensors, or two arrays"
        )
    return tensor.new_full((), number)


def spread(grad: Any, like: Tensor) -> Tensor:
    """Return a gradient in the shape of what it belongs to, or raise."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"grad is a {type(grad).__name__}: expected a tensor, as its operands are")
    if grad.dtype != like.dtype or grad.device != like.device:
        raise TypeError(
            f"the operands are {like.dtype} on {like.device} and grad is {grad.dtype} on "
            f"{grad.device}: convert one of them"
        )
    try:
        return grad.expand(like.shape)
    except RuntimeError:
        raise ValueError(
            f"grad has shape {tuple(grad.shape)}: the value has {tuple(like.shape)}"
        ) from None
