"""The building blocks of stable forms: scaled tails, and products in two parts.

Most activations are max(x, 0) or a step function, minus or plus a decaying *tail* of a = |x|. Tails
are multiplied by 2**scale and unscaled by the last fma, so that no intermediate result is subnormal
and the result underflows gradually.
"""

from __future__ import annotations

from .gaussian import Gaussian
from .log1p_exp import Logarithm
from .two_float import Tail, TwoFloat

__all__ = ["KernelArithmetic", "Tail", "TwoFloat"]


class KernelArithmetic(Gaussian, Logarithm):
    """The arithmetic that stable forms are written over, for float32 or float64 with fma."""
