"""Coefficients of the hyperbolic family, derived by `python tools/derive_coefficients.py`."""

from .fits import Fit

SHRINK_FLOAT32 = Fit(
    target="G(y) = a**3/(a - tanh(a)), y = a**2",
    form="c0 + c1*y + ...",
    interval=(0.0, 1.0),
    error_log2=-30.15,
    coefficients=(
        3.0,
        1.1999999284744263,
        -0.005713680759072304,
        0.00025239656679332256,
        -1.0591300451778807e-05,
    ),
)

SHRINK_FLOAT64 = Fit(
    target="G(y) = a**3/(a - tanh(a)), y = a**2",
    form="c0 + c1*y + ...",
    interval=(0.0, 1.0),
    error_log2=-57.10,
    coefficients=(
        3.0,
        1.199999999999998,
        -0.005714285714216574,
        0.0002539682531756116,
        -1.2203664972143113e-05,
        5.98752981534608e-07,
        -2.9541423146942427e-08,
        1.4382105029410739e-09,
        -5.842865556268535e-11,
    ),
)
