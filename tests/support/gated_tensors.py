"""What the tests of gated tensors share: each function, each format, samples."""

from __future__ import annotations

import pytest
import torch
from test_torch import DTYPES
from torch import Tensor

import softgate as sg

GATED = sg.gated()
EACH = pytest.mark.parametrize("function", GATED.values(), ids=GATED)
EACH_DTYPE = pytest.mark.parametrize("dtype", list(DTYPES), ids=str)


def sample(
    *shape: int, seed: int = 0, dtype: torch.dtype = torch.float64, requires_grad: bool = False
) -> Tensor:
    """Random numbers, none near relu's kink."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (x + 0.2 * x.sign()).to(dtype).requires_grad_(requires_grad)
