"""erf(x)/x - 1 in z = x², for |x| <= 3/4: beyond it 1 - erfc(x) loses nothing.

erf(x) = x + x·R(z) adds the small part to x itself, so that R's own rounding counts by 0.13.
"""

from __future__ import annotations

from typing import Any

import mpmath
from mpmath import mp
from polynomial import DIGITS, fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formula.formats import FLOAT32, FLOAT64, Format

LARGEST = 0.5625
"""(3/4)²."""
TERMS = {"float32": 6, "float64": 11}


def ratio(z: Any) -> Any:
    """Return erf(x)/x at z = x²."""
    x = mpmath.sqrt(z)
    return mpmath.erf(x) / x


def fit(fmt: Format) -> Fit:
    """Return the fit of R."""
    coefficients, error = fit_polynomial(
        lambda z: ratio(z) - 1,
        range(TERMS[fmt.name]),
        (0.0, LARGEST),
        fmt,
        weight=lambda z: 1 / ratio(z),
    )
    return Fit(
        target="R(z) = erf(x)/x - 1, z = x**2",
        form="c0 + c1*z + ...; error relative to erf(x)/x",
        interval=(0.0, LARGEST),
        error_log2=error,
        coefficients=coefficients,
    )


def derive() -> dict[str, Fit]:
    """Return the fit of each format."""
    with mp.workdps(DIGITS):
        return {f"ERF_{fmt.name.upper()}": fit(fmt) for fmt in (FLOAT32, FLOAT64)}
