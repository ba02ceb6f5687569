"""What the entry of a user's formula has in addition to that of a function of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LIMITS = ("limit.left", "limit.right", "from.left", "from.right")
"""Scalar parameters of the kernels of users' formulas: the limits at -inf and inf, and the
arguments beyond which they replace non-finite results."""


@dataclass(frozen=True)
class UserFormula:
    """Where a formula is defined, and how its kernels are computed.

    `limits(quantity, parameters)` returns the values of `LIMITS`; float32 is computed in float64
    and rounded once unless `fast`. `defaults` are the parameters before any `bind`.
    """

    module: str
    qualname: str
    doc: str
    limits: Callable[[str, tuple[tuple[str, float], ...]], tuple[float, ...]]
    fast: bool = False
    defaults: tuple[tuple[str, float], ...] = ()
