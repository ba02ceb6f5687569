"""Functions that torch has no name for, composed of its operators as people do."""

from __future__ import annotations

from typing import Any

import torch


def gelu_sigmoid(x: Any) -> Any:
    """x·σ(1.702·x)."""
    return x * torch.sigmoid(1.702 * x)


def squared_relu(x: Any) -> Any:
    """max(x, 0)²."""
    return torch.square(torch.relu(x))


def squareplus(x: Any) -> Any:
    """(x + √(x² + 4))/2."""
    return 0.5 * (x + torch.sqrt(x * x + 4))


def identity(x: Any) -> Any:
    """x, in memory of its own."""
    return x.clone()
