"""The shape of a function, which determines the figures that apply to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgate.runtime.activation import Activation

from ..models.torch_recognition import RecognisedFunction
from .measure import SaturationLimits
from .record import Thresholds

FAR = np.array([-1e6, -1e3, 0.0, 1e3, 1e6])
"""Points that show whether a function is bounded."""


class FunctionShape(NamedTuple):
    """Properties of a function that determine which figures apply to it."""

    bounds: SaturationLimits
    bounded: bool
    """Whether it has a least and a greatest value."""
    gate: bool
    """Whether value/x is the openness of a gate."""
    valley: bool
    """Whether it falls somewhere and rises elsewhere, so that units can be trapped."""


def shape_of(recognised: RecognisedFunction | None, thresholds: Thresholds) -> FunctionShape:
    """Return the shape of a function, with the bounds from which it counts as saturated."""
    if recognised is None or not isinstance(recognised.activation, Activation):
        return FunctionShape(SaturationLimits(thresholds.flat), False, True, True)
    activation = recognised.activation
    x = np.concatenate([FAR, np.linspace(-50, 50, 20001)])
    with np.errstate(all="ignore"):
        y, slope = (np.asarray(f(x)) * recognised.scale for f in (activation, activation.slope))
    valley = bool(np.nanmin(slope) < 0 < np.nanmax(slope))
    if not bool(np.all(np.abs(y[[0, 4]] - y[[1, 3]]) <= 0.01)):
        gate = bool(y[2] == 0 and y[4] / FAR[4] > 0.1)
        return FunctionShape(SaturationLimits(thresholds.flat), False, gate, valley)
    margin = thresholds.saturation * float(y.max() - y.min())
    low, high = float(y.min()) + margin, float(y.max()) - margin
    # A bound that is the value at 0, as for relu6, is not saturation: such units are dead.
    low, high = (-np.inf if y[2] <= low else low), (np.inf if y[2] >= high else high)
    return FunctionShape(SaturationLimits(thresholds.flat, low, high), True, False, valley)
