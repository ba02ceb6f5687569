"""T(r) = r·coth(k·r/2), for exp(-k·r) = (T - r)/(T + r).

T is even and nearly constant, so two terms (five in float64) in r² serve where a polynomial for
the exponential needs six (eleven), and T's errors count only by the factor k·r/2 <= 0.18.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import Any

import mpmath
from mpmath import mp
from polynomial import DIGITS, fit_polynomial

from softgate.blocks.fits import Fit
from softgate.formats import FLOAT32, FLOAT64, Format

REDUCED = 0.34665
"""ln(2)/2 and a little, for the rounding of b/ln(2)."""
TERMS = {"float32": 2, "float64": 5}
CUBIC = Fraction("0.044715")
CANDIDATES = 1 << 20


def even_part(rate: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return T as a function of y = r², and the weight that makes its error relative."""

    def target(y: Any) -> Any:
        r = mp.sqrt(y)
        return r * mp.coth(rate * r / 2) if y else 2 / rate

    return target, lambda y: 1 / target(y)


def fit_even_part(name: str, rate: Any, fmt: Format) -> Fit:
    """Fit T for exp(-rate·r); the leading 2/rate is kept where it is a float exactly."""
    target, weight = even_part(rate)
    half = REDUCED / float(rate)
    exact = 2 / rate == mpmath.mpf(fmt.round(Fraction(float(2 / rate))))
    coefficients, error = fit_polynomial(
        target,
        range(TERMS[fmt.name] + 1),
        (0.0, half**2),
        fmt,
        weight,
        fixed={0: float(2 / rate)} if exact else None,
    )
    return Fit(
        target=f"T(r) = r*coth(k*r/2), k = {name}; exp(-k*r) = (T - r)/(T + r)",
        form="c0 + c1*y + ..., y = r**2",
        interval=(-half, half),
        error_log2=error,
        coefficients=coefficients,
    )


def fit_cubic(fmt: Format) -> Fit:
    """Find floats A, C with C/A = 0.044715 far beyond the format's precision.

    Then A·(a + 0.044715·a³) = a·(A + C·a²) needs no second part of a constant. Any A does: it
    is given back in the rate of the exponential.
    """
    unit = 1 << fmt.mantissa_bits
    step = unit // CANDIDATES + 1
    numerator, denominator = CUBIC.numerator, CUBIC.denominator
    shift = fmt.mantissa_bits - (fmt.mantissa_bits - 4)
    best = (Fraction(1), 0, 0)
    for whole in range(unit, 2 * unit, step):
        scaled, rest = divmod(whole * numerator << shift, denominator)
        rest = min(rest, denominator - rest)
        if best[1] == 0 or Fraction(rest, denominator) < best[0]:
            up = floor(Fraction(whole * numerator << shift, denominator) + Fraction(1, 2))
            if scaled < 2 * unit and Fraction(up).numerator.bit_length() <= fmt.precision:
                best = (Fraction(rest, denominator), whole, up)
    rest, whole, up = best
    a, c = Fraction(whole, unit), Fraction(up, unit << shift)
    error = abs(c / a / CUBIC - 1)
    return Fit(
        target="A*(1 + 0.044715*y), A any number",
        form="c0 + c1*y",
        interval=(0.0, float("inf")),
        error_log2=float(mp.log(mpmath.mpf(error.numerator) / error.denominator, 2)) if error else -200.0,
        coefficients=(float(a), float(c)),
    )


def derive() -> dict[str, Fit]:
    """Return the fits of each rate and format."""
    fits = {}
    with mp.workdps(DIGITS):
        for fmt in (FLOAT32, FLOAT64):
            suffix = fmt.name.upper()
            cubic = fits[f"CUBIC_{suffix}"] = fit_cubic(fmt)
            rates = {
                "UNIT": ("1", mpmath.mpf(1)),
                "TWICE": ("2", mpmath.mpf(2)),
                "QUICK": ("1.702", mpmath.mpf("1.702")),
                "ROOT": ("sqrt(8/pi)/A", mp.sqrt(8 / mp.pi) / mpmath.mpf(cubic.coefficients[0])),
            }
            for name, (text, rate) in rates.items():
                fits[f"{name}_{suffix}"] = fit_even_part(text, rate, fmt)
    return fits
