"""G(y) = a³/(a - tanh a) at y = a², for a - tanh(a) = a·y/G near 0, where the difference cancels.

a - tanh(a) itself has poles at a = ±i·pi/2; its inverse has none before ±4.49i, where tan(z) = z,
so that a polynomial for G gains 6 bits a term up to a = 1.
"""

from __future__ import annotations

from typing import Any

import mpmath
from polynomial import fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formula.formats import FLOAT32, FLOAT64, Format

NEAR = 1.0
"""From here on a - 1 is no longer negative, and a - tanh(a) = (a - 1) + (1 - tanh(a)) a sum."""
TERMS = {"float32": 4, "float64": 8}


def inverse(y: Any) -> Any:
    """Return G; at 0 it is 3."""
    if not y:
        return mpmath.mpf(3)
    a = mpmath.sqrt(y)
    with mpmath.extradps(30):  # the difference loses what a³ is smaller than a
        return a * y / (a - mpmath.tanh(a))


def fit_inverse(fmt: Format) -> Fit:
    """Fit G, whose leading 3 is kept."""
    coefficients, error = fit_polynomial(
        inverse,
        range(TERMS[fmt.name] + 1),
        (0.0, NEAR**2),
        fmt,
        weight=lambda y: 1 / inverse(y),
        fixed={0: 3.0},
    )
    return Fit(
        target="G(y) = a**3/(a - tanh(a)), y = a**2",
        form="c0 + c1*y + ...",
        interval=(0.0, NEAR**2),
        error_log2=error,
        coefficients=coefficients,
    )


def derive() -> dict[str, Fit]:
    """Return the fits of each format."""
    return {f"SHRINK_{fmt.name.upper()}": fit_inverse(fmt) for fmt in (FLOAT32, FLOAT64)}
