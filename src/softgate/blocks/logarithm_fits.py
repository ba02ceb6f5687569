"""Coefficients of the logarithm family, derived by `python tools/derive_coefficients.py`."""

from .fits import Fit

EXPM1_FLOAT32 = Fit(
    target="Q(r) = (exp(-r) - 1 + r)/r**2",
    form="c0 + c1*r + ...; error relative to exp(-r) - 1",
    interval=(-0.34665, 0.34665),
    error_log2=-25.94,
    coefficients=(
        0.5,
        -0.16666540503501892,
        0.04166647791862488,
        -0.008366833440959454,
        0.0013933725422248244,
    ),
)

LOG1P_FLOAT32 = Fit(
    target="P(z) = (2*atanh(s) - 2*s)/s**3, z = s**2",
    form="c0 + c1*z + ..., s = E/(2 + E), 0 <= E <= 1; error relative to log(1 + E)",
    interval=(0.0, 0.1111111111111111),
    error_log2=-27.73,
    coefficients=(
        0.666664183139801,
        0.40021437406539917,
        0.280030220746994,
        0.2800680994987488,
    ),
)

EXPM1_FLOAT64 = Fit(
    target="Q(r) = (exp(-r) - 1 + r)/r**2",
    form="c0 + c1*r + ...; error relative to exp(-r) - 1",
    interval=(-0.34665, 0.34665),
    error_log2=-61.52,
    coefficients=(
        0.5,
        -0.16666666666666677,
        0.04166666666666668,
        -0.00833333333332139,
        0.0013888888888877395,
        -0.0001984126988676163,
        2.4801587340788447e-05,
        -2.755724356419896e-06,
        2.755725901798041e-07,
        -2.510926054103966e-08,
        2.091956744858618e-09,
    ),
)

LOG1P_FLOAT64 = Fit(
    target="P(z) = (2*atanh(s) - 2*s)/s**3, z = s**2",
    form="c0 + c1*z + ..., s = E/(2 + E), 0 <= E <= 1; error relative to log(1 + E)",
    interval=(0.0, 0.1111111111111111),
    error_log2=-56.97,
    coefficients=(
        0.666666666666663,
        0.40000000000155905,
        0.2857142854801181,
        0.22222223960613544,
        0.18181744221787044,
        0.153865541054472,
        0.1330104354937853,
        0.12105581503886001,
        0.08342103627893488,
        0.1701522407677887,
    ),
)
