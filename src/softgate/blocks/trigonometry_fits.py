"""Coefficients of the trigonometry family, derived by `python tools/derive_coefficients.py`."""

from .fits import Fit

SIN_FLOAT32 = Fit(
    target="S(z) = (sin(r) - r)/r**3, z = r**2",
    form="c0 + c1*z + ...; error relative to sin(r)",
    interval=(0.0, 0.6400000000000001),
    error_log2=-32.46,
    coefficients=(
        -0.1666666716337204,
        0.008333377540111542,
        -0.00019852067634928972,
        2.8203544388816226e-06,
    ),
)

COS_FLOAT32 = Fit(
    target="C(z) = (cos(r) - 1 + r**2/2)/r**4, z = r**2",
    form="c0 + c1*z + ...; error relative to cos(r)",
    interval=(0.0, 0.6400000000000001),
    error_log2=-32.60,
    coefficients=(
        0.04166664183139801,
        -0.0013887130189687014,
        2.4412085622316226e-05,
    ),
)

ATAN_FLOAT32 = Fit(
    target="A(z) = (atan(r) - r)/r**3, z = r**2",
    form="c0 + c1*z + ...; error relative to atan(r)",
    interval=(0.0, 0.17164449),
    error_log2=-30.41,
    coefficients=(
        -0.33333316445350647,
        0.19998528063297272,
        -0.14244388043880463,
        0.10599120706319809,
        -0.06089867651462555,
    ),
)

SIN_FLOAT64 = Fit(
    target="S(z) = (sin(r) - r)/r**3, z = r**2",
    form="c0 + c1*z + ...; error relative to sin(r)",
    interval=(0.0, 0.6400000000000001),
    error_log2=-63.19,
    coefficients=(
        -0.16666666666666666,
        0.00833333333333305,
        -0.00019841269840980327,
        2.7557319086653552e-06,
        -2.5052074962877622e-08,
        1.6054905637064128e-10,
        -7.422255731501683e-13,
    ),
)

COS_FLOAT64 = Fit(
    target="C(z) = (cos(r) - 1 + r**2/2)/r**4, z = r**2",
    form="c0 + c1*z + ...; error relative to cos(r)",
    interval=(0.0, 0.6400000000000001),
    error_log2=-63.52,
    coefficients=(
        0.041666666666666574,
        -0.0013888888888869768,
        2.4801587286779838e-05,
        -2.7557313576472566e-07,
        2.0875618440198807e-09,
        -1.1354251658801551e-11,
    ),
)

ATAN_FLOAT64 = Fit(
    target="A(z) = (atan(r) - r)/r**3, z = r**2",
    form="c0 + c1*z + ...; error relative to atan(r)",
    interval=(0.0, 0.17164449),
    error_log2=-59.43,
    coefficients=(
        -0.333333333333332,
        0.19999999999953622,
        -0.14285714280191475,
        0.11111110782989918,
        -0.09090897740911905,
        0.07692059884165445,
        -0.066631000976523,
        0.05847859840494118,
        -0.05039170609371294,
        0.038061151088510554,
        -0.017903495140525628,
    ),
)
