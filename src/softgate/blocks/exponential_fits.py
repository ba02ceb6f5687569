"""Coefficients of the exponential family, derived by `python tools/derive_coefficients.py`."""

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
    target="T(r) = r*coth(k*r/2), k = sqrt(8/pi)/(9375/8192); exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.24860077611947146, 0.24860077611947146),
    error_log2=-25.35,
    coefficients=(
        1.4343042373657227,
        0.2323957234621048,
        -0.007428754586726427,
    ),
)

CUBIC_FLOAT64 = Fit(
    target="T(r) = r*coth(k*r/2), k = sqrt(8/pi)/(9375/8192); exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.24860077611947146, 0.24860077611947146),
    error_log2=-55.03,
    coefficients=(
        1.4343042037759783,
        0.23240072256348232,
        -0.0075311911843715905,
        0.00034865190480137256,
        -1.6950558103006025e-05,
        8.467925993927682e-07,
    ),
)
