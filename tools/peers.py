"""What other people's GELU is where no library has it under one name: formulas over SciPy."""

from __future__ import annotations

from typing import Any

from scipy.special import erf, ndtr


def gelu_ndtr(x: Any) -> Any:
    """x·Phi(x), as most write it."""
    return x * ndtr(x)


def gelu_erf(x: Any) -> Any:
    """Half of x times 1 plus erf(x/√2), the same with more cancellation."""
    one, root = x.dtype.type(1), x.dtype.type(2) ** x.dtype.type(0.5)
    return x / 2 * (one + erf(x / root).astype(x.dtype))
