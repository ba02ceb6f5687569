"""Coefficients of the erf family, derived by `python tools/derive_coefficients.py`."""

from .fits import Fit

ERF_FLOAT32 = Fit(
    target="R(z) = erf(x)/x - 1, z = x**2",
    form="c0 + c1*z + ...; error relative to erf(x)/x",
    interval=(0.0, 0.5625),
    error_log2=-29.20,
    coefficients=(
        0.12837916612625122,
        -0.3761261999607086,
        0.11283379048109055,
        -0.026834335178136826,
        0.005113156978040934,
        -0.0006737582734785974,
    ),
)

ERF_FLOAT64 = Fit(
    target="R(z) = erf(x)/x - 1, z = x**2",
    form="c0 + c1*z + ...; error relative to erf(x)/x",
    interval=(0.0, 0.5625),
    error_log2=-56.32,
    coefficients=(
        0.1283791670955126,
        -0.37612638903184176,
        0.11283791670978854,
        -0.026866170650280997,
        0.005223977681875096,
        -0.0008548330533970957,
        0.00012055462886887437,
        -1.4928482118798238e-05,
        1.6494814939681986e-06,
        -1.6471948746735803e-07,
        1.3349072487792562e-08,
    ),
)
