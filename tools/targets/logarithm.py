"""P(z) = (2·atanh(√z) - 2·√z)/√z³, for log(1 + E) = E - s·(E - z·P(z)), s = E/(2 + E), z = s².

The series of atanh in s converges twice as fast as log's own in E, and written from E downwards
its error counts only by the factor s·z ≤ 1/27.
"""

from __future__ import annotations

from typing import Any

import mpmath
from polynomial import fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formats import FLOAT32, FLOAT64

LARGEST = 1 / 9
"""E <= 1 is s <= 1/3."""
TERMS = {"float32": 4, "float64": 10}


def remainder(z: Any) -> Any:
    """Return (2·atanh(s) - 2·s)/s³ at z = s²."""
    s = mpmath.sqrt(z)
    return 2 * (mpmath.atanh(s) - s) / s**3


def share(z: Any) -> Any:
    """Return s³/log(1 + E): how much a relative error of log(1 + E) is in P."""
    s = mpmath.sqrt(z)
    return s**3 / (2 * mpmath.atanh(s))


def derive() -> dict[str, Fit]:
    """Return the fit of each format."""
    fits = {}
    for fmt in (FLOAT32, FLOAT64):
        coefficients, error = fit_polynomial(
            remainder, range(TERMS[fmt.name]), (0.0, LARGEST), fmt, weight=share
        )
        fits[f"LOG1P_{fmt.name.upper()}"] = Fit(
            target="P(z) = (2*atanh(s) - 2*s)/s**3, z = s**2, with which log(1 + E) = E - s*(E - z*P(z))",
            form="c0 + c1*z + ..., s = E/(2 + E), 0 <= E <= 1; error relative to log(1 + E)",
            interval=(0.0, LARGEST),
            error_log2=error,
            coefficients=coefficients,
        )
    return fits
