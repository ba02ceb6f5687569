"""G(a) - a - g, G the inverse Mills ratio as each kernel's exponential leaves it, and 2**(r/C) - 1.

The kernels' constants are floats: a step C a little off 2·ln 2, an offset a little off ln(pi/2).
What that costs is a smooth factor of the result, so it is simply part of the target here.
"""

from __future__ import annotations

from typing import Any

from flint import arb
from rational import fit_ratio

from softgate.blocks.fits import Fit
from softgate.blocks.gaussian import EXACT, QUICK, Exponent
from softgate.formula.formats import FLOAT32, FLOAT64, Format

REDUCED = 0.6935
"""ln 2 and a little, for the rounding of (a² + L)/C."""
LIMIT = {"float32": 14.7, "float64": 38.9}
DEGREE = {"float32": (4, 4), "float64": (9, 9)}
TERMS = {"float32": 6, "float64": 11}


def gate(exponent: Exponent, a: Any) -> Any:
    """Return G(a) = 2**-((a² + L)/C)/(2·Phi(-a))."""
    power = (a * a + arb(exponent.offset) + arb(exponent.offset_low)) / step(exponent)
    return (-power * arb(2).log()).exp() / (a / arb(2).sqrt()).erfc()


def step(exponent: Exponent) -> Any:
    """Return C."""
    return arb(exponent.step) + arb(exponent.step_low)


def fit_ratio_part(exponent: Exponent, base: float, fmt: Format, *, slope: bool) -> Fit:
    """Fit T = G - a - g; for the slope the error counts beside 1 + a·G, not 1."""
    low, high = 0.0, LIMIT[fmt.name]

    def weight(a: Any) -> Any:
        g = gate(exponent, a)
        return 1 / (g * (1 + a * g)) if slope else 1 / g

    numerator, denominator, error = fit_ratio(
        lambda a: gate(exponent, a) - a - arb(base), weight, (low, high), DEGREE[fmt.name], fmt
    )
    scale = "G*(1 + a*G)" if slope else "G"
    return Fit(
        target=f"G - a - {base}, G = 2**-((a*a + L)/C)/(2*Phi(-a)), L, C of gaussian.py",
        form=f"P(a)/Q(a), error relative to {scale}",
        interval=(low, high),
        error_log2=error,
        coefficients=numerator,
        denominator=denominator,
    )


def fit_power(exponent: Exponent, fmt: Format) -> Fit:
    """Fit 2**(r/C) - 1 = r/2 + r²·polynomial(r)."""
    c = step(exponent)

    def rest(r: Any) -> Any:
        x = r * arb(2).log() / c
        if abs(float(r)) > 1e-3:
            return (x.expm1() - r / 2) / (r * r)
        half, term, total = x - r / 2, x, arb(0)
        for k in range(2, 40):
            term = term * x / k
            total += term
        return (total + half) / (r * r) if float(r) else (arb(2).log() / c) ** 2 / 2

    def weight(r: Any) -> Any:
        return r * r / (r * arb(2).log() / c).exp()

    coefficients, _, error = fit_ratio(
        rest, weight, (-REDUCED, REDUCED), (TERMS[fmt.name] - 2, 0), fmt, crowding=1
    )
    return Fit(
        target="2**(r/C) - 1, C of gaussian.py",
        form="r/2 + r*r*(c0 + c1*r + ...), error relative to 2**(r/C)",
        interval=(-REDUCED, REDUCED),
        error_log2=error,
        coefficients=coefficients,
    )


def derive() -> dict[str, Fit]:
    """Return every fit of the family."""
    fits = {}
    for fmt in (FLOAT32, FLOAT64):
        name = fmt.name.upper()
        for kind, forms in (("QUICK", QUICK), ("EXACT", EXACT)):
            form = forms[fmt.name]
            fits[f"{kind}_{name}"] = fit_ratio_part(
                form.exponent, form.base, fmt, slope=kind == "EXACT"
            )
            fits[f"{kind}_POWER_{name}"] = fit_power(form.exponent, fmt)
        # For value and slope at once: the slope's exponential, the value's error.
        fits[f"EXACT_BOTH_{name}"] = fit_ratio_part(form.exponent, form.base, fmt, slope=False)
    return fits
