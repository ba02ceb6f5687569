"""Coefficients of the exponential family: derived by `python tools/derive_coefficients.py`, never by hand."""

from .fits import Fit

UNIT_FLOAT32 = Fit(
    target="T(r) = r*coth(k*r/2), k = 1; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.34665, 0.34665),
    error_log2=-28.75,
    coefficients=(
        2.0,
        0.16666625440120697,
        -0.0027667100075632334,
    ),
)

UNIT_FLOAT64 = Fit(
    target="T(r) = r*coth(k*r/2), k = 1; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.34665, 0.34665),
    error_log2=-60.02,
    coefficients=(
        2.0,
        0.16666666666666602,
        -0.002777777777701336,
        6.613756320792285e-05,
        -1.6533901454364355e-06,
        4.138106919513257e-08,
    ),
)

TWICE_FLOAT32 = Fit(
    target="T(r) = r*coth(k*r/2), k = 2; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.173325, 0.173325),
    error_log2=-28.75,
    coefficients=(
        1.0,
        0.33333250880241394,
        -0.022133680060505867,
    ),
)

TWICE_FLOAT64 = Fit(
    target="T(r) = r*coth(k*r/2), k = 2; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.173325, 0.173325),
    error_log2=-60.02,
    coefficients=(
        1.0,
        0.33333333333333204,
        -0.022222222221610688,
        0.0021164020226535313,
        -0.00021163393861586374,
        2.1187107427907877e-05,
    ),
)

QUICK_FLOAT32 = Fit(
    target="T(r) = r*coth(k*r/2), k = 1.702; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.20367215041128087, 0.20367215041128087),
    error_log2=-24.97,
    coefficients=(
        1.1750881671905518,
        0.2836589813232422,
        -0.013470832258462906,
    ),
)

QUICK_FLOAT64 = Fit(
    target="T(r) = r*coth(k*r/2), k = 1.702; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.20367215041128087, 0.20367215041128087),
    error_log2=-54.37,
    coefficients=(
        1.1750881316098707,
        0.2836666666667269,
        -0.013695445589219918,
        0.0009445965056853287,
        -6.84276187284519e-05,
        5.1707455638820735e-06,
    ),
)

CUBIC_FLOAT32 = Fit(
    target="T(r) = r*coth(k*r/2), k = sqrt(8/pi)/(3125/2048); exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.3314677014926286, 0.3314677014926286),
    error_log2=-28.50,
    coefficients=(
        1.9124056100845337,
        0.17429982125759125,
        -0.0031619309447705746,
    ),
)

CUBIC_FLOAT64 = Fit(
    target="T(r) = r*coth(k*r/2), k = sqrt(8/pi)/(3125/2048); exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.3314677014926286, 0.3314677014926286),
    error_log2=-56.26,
    coefficients=(
        1.9124056050346379,
        0.17430054192257805,
        -0.0031772212784522,
        8.273666873808852e-05,
        -2.261975279593422e-06,
        6.121029705922159e-08,
    ),
)
