"""Overwriting a tensor: what torch would refuse is refused before anything is written."""

from __future__ import annotations

from typing import Any

import torch

from .eager import FromValue
from .memory import Bound

_autograd = torch._C._autograd


class InPlace(FromValue):
    """The value over the input's memory, and kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, bound: Bound) -> torch.Tensor:
        """Run the kernel in place."""
        bound.in_place(x)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x


def check_writable(name: str, x: torch.Tensor) -> None:
    """Raise where torch lets nobody write to a tensor; a kernel asks nobody."""
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
    made = _autograd._get_creation_meta(x)
    if made != _autograd.CreationMeta.DEFAULT:
        raise RuntimeError(
            f"{name}_ of a view that cannot be overwritten while autograd records: it was made "
            f"by a function of several views, as chunk and split are, or without autograd; write "
            f"x = {name}(x), or take the view by an index"
        )
