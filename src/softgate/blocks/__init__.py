"""The building blocks of stable forms: tails carried scaled, products carried in two parts.

Every activation here is max(x, 0) or a step, minus or plus a *tail* of a = |x| that decays. A
tail is carried times 2**scale and unscaled by the very last fma, so nothing before it can become
subnormal and the result underflows gradually. `ramp` and `step` are the only places that unscale.
"""

from __future__ import annotations

from softgate.formula.formats import Format
from softgate.formula.graph import Graph

from .gaussian import Gaussian
from .logarithm import Logarithm
from .scaled import Tail, TwoFloat

__all__ = ["Kernel", "Tail", "TwoFloat"]


class Kernel(Gaussian, Logarithm):
    """The arithmetic that stable forms are written over, for float32 or float64 with fma."""

    def __init__(self, fmt: Format, graph: Graph | None = None, fused: bool = True) -> None:
        super().__init__(fmt, graph, fused)
