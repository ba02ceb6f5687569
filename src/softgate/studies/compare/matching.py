"""The width at which a gated model is as large, or as costly, as the plain one beside it.

A gated layer has two products where a plain one has one. Compared at one width it would win by
size; so its width is the one that comes nearest to the plain model's parameters or operations.
Neither is hit exactly: a trial records what each model really has.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

MATCHES = ("parameters", "flops")


def parameters(model: nn.Module) -> int:
    """Return how many numbers are learnt."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def products(model: nn.Module) -> float:
    """Return the operations of all linear layers for one input of each: 2·inputs·outputs."""
    linear = (m for m in model.modules() if isinstance(m, nn.Linear))
    return float(sum(2 * m.in_features * m.out_features for m in linear))


def operations(model: nn.Module, example: Tensor) -> float:
    """Return the operations of a forward pass of one example, in matrix products alone.

    That is what torch's own counter counts: activations, norms and sums are left out, and so is
    attention where it is fused, the same for all arms.
    """
    counter = FlopCounterMode(display=False)
    model.eval()
    with torch.no_grad(), counter:
        model(example[None])
    model.train()
    return float(counter.get_total_flops())


def nearest(count: Callable[[int], float], target: float, start: int) -> int:
    """Return the width whose count, which rises with it, is nearest to `target`.

    Examples
    --------
    >>> nearest(lambda width: 2 * width**2, 128**2, 128)
    91
    """
    low, high = 1, max(2, start)
    while count(high) < target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < target else (low, middle)
    return min((low, high), key=lambda width: (abs(count(width) - target), width))
