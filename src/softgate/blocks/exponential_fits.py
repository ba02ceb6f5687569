"""Coefficients of the exponential family: derived by `python tools/derive_coefficients.py`, never by hand."""

from .fits import Fit

CUBIC_FLOAT32 = Fit(
    target="A*(1 + 0.044715*y), A any number",
    form="c0 + c1*y",
    interval=(0.0, inf),
    error_log2=-200.00,
    coefficients=(
        1.0117888450622559,
        0.04524213820695877,
    ),
)

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

ROOT_FLOAT32 = Fit(
    target="T(r) = r*coth(k*r/2), k = sqrt(8/pi)/A; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.21979157159520982, 0.21979157159520982),
    error_log2=-25.29,
    coefficients=(
        1.2680892944335938,
        0.2628568112850189,
        -0.010745259001851082,
    ),
)

CUBIC_FLOAT64 = Fit(
    target="A*(1 + 0.044715*y), A any number",
    form="c0 + c1*y",
    interval=(0.0, inf),
    error_log2=-200.00,
    coefficients=(
        1.0076599121111585,
        0.04505751297005045,
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

ROOT_FLOAT64 = Fit(
    target="T(r) = r*coth(k*r/2), k = sqrt(8/pi)/A; exp(-k*r) = (T - r)/(T + r)",
    form="c0 + c1*y + ..., y = r**2",
    interval=(-0.21889464071208953, 0.21889464071208953),
    error_log2=-54.20,
    coefficients=(
        1.2629144134550094,
        0.26393976486604315,
        -0.01103229144690063,
        0.0006587614229102954,
        -4.128683702627176e-05,
        2.4682056781504928e-06,
    ),
)
