"""exp(-r) - 1 = -r + r²·Q(r), and log(1 + E) = E - s·(E - z·P(z)) with s = E/(2 + E), z = s².

Q starts behind two exact terms, so that its own rounding hardly counts. The series of atanh in s
converges twice as fast as that of log in E, and written downwards from E its error counts only by
the factor s·z <= 1/27.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath
from polynomial import fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formula.formats import FLOAT32, FLOAT64, Format

REDUCED = 0.34665
"""ln(2)/2 and a little, for the rounding of b/ln(2)."""
LARGEST = 1 / 9
"""E <= 1 is s <= 1/3."""
EXPM1_TERMS = {"float32": 5, "float64": 11}
LOG1P_TERMS = {"float32": 4, "float64": 10}
LOG1P_LOWERED = {"float32": 0, "float64": 1}
"""Units in the last place by which c0 is lowered: then log(1 + 1), and so softplus(0), rounds to
log 2, which jax.nn's tests and users' own compare it with."""


def even(y: Any) -> Any:
    """Return (cosh(r) - 1)/r² at y = r²: the even part of Q."""
    half = mpmath.sqrt(y) / 2
    return 2 * mpmath.sinh(half) ** 2 / y


def odd(y: Any) -> Any:
    """Return (r - sinh(r))/r³ at y = r²: the odd part of Q, over r."""
    r = mpmath.sqrt(y)
    return (r - mpmath.sinh(r)) / (y * r)


def remainder(z: Any) -> Any:
    """Return (2·atanh(s) - 2·s)/s³ at z = s²."""
    s = mpmath.sqrt(z)
    return 2 * (mpmath.atanh(s) - s) / s**3


def share(z: Any) -> Any:
    """Return s³/log(1 + E): how much of a relative error of log(1 + E) an error of P is."""
    s = mpmath.sqrt(z)
    return s**3 / (2 * mpmath.atanh(s))


def expm1(fmt: Format) -> Fit:
    """Return the fit of Q, its even and its odd part fitted apart.

    On both sides of 0 the powers without the lowest have no unique best fit; on one side they do.
    """
    count = EXPM1_TERMS[fmt.name]
    coefficients, error = [0.0] * count, mpmath.mpf(0)
    for parity, part in enumerate((even, odd)):
        fitted, error_log2 = fit_polynomial(
            part,
            range((count - parity + 1) // 2),
            (0.0, REDUCED**2),
            fmt,
            # Relative to |expm1(-r)|, which is smallest where r > 0.
            weight=lambda y: mpmath.sqrt(y) ** (2 + parity) / -mpmath.expm1(-mpmath.sqrt(y)),  # noqa: B023
        )
        coefficients[parity::2] = fitted
        error += mpmath.mpf(2) ** error_log2
    return Fit(
        target="Q(r) = (exp(-r) - 1 + r)/r**2",
        form="c0 + c1*r + ...; error relative to exp(-r) - 1",
        interval=(-REDUCED, REDUCED),
        error_log2=float(mpmath.log(error, 2)),
        coefficients=tuple(coefficients),
    )


def log1p(fmt: Format) -> Fit:
    """Return the fit of P."""
    powers, interval = range(LOG1P_TERMS[fmt.name]), (0.0, LARGEST)
    coefficients, error = fit_polynomial(remainder, powers, interval, fmt, weight=share)
    if lowered := LOG1P_LOWERED[fmt.name]:
        first, *others = coefficients
        moved = dict(enumerate([first - lowered * math.ulp(first), *others]))
        coefficients, error = fit_polynomial(
            remainder, powers, interval, fmt, weight=share, fixed=moved
        )
    return Fit(
        target="P(z) = (2*atanh(s) - 2*s)/s**3, z = s**2",
        form="c0 + c1*z + ..., s = E/(2 + E), 0 <= E <= 1; error relative to log(1 + E)",
        interval=(0.0, LARGEST),
        error_log2=error,
        coefficients=coefficients,
    )


def derive() -> dict[str, Fit]:
    """Return the fits of each format."""
    fits = {}
    for fmt in (FLOAT32, FLOAT64):
        fits[f"EXPM1_{fmt.name.upper()}"] = expm1(fmt)
        fits[f"LOG1P_{fmt.name.upper()}"] = log1p(fmt)
    return fits
