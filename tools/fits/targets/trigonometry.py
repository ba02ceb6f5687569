"""sin and cos on half a quarter turn, atan up to tan(pi/8), each behind its exact first terms.

In z = r² what is fitted is (sin(r) - r)/r³, (cos(r) - 1 + r²/2)/r⁴ and (atan(r) - r)/r³: the terms
in front are exact, so the fits' own rounding hardly counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
from mpmath import mp
from polynomial import DIGITS, fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formula.formats import FLOAT32, FLOAT64, Format


class Target(NamedTuple):
    """A function of r, what is fitted of it, the weight that makes the error relative."""

    text: str
    relative_to: str
    largest: float
    terms: dict[str, int]
    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]


TARGETS = {
    "SIN": Target(
        "S(z) = (sin(r) - r)/r**3",
        "sin(r)",
        0.8,  # pi/4, and what rounding of 2·u/pi adds
        {"float32": 4, "float64": 7},
        lambda r: (mpmath.sin(r) - r) / r**3,
        lambda r: r**3 / mpmath.sin(r),
    ),
    "COS": Target(
        "C(z) = (cos(r) - 1 + r**2/2)/r**4",
        "cos(r)",
        0.8,
        {"float32": 3, "float64": 6},
        lambda r: (mpmath.cos(r) - 1 + r**2 / 2) / r**4,
        lambda r: r**4 / mpmath.cos(r),
    ),
    "ATAN": Target(
        "A(z) = (atan(r) - r)/r**3",
        "atan(r)",
        0.4143,  # tan(pi/8), rounded up
        {"float32": 5, "float64": 11},
        lambda r: (mpmath.atan(r) - r) / r**3,
        lambda r: r**3 / mpmath.atan(r),
    ),
}


def fit(target: Target, fmt: Format) -> Fit:
    """Return the fit of one function."""
    coefficients, error = fit_polynomial(
        lambda z: target.function(mpmath.sqrt(z)),
        range(target.terms[fmt.name]),
        (0.0, target.largest**2),
        fmt,
        weight=lambda z: target.weight(mpmath.sqrt(z)),
    )
    return Fit(
        target=f"{target.text}, z = r**2",
        form=f"c0 + c1*z + ...; error relative to {target.relative_to}",
        interval=(0.0, target.largest**2),
        error_log2=error,
        coefficients=coefficients,
    )


def derive() -> dict[str, Fit]:
    """Return the fits of each function and format."""
    with mp.workdps(DIGITS):
        return {
            f"{name}_{fmt.name.upper()}": fit(target, fmt)
            for fmt in (FLOAT32, FLOAT64)
            for name, target in TARGETS.items()
        }
