"""The distance of two tensors, and modules and inputs for comparisons."""

from __future__ import annotations

import torch
from torch import Tensor, nn

CLOSE = 2e-6
"""Largest distance of two results, over the length of one: float32 rounds to 6e-8 at each step."""


def distance(ours: Tensor, theirs: Tensor) -> float:
    assert ours.shape == theirs.shape
    return float((ours.detach() - theirs.detach()).norm() / theirs.detach().norm())


def shaken(module: nn.Module, seed: int = 0) -> nn.Module:
    """Add noise to every parameter, because ones and zeros would hide errors in products."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(noise, alpha=0.3 / parameter[0].numel() ** 0.5)
    return module


def inputs(width: int, *shape: int, seed: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, width, generator=generator).requires_grad_()


def hidden(mask: Tensor) -> Tensor:
    """The mask as Hugging Face adds it to the scores."""
    return torch.zeros(mask.shape).masked_fill(mask, torch.finfo(torch.float32).min)
