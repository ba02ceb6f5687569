"""How well a function of the catalogue explains what was seen, and with which numbers.

Fits are ranked by likelihood less a price for every number that was not given: a scaled elu with
just the right numbers is selu, and selu it is called. Numbers found are then made as short as the
observation allows: 0.01, not 0.0100000004.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .families import PLAIN, Affine, Family, Values, solve
from .observation import HUGE, Float64s, Observation

FLOOR = 0.02
"""Differences below this many units are no news: results agree to the last bit."""

POINTS = 64
"""The points count as so many independent ones: neighbours err alike."""

PRICE = math.log(POINTS) * 1.5
"""What a number that was found must gain in likelihood."""

CLOSE = 4.0
"""Differences, in units on average, with which nobody looks for a better explanation."""

REACH, LEAST_REACH = 0.4, 0.02
"""How far around its start a parameter is looked for: beyond the neighbours on the coarse grid."""

STEPS, ENOUGH = 8, 0.98
"""How many steps a refinement has, and what share of the differences one must leave at most."""

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


def score(found: Fit) -> tuple[float, int]:
    """Return what fits are ranked by."""
    # Some functions are the same, as elu and celu with alpha 1 are: then the shorter formula.
    return found.score, -found.family.length


def fit(observed: Observation, family: Family, values: Values, way: str) -> Fit:
    """Return how a function with these parameters explains what was seen."""
    plain = family.evaluate(observed.x, values)
    affine = affine_of(observed, plain, way)
    rms, worst = observed.misfit(affine.of(plain))
    return Fit(family, values, affine, way, float(rms), float(worst), observed.slack)


def affine_of(observed: Observation, plain: Float64s, way: str) -> Affine:
    """Return the best scale and offset that a way of looking allows: for each row, if several."""
    asked = WAYS[way]
    return PLAIN if asked is None else solve(observed, plain, **asked)


def search(observed: Observation, start: Fit) -> Fit:
    """Return the fit with the best parameters near a start."""
    few, family, values, way = observed.thinned, start.family, start.values, start.way
    for _ in family.parameters:
        for parameter in family.parameters:
            middle = values[parameter.name]
            reach = max(REACH * abs(middle), LEAST_REACH)
            grid = np.linspace(middle - reach, middle + reach, 9)
            values = _zoom(few, family, values, way, parameter.name, grid, 2)
    return refine(observed, fit(observed, family, values, way))


def refine(observed: Observation, found: Fit) -> Fit:
    """Return a fit after Gauss-Newton steps of all its parameters, while they help."""
    names = [parameter.name for parameter in found.family.parameters]
    for _ in range(STEPS):
        steps = {name: 1e-6 * max(abs(found.values[name]), 1e-3) for name in names}
        here = _units(observed, found)
        changes = [
            _units(observed, _moved(observed, found, {name: found.values[name] + step})) - here
            for name, step in steps.items()
        ]
        still = [name for name, change in zip(names, changes, strict=True) if not change.any()]
        if still:
            return _jumped(observed, found, still)
        jacobian = np.stack(changes, axis=1)
        moves, *_ = np.linalg.lstsq(jacobian, -here)
        expected = math.sqrt(np.mean((here + jacobian @ moves) ** 2))
        if expected > ENOUGH * found.rms:
            return found
        moved = {name: found.values[name] + move * steps[name]
                 for name, move in zip(names, moves.tolist(), strict=True)}  # fmt: skip
        following = _moved(observed, found, moved)
        if not following.rms < found.rms:
            return found
        found = following
    return found


def _units(observed: Observation, found: Fit) -> Float64s:
    """Return the differences in units; 0 where there is none to speak of."""
    with np.errstate(all="ignore"):
        apart: Float64s = (found.at(observed.x) - observed.y) / observed.unit
    return np.where(np.abs(apart) < HUGE, apart, 0.0)


def _jumped(observed: Observation, found: Fit, names: Sequence[str]) -> Fit:
    """Return a fit with those parameters looked for that do nothing between two points."""
    for name in names:
        value = found.values[name]
        around = np.linspace(value - SPACING, value + SPACING, 9)
        values = _zoom(observed, found.family, found.values, found.way, name, around, 6)
        found = min(found, fit(observed, found.family, values, found.way), key=_rms)
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
        rms, _ = observed.misfit(affine_of(observed, plain, way).of(plain))
        # A threshold between two points gives the same results wherever it lies: the middle one.
        least = np.flatnonzero(rms == rms.min())
        place = int(least[len(least) // 2])
        values = {**values, name: float(usable[place])}
        low, high = usable[max(place - 1, 0)], usable[min(place + 1, usable.size - 1)]
        grid = np.linspace(low, high, 9)
    return values


def _moved(observed: Observation, found: Fit, values: Values) -> Fit:
    values = {**found.values, **values}
    if not found.family.accepts(values):
        return replace(found, values=values, rms=math.inf, worst=math.inf)
    return fit(observed, found.family, values, found.way)


def _rms(found: Fit) -> float:
    return found.rms


def neat(observed: Observation, found: Fit) -> Fit:
    """Return a fit with numbers worth telling: four digits of those of one that does not hold."""
    if not found.free:
        return found
    if found.holds:
        return shortened(observed, found)
    values = {name: _digits(value, 4) for name, value in found.values.items()}
    affine = Affine(_digits(found.affine.scale, 4), _digits(found.affine.offset, 4))
    if not found.family.accepts(values):
        return found
    rms, worst = observed.misfit(affine.of(found.family.evaluate(observed.x, values)))
    return replace(found, values=values, affine=affine, rms=float(rms), worst=float(worst))


def shortened(observed: Observation, found: Fit) -> Fit:
    """Return the fit with every number that was found in as few digits as explain as much."""
    limit = found.rms * 1.05 + FLOOR / 2
    for name in (parameter.name for parameter in found.family.parameters):
        exact = found.values[name]
        for value in _shorter(exact):
            shorter = _moved(observed, found, {name: value})
            if shorter.rms <= limit or _rounds_to(exact, value, observed):
                found = shorter
                break
    plain = found.family.evaluate(observed.x, found.values)
    # The two together first: what one lacks the other makes up for.
    for digits in range(1, 9):
        affine = Affine(_digits(found.affine.scale, digits), _digits(found.affine.offset, digits))
        rms, worst = observed.misfit(affine.of(plain))
        if rms <= limit:
            found = replace(found, affine=affine, rms=float(rms), worst=float(worst))
            break
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
        yield _digits(value, digits)


def _digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def odds(ranked: list[Fit]) -> Mapping[int, float]:
    """Return the probability of each fit and, under -1, of none: all equally likely before."""
    scores = {i: found.score for i, found in enumerate(ranked)}
    scores[-1] = -POINTS * math.log(TYPICAL * ranked[0].slack)
    top = max(scores.values())
    weights = {i: math.exp(max(score - top, -700.0)) for i, score in scores.items()}
    total = sum(weights.values())
    return {i: weight / total for i, weight in weights.items()}
