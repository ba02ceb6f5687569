"""Statistics of an activation for normal inputs, from the kernels: expected values of the page.

Written without a look at the page's own way: panels are cut where the definition says that one
piece ends, and shares come from a dense grid whose cells are refined.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from checks import call
from scipy.stats import norm

from softgate.catalogue import Entry
from softgate.runtime.activation import Activation
from softgate.studies.properties.piecewise import Curve

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
REACH = 14.0


@cache
def breaks(entry: Entry, parameters: tuple[tuple[str, float], ...]) -> list[float]:
    """Return where one piece of the definition ends and another begins."""
    return [float(x) for x in Curve(entry, dict(parameters)).breaks]


def panels(activation: Activation, mean: float, sd: float) -> Any:
    """Return edges of panels in z: half a standard deviation wide, and cut at every break."""
    places = breaks(activation.entry, tuple(activation.parameters.items()))
    inner = [(x - mean) / sd for x in places if abs(x - mean) < REACH * sd]
    return np.array(sorted({*np.arange(-REACH, REACH + 0.25, 0.5).tolist(), *inner}))


def moments(activation: Activation, mean: float, sd: float) -> dict[str, float]:
    """Return mean and variance of the outputs, their mean square, and that of the slopes."""
    edges = panels(activation, mean, sd)
    half = np.diff(edges)[:, None] / 2
    z = (edges[:-1, None] + half) + half * NODES
    weight = half * WEIGHTS * norm.pdf(z)
    y, s = (call(activation, what, mean + sd * z) for what in ("value", "slope"))
    average = float(np.sum(weight * y))
    return {
        "mean": average,
        "variance": float(np.sum(weight * (y - average) ** 2)),
        "square": float(np.sum(weight * y * y)),
        "slopeSquare": float(np.sum(weight * s * s)),
    }


def share(activation: Activation, mean: float, sd: float, holds: Any) -> float:
    """Return the share of inputs whose slope `holds`."""
    z = np.linspace(-REACH, REACH, 20_001)
    for _ in range(4):
        inside = holds(activation.slope(mean + sd * z))
        changed = np.flatnonzero(np.diff(inside.astype(np.int8)))
        fine = [np.linspace(z[i], z[i + 1], 101)[1:-1] for i in changed]
        z = np.sort(np.concatenate([z, *fine]))
    inside = holds(activation.slope(mean + sd * (z[:-1] + z[1:]) / 2))
    return float(np.sum(np.diff(norm.cdf(z))[inside]))


def statistics(activation: Activation, mean: float, sd: float, flat: float) -> dict[str, float]:
    """Return the numbers that the playground shows for one layer."""
    return moments(activation, mean, sd) | {
        "flat": share(activation, mean, sd, lambda s: np.abs(s) < flat),
        "falling": share(activation, mean, sd, lambda s: s < 0),
    }


def mean_field(
    activation: Activation, mean: float, sd: float, gain: float, depth: int
) -> dict[str, list[float]]:
    """Return variances from the first layer up, mean squares of gradients from the first layer."""
    variance, factor = [sd * sd], []
    for layer in range(depth):
        result = moments(activation, mean if layer == 0 else 0.0, variance[-1] ** 0.5)
        variance.append(gain**2 * result["square"])
        factor.append(gain**2 * result["slopeSquare"])
    gradient = [1.0]
    for x in reversed(factor):
        gradient.insert(0, x * gradient[0])
    return {"variance": variance, "gradient": gradient}
