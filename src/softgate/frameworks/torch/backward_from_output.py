"""slope·grad told from the value, as a torch operator: what is overwritten is not needed.

`softgate::from_value` is to activations whose slope follows from their value what
`softgate::backward` is to all. It goes on by derivatives by the value, which are polynomials.
"""

from __future__ import annotations

from typing import Any

import torch

from . import operators
from .operators import LIBRARY, batched, bound_of


def _from_value(y: torch.Tensor, grad: torch.Tensor, key: str, p: list[float], a: str) -> Any:
    return bound_of(key, p, a).binary("from_value", y, grad)


LIBRARY.define(
    "from_value(Tensor y, Tensor grad, str activation, float[] parameters, str arithmetic)"
    " -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
LIBRARY.impl("from_value", _from_value, "CPU")
torch.library.register_fake("softgate::from_value", lambda y, *_: torch.empty_like(y), lib=LIBRARY)


class AtValue(torch.autograd.Function):
    """slope·grad from the value in one pass, differentiable in both."""

    @staticmethod
    def forward(
        y: torch.Tensor, grad: torch.Tensor, key: str, p: list[float], a: str
    ) -> torch.Tensor:
        """Return the product from the kernel or, of fake tensors, its shape."""
        with torch._C._AutoDispatchBelowAutograd():
            return operators.operators.from_value(y, grad, key, p, a)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep both inputs."""
        y, grad, *ctx.rest = inputs
        ctx.save_for_backward(y, grad)
        ctx.save_for_forward(y, grad)

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor) -> Any:
        """Return outer·grad times the slope's derivative by the value, and outer·slope."""
        y, grad = ctx.saved_tensors
        change = bound_of(*ctx.rest).forms.slope_at_value(y, 1)
        return outer * grad * change, AtValue.apply(y, outer, *ctx.rest), None, None, None

    @staticmethod
    def jvp(ctx: Any, along_y: Any, along_grad: Any, *_: Any) -> torch.Tensor:
        """Return the change of slope·grad along both tangents."""
        y, grad = ctx.saved_tensors
        change = torch.zeros_like(y)
        if along_y is not None:
            change = along_y * grad * bound_of(*ctx.rest).forms.slope_at_value(y, 1)
        if along_grad is not None:
            change = change + AtValue.apply(y, along_grad, *ctx.rest)
        return change

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, y: torch.Tensor, grad: torch.Tensor, *rest: Any
    ) -> tuple[torch.Tensor, int]:
        """Bring both batches to the front."""
        return AtValue.apply(*batched(info.batch_size, in_dims, y, grad), *rest), 0


LIBRARY.impl("from_value", AtValue.apply, "Autograd")
torch.library.register_vmap("softgate::from_value", AtValue.vmap, lib=LIBRARY)
