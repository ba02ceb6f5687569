"""T(r) = r·coth(r/2), for exp(-r) = (T - r)/(T + r).

T is even and nearly 2, so a short polynomial in r² serves where one for exp(-r) needs twice the
length, and its rounding errors count only by the factor r/2 ≤ 0.18. T's leading 2 is exact.
"""

from __future__ import annotations

from typing import Any

import mpmath
from polynomial import fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formats import FLOAT32, FLOAT64

REDUCED = 0.34665
"""ln(2)/2 and a little, for the rounding of b/ln(2)."""
TERMS = {"float32": 2, "float64": 5}


def cotangent(y: Any) -> Any:
    """Return (r·coth(r/2) - 2)/r² at y = r²."""
    r = mpmath.sqrt(y)
    return (r * mpmath.coth(r / 2) - 2) / y


def derive() -> dict[str, Fit]:
    """Return the fit of each format."""
    fits = {}
    for fmt in (FLOAT32, FLOAT64):
        coefficients, error = fit_polynomial(
            cotangent,
            range(TERMS[fmt.name]),
            (0.0, REDUCED**2),
            fmt,
            weight=lambda y: y / (2 + y * cotangent(y)) if y else mpmath.mpf(0),
        )
        fits[f"COTH_{fmt.name.upper()}"] = Fit(
            target="T(r) = r*coth(r/2), with which exp(-r) = (T - r)/(T + r)",
            form="2 + y*(c0 + c1*y + ...), y = r**2; error relative to T",
            interval=(-REDUCED, REDUCED),
            error_log2=error,
            coefficients=coefficients,
        )
    return fits
