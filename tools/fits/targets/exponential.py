"""T(r) = r·coth(k·r/2), for exp(-k·r) = (T - r)/(T + r).

T is even and nearly constant, so two terms (five in float64) in r² serve where a polynomial for
the exponential needs six (eleven), and T's errors count only by the factor k·r/2 <= 0.18.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf
from polynomial import DIGITS, exact, fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formula.formats import FLOAT32, FLOAT64, Format

REDUCED = 0.34665
"""ln(2)/2 and a little, for the rounding of b/ln(2)."""
TERMS = {"float32": 2, "float64": 5}
CUBIC_SCALE = Fraction(9375, 8192)
"""gelu_tanh's a + 0.044715·a³ is carried times this: there both coefficients are short floats,
and |r| stays below 1/4, where floats are denser."""


def even_part(rate: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return T as a function of y = r², and the weight that makes its error relative."""

    def target(y: Any) -> Any:
        r = mp.sqrt(y)
        return r * mp.coth(rate * r / 2) if y else 2 / rate

    return target, lambda y: 1 / target(y)


def fit_even_part(name: str, rate: Any, fmt: Format) -> Fit:
    """Fit T for exp(-rate·r); a leading 2/rate that is a float exactly is kept."""
    target, weight = even_part(rate)
    half = REDUCED / float(rate)
    leading = 2 / rate
    short = Fraction(fmt.round(exact(leading))) == exact(leading)
    coefficients, error = fit_polynomial(
        target,
        range(TERMS[fmt.name] + 1),
        (0.0, half**2),
        fmt,
        weight,
        fixed={0: float(leading)} if short else None,
    )
    return Fit(
        target=f"T(r) = r*coth(k*r/2), k = {name}; exp(-k*r) = (T - r)/(T + r)",
        form="c0 + c1*y + ..., y = r**2",
        interval=(-half, half),
        error_log2=error,
        coefficients=coefficients,
    )


def derive() -> dict[str, Fit]:
    """Return the fits of each rate and format."""
    with mp.workdps(DIGITS):
        scale = mpf(CUBIC_SCALE.numerator) / CUBIC_SCALE.denominator
        rates = {
            "UNIT": ("1", mpf(1)),
            "TWICE": ("2", mpf(2)),
            "QUICK": ("1.702", mpf("1.702")),
            "CUBIC": (f"sqrt(8/pi)/({CUBIC_SCALE})", mp.sqrt(8 / mp.pi) / scale),
        }
        return {
            f"{key}_{fmt.name.upper()}": fit_even_part(name, rate, fmt)
            for key, (name, rate) in rates.items()
            for fmt in (FLOAT32, FLOAT64)
        }
