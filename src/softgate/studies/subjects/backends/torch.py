"""Functions and modules of PyTorch on the CPU; derivatives by autograd."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from . import Array, Plain


class Torch(Plain):
    """A function of a tensor."""

    framework = "torch"
    packages = ("torch", "numpy")
    quantities = ("value", "slope", "curvature")

    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`."""
        if quantity == "value":
            with torch.no_grad():
                return from_tensor(self.function(to_tensor(x)))
        leaf = to_tensor(x).requires_grad_()
        result = self.function(leaf)
        if not isinstance(result, torch.Tensor):
            return result
        again = quantity == "curvature"
        (slope,) = torch.autograd.grad(result, leaf, torch.ones_like(result), create_graph=again)
        if not again:
            return from_tensor(slope)
        if not slope.requires_grad:  # the slope is constant
            return np.zeros_like(x)
        (curvature,) = torch.autograd.grad(slope, leaf, torch.ones_like(slope))
        return from_tensor(curvature)

    def set_threads(self, count: int) -> bool:
        """Set torch's threads."""
        torch.set_num_threads(count)
        return torch.get_num_threads() == count


def to_tensor(x: Array) -> torch.Tensor:
    """Return a tensor over the memory of `x`."""
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def from_tensor(result: Any) -> Any:
    """Return a tensor as a NumPy array, and other objects unchanged."""
    if not isinstance(result, torch.Tensor):
        return result
    plain = result.detach().cpu().resolve_neg().contiguous()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return plain.numpy()
