"""Coefficients of the logarithm family: derived by `python tools/derive_coefficients.py`, never by hand."""

from .fits import Fit

LOG1P_FLOAT32 = Fit(
    target="P(z) = (2*atanh(s) - 2*s)/s**3, z = s**2, with which log(1 + E) = E - s*(E - z*P(z))",
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

LOG1P_FLOAT64 = Fit(
    target="P(z) = (2*atanh(s) - 2*s)/s**3, z = s**2, with which log(1 + E) = E - s*(E - z*P(z))",
    form="c0 + c1*z + ..., s = E/(2 + E), 0 <= E <= 1; error relative to log(1 + E)",
    interval=(0.0, 0.1111111111111111),
    error_log2=-59.41,
    coefficients=(
        0.6666666666666631,
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
