"""Coefficients of the exponential family: derived by `python tools/derive_coefficients.py`, never by hand."""

from .fits import Fit

COTH_FLOAT32 = Fit(
    target="T(r) = r*coth(r/2), with which exp(-r) = (T - r)/(T + r)",
    form="2 + y*(c0 + c1*y + ...), y = r**2; error relative to T",
    interval=(-0.34665, 0.34665),
    error_log2=-28.75,
    coefficients=(
        0.16666625440120697,
        -0.002766710240393877,
    ),
)

COTH_FLOAT64 = Fit(
    target="T(r) = r*coth(r/2), with which exp(-r) = (T - r)/(T + r)",
    form="2 + y*(c0 + c1*y + ...), y = r**2; error relative to T",
    interval=(-0.34665, 0.34665),
    error_log2=-60.02,
    coefficients=(
        0.16666666666666602,
        -0.002777777777701336,
        6.613756320793714e-05,
        -1.6533901457398988e-06,
        4.138107075994353e-08,
    ),
)
