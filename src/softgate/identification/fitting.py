"""How well a function of the catalogue explains what was seen, and with which numbers.

Fits are ranked by likelihood less a price for every number that was not given: a scaled elu with
just the right numbers is selu, and selu it is called. Numbers found are then made as short as the
observation allows: 0.01, not 0.0100000004.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..catalogue.entry import Parameter
from .families import PLAIN, Affine, Family, Values, solve
from .observation import Float64s, Observation

FLOOR = 0.02
"""Differences below this many units are no news: results agree to the last bit."""

POINTS = 64
"""The points count as so many independent ones: neighbours err alike."""

PRICE = math.log(POINTS) * 1.5
"""What a number that was found must gain in likelihood."""

CLOSE = 4.0
"""Differences, in units on average, with which nobody looks for a better explanation."""

SPACING = 0.2
"""More than what lies between two points of a thinned observation."""

TYPICAL, LARGEST = 16.0, 128.0
"""Differences, in units, that an implementation in its format may have: on average, at worst."""

WAYS = {
    "itself": None,
    "shifted": {"scale": False, "offset": True},
    "scaled": {"scale": True, "offset": False},
    "both": {"scale": True, "offset": True},
}
"""What may stand between a function and what was seen."""


@dataclass(frozen=True)
class Fit:
    """One function with all its numbers, and how far it is from what was seen."""

    family: Family
    values: Values
    affine: Affine
    way: str
    rms: float
    worst: float
    slack: float

    @property
    def score(self) -> float:
        """The likelihood's logarithm, less the price of the numbers that were found."""
        return -POINTS * math.log(max(self.rms, FLOOR)) - PRICE * self.free

    @cached_property
    def free(self) -> int:
        """How many numbers were found."""
        given = self.family.defaults
        return self.affine.free + sum(
            value != given.get(name) for name, value in self.values.items()
        )

    @property
    def holds(self) -> bool:
        """Whether an implementation of the function could have given what was seen."""
        return self.rms <= TYPICAL * self.slack and self.worst <= LARGEST * self.slack

    def at(self, x: Float64s) -> Float64s:
        """Return the fitted function at `x`."""
        return self.affine.of(self.family.evaluate(x, self.values))


def fit(observed: Observation, family: Family, values: Values, way: str) -> Fit:
    """Return how a function with these parameters explains what was seen."""
    return _fit(observed, family, values, way, family.evaluate(observed.x, values))


def fits(observed: Observation, family: Family) -> Iterator[Fit]:
    """Yield the fits of a function with its default parameters."""
    plain = family.evaluate(observed.x, family.defaults)
    for way in WAYS:
        yield _fit(observed, family, family.defaults, way, plain)


def _fit(observed: Observation, family: Family, values: Values, way: str, plain: Float64s) -> Fit:
    affine = _affine(observed, plain, way)
    rms, worst = observed.misfit(affine.of(plain))
    return Fit(family, values, affine, way, float(rms), float(worst), observed.slack)


def _affine(observed: Observation, plain: Float64s, way: str) -> Affine:
    asked = WAYS[way]
    return PLAIN if asked is None else solve(observed, plain, **asked)


def search(observed: Observation, family: Family, way: str, good: float) -> Fit:
    """Return the fit with the best parameters found; in full where it is as `good` as others."""
    few, values = observed.thinned, family.defaults
    for _ in range(1 if len(family.parameters) == 1 else 3):
        for parameter in family.parameters:
            values = _zoom(few, family, values, way, parameter.name, _grid(parameter), 6)
    found = fit(observed, family, values, way)
    if found.rms > 2 * good:
        return found
    for parameter in family.parameters:
        middle = values[parameter.name]
        around = np.linspace(middle - SPACING, middle + SPACING, 9)
        values = _zoom(observed, family, values, way, parameter.name, around, 3)
    return refine(observed, min(found, fit(observed, family, values, way), key=_rms))


def refine(observed: Observation, found: Fit) -> Fit:
    """Return a fit with its parameters moved to where the differences are least."""
    for parameter in found.family.parameters:
        found = _descend(observed, found, parameter.name)
    return found


def _zoom(
    observed: Observation,
    family: Family,
    values: Values,
    way: str,
    name: str,
    grid: Float64s,
    times: int,
) -> Values:
    """Return `values` with the best of a grid for one parameter, and finer ones around it."""
    for _ in range(times):
        usable = np.array([v for v in grid if family.accepts({**values, name: float(v)})])
        if not usable.size:
            return values
        plain = family.evaluate(observed.x, {**values, name: usable[:, None]})
        plain = np.broadcast_to(plain, (usable.size, observed.x.size))
        rms, _ = observed.misfit(_affine(observed, plain, way).of(plain))
        # A threshold between two points gives the same results wherever it lies: the middle one.
        least = np.flatnonzero(rms == rms.min())
        place = int(least[len(least) // 2])
        values = {**values, name: float(usable[place])}
        low, high = usable[max(place - 1, 0)], usable[min(place + 1, usable.size - 1)]
        grid = np.linspace(low, high, 9)
    return values


def _grid(parameter: Parameter) -> Float64s:
    sizes = np.geomspace(0.01, 100, 17)
    negative = -sizes if parameter.above < 0 else sizes
    return np.unique([*negative, 0.0, *sizes, parameter.default])


def _rms(found: Fit) -> float:
    return found.rms


def _moved(observed: Observation, found: Fit, name: str, value: float) -> Fit:
    values = {**found.values, name: value}
    if not found.family.accepts(values):
        return replace(found, values=values, rms=math.inf, worst=math.inf)
    return fit(observed, found.family, values, found.way)


def _descend(observed: Observation, found: Fit, name: str) -> Fit:
    """Return the fit after Gauss-Newton steps along one parameter, while they help."""
    for _ in range(8):
        value = found.values[name]
        step = 1e-6 * max(abs(value), 1e-3)
        beside = _moved(observed, found, name, value + step)
        if not math.isfinite(beside.rms):
            return found
        with np.errstate(all="ignore"):
            here = (found.at(observed.x) - observed.y) / observed.unit
            change = (beside.at(observed.x) - observed.y) / observed.unit - here
            usable = np.isfinite(here) & np.isfinite(change)
            power = float(np.dot(change[usable], change[usable]))
        if power == 0:
            return found
        move = -step * float(np.dot(change[usable], here[usable])) / power
        following = _moved(observed, found, name, value + move)
        if not following.rms < found.rms:
            return found
        found = following
    return found


def shortened(observed: Observation, found: Fit) -> Fit:
    """Return the fit with every number that was found in as few digits as explain as much."""
    limit = found.rms * 1.05 + FLOOR / 2
    for name, exact in found.values.items():
        for value in _shorter(exact):
            shorter = _moved(observed, found, name, value)
            if shorter.rms <= limit or _rounds_to(exact, value, observed):
                found = shorter
                break
    plain = found.family.evaluate(observed.x, found.values)
    for part in ("scale", "offset"):
        exact = getattr(found.affine, part)
        for value in _shorter(exact):
            affine = replace(found.affine, **{part: value})
            rms, worst = observed.misfit(affine.of(plain))
            if rms <= limit or _rounds_to(exact, value, observed):
                found = replace(found, affine=affine, rms=float(rms), worst=float(worst))
                break
    return found


def _rounds_to(exact: float, value: float, observed: Observation) -> bool:
    """Tell whether `value`, rounded to the format as an implementation has it, is `exact`."""
    return abs(value - exact) <= 2.0**-observed.fmt.precision * max(abs(value), abs(exact))


def _shorter(value: float) -> Iterator[float]:
    """Yield `value` in 1, 2, … digits; 0 first where it may be nothing."""
    if abs(value) < 1e-3:
        yield 0.0
    for digits in range(1, 17):
        yield float(f"{value:.{digits - 1}e}")


def odds(ranked: list[Fit]) -> Mapping[int, float]:
    """Return the probability of each fit and, under -1, of none: all equally likely before."""
    scores = {i: found.score for i, found in enumerate(ranked)}
    scores[-1] = -POINTS * math.log(TYPICAL * ranked[0].slack)
    top = max(scores.values())
    weights = {i: math.exp(max(score - top, -700.0)) for i, score in scores.items()}
    total = sum(weights.values())
    return {i: weight / total for i, weight in weights.items()}
