"""GELU as textbooks write it: scipy.stats.norm and NumPy, a new array for every operation."""

from __future__ import annotations

import numpy as np
from scipy.special import erf  # type: ignore[import-untyped]
from scipy.stats import norm  # type: ignore[import-untyped]

from .formulas import Array


def gelu(z: Array) -> Array:
    """z·Φ(z)."""
    result: Array = z * norm.cdf(z)
    return result


def gelu_tanh(z: Array) -> Array:
    """Return the tanh form."""
    result: Array = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
    return result


def gelu_backward(z: Array, grad: Array) -> Array:
    """Return grad·(Φ(z) + z·φ(z))."""
    result: Array = grad * (norm.cdf(z) + z * norm.pdf(z))
    return result


def gelu_erf(x: Array) -> Array:
    """Half of x times 1 plus erf(x/√2): in the left tail the sum cancels."""
    one, root = x.dtype.type(1), x.dtype.type(2) ** x.dtype.type(0.5)
    result: Array = x / 2 * (one + erf(x / root).astype(x.dtype))
    return result


BACKWARDS = {"gelu": gelu_backward}
"""Backwards by the name of the value's function."""
