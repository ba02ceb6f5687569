"""Fits of the catalogue's functions to observed values.

Fits are ranked by likelihood minus a penalty for every fitted number: a scaled elu with just the
right numbers is selu, and is reported as selu. Fitted numbers are then rounded to as few digits as
the observation allows: 0.01, not 0.0100000004.

PyTorch's softplus is x beyond a threshold, where it jumps. For each possible threshold, the values
left of it are compared with the smooth function and those right of it with the line; cumulative
sums give the errors of all thresholds at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from softgate.catalogue.entry import Parameter

from .families import (
    HUGE,
    PLAIN,
    THINNED,
    AffineMap,
    Columns,
    Family,
    Float64s,
    Observation,
    Values,
    solve,
)

FLOOR = 0.02
"""Differences below this many units are ignored: results agree to the last bit."""

POINTS = 64
"""The effective number of independent points: errors of neighbouring points are correlated."""

PRICE = math.log(POINTS) * 1.5
"""The penalty of the log-likelihood for each fitted number."""

CLOSE = 4.0
"""The root mean square difference, in units, at which the search ends."""

REACH, LEAST_REACH = 0.4, 0.02
"""The half width of a parameter's search around its start: beyond the neighbours on the grid."""

STEPS, ENOUGH = 8, 0.98
"""The steps of a refinement, and the largest expected ratio of rms after and before a step."""

SPACING = 0.2
"""More than the distance between two points of a thinned observation."""

TYPICAL, LARGEST = 16.0, 128.0
"""The largest root mean square and the largest difference, in units, of an implementation."""

AFFINE_MAPS = {
    "itself": None,
    "shifted": {"scale": False, "offset": True},
    "scaled": {"scale": True, "offset": False},
    "both": {"scale": True, "offset": True},
}
"""The affine maps between a function and the observation."""


@dataclass(frozen=True)
class FittedFunction:
    """One function with its parameters and affine map, and its distance from the observation."""

    family: Family
    values: Values
    affine: AffineMap
    kind: str
    rms: float
    worst: float
    slack: float

    @property
    def score(self) -> float:
        """The log-likelihood minus the penalty of the fitted numbers."""
        return -POINTS * math.log(max(self.rms, FLOOR)) - PRICE * self.free

    @cached_property
    def free(self) -> int:
        """The number of fitted numbers."""
        defaults = self.family.defaults
        return self.affine.free + sum(
            value != defaults.get(name) for name, value in self.values.items()
        )

    @property
    def holds(self) -> bool:
        """Whether the differences are as small as those of an implementation of the function."""
        return self.rms <= TYPICAL * self.slack and self.worst <= LARGEST * self.slack

    def at(self, x: Float64s) -> Float64s:
        """Return the fitted function at `x`."""
        return self.affine.of(self.family.evaluate(x, self.values))


def score(candidate: FittedFunction) -> tuple[float, int]:
    """Return the key by which fits are ranked."""
    # Equal functions, such as elu and celu with alpha 1, are ranked by the length of the formula.
    return candidate.score, -candidate.family.length


def fit(observed: Observation, family: Family, values: Values, kind: str) -> FittedFunction:
    """Return the fit of a function with these parameters."""
    plain = family.evaluate(observed.x, values)
    affine = affine_of(observed, plain, kind)
    rms, worst = observed.misfit(affine.of(plain))
    return FittedFunction(family, values, affine, kind, float(rms), float(worst), observed.slack)


def affine_of(observed: Observation, plain: Float64s, kind: str) -> AffineMap:
    """Return the best scale and offset of a kind of affine map, for each row of `plain`."""
    free = AFFINE_MAPS[kind]
    return PLAIN if free is None else solve(observed, plain, **free)


def search(observed: Observation, start: FittedFunction) -> FittedFunction:
    """Return the fit with the best parameters near those of `start`."""
    few, family, values, kind = observed.thinned, start.family, start.values, start.kind
    for _ in family.parameters:
        for parameter in family.parameters:
            middle = values[parameter.name]
            reach = max(REACH * abs(middle), LEAST_REACH)
            grid = np.linspace(middle - reach, middle + reach, 9)
            values = _zoom(few, family, values, kind, parameter.name, grid, 2)
    return refine(observed, fit(observed, family, values, kind))


def refine(observed: Observation, candidate: FittedFunction) -> FittedFunction:
    """Return a fit after Gauss-Newton steps of all its parameters, as long as they improve it."""
    names = [parameter.name for parameter in candidate.family.parameters]
    for _ in range(STEPS):
        steps = {name: 1e-6 * max(abs(candidate.values[name]), 1e-3) for name in names}
        here = _units(observed, candidate)
        changes = [
            _units(observed, _moved(observed, candidate, {name: candidate.values[name] + step}))
            - here
            for name, step in steps.items()
        ]
        still = [name for name, change in zip(names, changes, strict=True) if not change.any()]
        if still:
            return _jumped(observed, candidate, still)
        jacobian = np.stack(changes, axis=1)
        moves, *_ = np.linalg.lstsq(jacobian, -here)
        expected = math.sqrt(np.mean((here + jacobian @ moves) ** 2))
        if expected > ENOUGH * candidate.rms:
            return candidate
        moved = {name: candidate.values[name] + move * steps[name]
                 for name, move in zip(names, moves.tolist(), strict=True)}  # fmt: skip
        following = _moved(observed, candidate, moved)
        if not following.rms < candidate.rms:
            return candidate
        candidate = following
    return candidate


def _units(observed: Observation, candidate: FittedFunction) -> Float64s:
    """Return the differences in units; 0 where they are not finite."""
    with np.errstate(all="ignore"):
        apart: Float64s = (candidate.at(observed.x) - observed.y) / observed.unit
    return np.where(np.abs(apart) < HUGE, apart, 0.0)


def _jumped(
    observed: Observation, candidate: FittedFunction, names: Sequence[str]
) -> FittedFunction:
    """Return a fit after a grid search of parameters with zero derivative, such as thresholds."""
    for name in names:
        value = candidate.values[name]
        around = np.linspace(value - SPACING, value + SPACING, 9)
        values = _zoom(
            observed, candidate.family, candidate.values, candidate.kind, name, around, 6
        )
        moved = fit(observed, candidate.family, values, candidate.kind)
        candidate = moved if moved.rms < candidate.rms else candidate
    return candidate


def _zoom(
    observed: Observation,
    family: Family,
    values: Values,
    kind: str,
    name: str,
    grid: Float64s,
    times: int,
) -> Values:
    """Return `values` with one parameter optimized on `times` successively finer grids."""
    for _ in range(times):
        usable = np.array([v for v in grid if family.accepts({**values, name: float(v)})])
        if not usable.size:
            return values
        plain = family.evaluate(observed.x, {**values, name: usable[:, None]})
        plain = np.broadcast_to(plain, (usable.size, observed.x.size))
        rms, _ = observed.misfit(affine_of(observed, plain, kind).of(plain))
        # All thresholds between two points give the same results: take the middle one.
        least = np.flatnonzero(rms == rms.min())
        place = int(least[len(least) // 2])
        values = {**values, name: float(usable[place])}
        low, high = usable[max(place - 1, 0)], usable[min(place + 1, usable.size - 1)]
        grid = np.linspace(low, high, 9)
    return values


def _moved(observed: Observation, candidate: FittedFunction, values: Values) -> FittedFunction:
    values = {**candidate.values, **values}
    if not candidate.family.accepts(values):
        return replace(candidate, values=values, rms=math.inf, worst=math.inf)
    return fit(observed, candidate.family, values, candidate.kind)


def neat(observed: Observation, candidate: FittedFunction) -> FittedFunction:
    """Return a fit with numbers of few digits; of four digits if the fit does not hold."""
    if not candidate.free:
        return candidate
    if candidate.holds:
        return shortened(observed, candidate)
    values = {name: _digits(value, 4) for name, value in candidate.values.items()}
    affine = AffineMap(_digits(candidate.affine.scale, 4), _digits(candidate.affine.offset, 4))
    if not candidate.family.accepts(values):
        return candidate
    rms, worst = observed.misfit(affine.of(candidate.family.evaluate(observed.x, values)))
    return replace(candidate, values=values, affine=affine, rms=float(rms), worst=float(worst))


def shortened(observed: Observation, candidate: FittedFunction) -> FittedFunction:
    """Return the fit with every number rounded to the fewest digits that fit equally well."""
    limit = candidate.rms * 1.05 + FLOOR / 2
    for name in (parameter.name for parameter in candidate.family.parameters):
        exact = candidate.values[name]
        for value in _shorter(exact):
            shorter = _moved(observed, candidate, {name: value})
            if shorter.rms <= limit or _rounds_to(exact, value, observed):
                candidate = shorter
                break
    plain = candidate.family.evaluate(observed.x, candidate.values)
    # Scale and offset together first, because their rounding errors may cancel.
    for digits in range(1, 9):
        affine = AffineMap(
            _digits(candidate.affine.scale, digits), _digits(candidate.affine.offset, digits)
        )
        rms, worst = observed.misfit(affine.of(plain))
        if rms <= limit:
            candidate = replace(candidate, affine=affine, rms=float(rms), worst=float(worst))
            break
    for part in ("scale", "offset"):
        exact = getattr(candidate.affine, part)
        for value in _shorter(exact):
            affine = replace(candidate.affine, **{part: value})
            rms, worst = observed.misfit(affine.of(plain))
            if rms <= limit or _rounds_to(exact, value, observed):
                candidate = replace(candidate, affine=affine, rms=float(rms), worst=float(worst))
                break
    return candidate


def _rounds_to(exact: float, value: float, observed: Observation) -> bool:
    """Return whether two numbers are equal up to the rounding error of the observed format."""
    return abs(value - exact) <= 2.0**-observed.fmt.precision * max(abs(value), abs(exact))


def _shorter(value: float) -> Iterator[float]:
    """Yield `value` in 1, 2, … digits; 0 first if it is small."""
    if abs(value) < 1e-3:
        yield 0.0
    for digits in range(1, 17):
        yield _digits(value, digits)


def _digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def odds(ranked: list[FittedFunction]) -> Mapping[int, float]:
    """Return the probability of each fit and, with key -1, of none, for a uniform prior."""
    scores = {i: candidate.score for i, candidate in enumerate(ranked)}
    scores[-1] = -POINTS * math.log(TYPICAL * ranked[0].slack)
    top = max(scores.values())
    weights = {i: math.exp(max(score - top, -700.0)) for i, score in scores.items()}
    total = sum(weights.values())
    return {i: weight / total for i, weight in weights.items()}


RATIO = 10.0 ** (1 / 8)
"""The ratio of two consecutive sizes of the grid."""
SIZES: Float64s = RATIO ** np.arange(-16.0, 17.0)
FEW: Float64s = 10.0 ** np.arange(-1.0, 1.01, 0.25)
"""The sizes for functions with two parameters, which need a grid of pairs."""


class CandidateValues:
    """The values of functions at the points of one format, computed once for all observations."""

    def __init__(self, families: Sequence[Family], x: Float64s) -> None:
        self.families = families
        self._plain = np.stack([family.evaluate(x, family.defaults) for family in families])
        rows = [(family, values) for family in families for values in _trials(family)]
        self._rows = rows
        few = x[::THINNED]
        self._trials = np.stack([family.evaluate(few, values) for family, values in rows])

    def plain(self, observed: Observation) -> list[FittedFunction]:
        """Return the fits of each function with default parameters, for each kind of affine map."""
        fits = []
        for kind in AFFINE_MAPS:
            affine = affine_of(observed, self._plain, kind)
            rms, worst = observed.misfit(affine.of(self._plain))
            scales, offsets = (
                np.broadcast_to(np.ravel(part), rms.shape).tolist()
                for part in (affine.scale, affine.offset)
            )
            for i, family in enumerate(self.families):
                single = PLAIN if affine is PLAIN else AffineMap(scales[i], offsets[i])
                numbers = float(rms[i]), float(worst[i]), observed.slack
                fits.append(FittedFunction(family, family.defaults, single, kind, *numbers))
        return fits

    def distances(self, observed: Observation, fits: Sequence[FittedFunction]) -> list[float]:
        """Return the largest absolute difference of each fit that `plain` returned."""
        shape = (len(AFFINE_MAPS), len(self.families), 1)
        scale, offset = (
            np.reshape([getattr(candidate.affine, part) for candidate in fits], shape)
            for part in ("scale", "offset")
        )
        apart: list[float] = (
            observed.differences(AffineMap(scale, offset).of(self._plain)).ravel().tolist()
        )
        return apart

    def promising(self, observed: Observation, kind: str, count: int) -> list[FittedFunction]:
        """Return the best trial of each of the `count` best functions, the best first."""
        if not self._rows:
            return []
        few = observed.thinned
        rms, _ = few.misfit(affine_of(few, self._trials, kind).of(self._trials))
        chosen: dict[Family, Values] = {}
        for i in np.argsort(rms, kind="stable"):
            family, values = self._rows[i]
            chosen.setdefault(family, values)
            if len(chosen) == count:
                break
        return [fit(few, family, values, kind) for family, values in chosen.items()]


def _trials(family: Family) -> Iterator[Values]:
    """Yield starting points of a search: a grid of valid parameters."""
    parameters = family.parameters
    if not parameters:
        return
    sizes = SIZES if len(parameters) == 1 else FEW
    for chosen in product(*(_grid(parameter, sizes) for parameter in parameters)):
        values = {p.name: value for p, value in zip(parameters, chosen, strict=True)}
        if family.accepts(values):
            yield from family.variants(values)


def _grid(parameter: Parameter, sizes: Float64s) -> list[float]:
    negative = -sizes if parameter.above < 0 else sizes
    grid: list[float] = np.unique([*negative, 0.0, *sizes, parameter.default]).tolist()
    return grid


Probe = Callable[[Float64s], Observation]

THRESHOLD, PLACE = "threshold", "place"
"""The reported parameter, and the fitted one: threshold/beta, the input of the jump."""
PLACES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Further starting points of a search, for jumps so large that no fit without one is close."""
TRIED = 2.0 ** np.arange(-2, 4.1, 0.25)
ROUNDS = 6
"""Rounds after which scale, offset, beta and threshold have converged."""


class ClippedFamily(Family):
    """softplus(x) where beta·x <= threshold, else x; softplus everywhere without a threshold."""

    def accepts(self, values: Values) -> bool:
        """Return whether these parameters are valid."""
        return super().accepts(_smooth(values))

    def variants(self, values: Values) -> Iterator[Values]:
        """Yield these parameters, and the same with a jump at each of `PLACES`."""
        yield values
        for place in PLACES:
            yield {**values, PLACE: place}

    def evaluate(self, x: Float64s, values: Columns) -> Float64s:
        """Return the function at `x`."""
        smooth = super().evaluate(x, _smooth(values))
        if THRESHOLD in values:
            return np.where(values["beta"] * x > values[THRESHOLD], x, smooth)
        return np.where(x > values[PLACE], x, smooth) if PLACE in values else smooth


def _smooth(values: Columns) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in (THRESHOLD, PLACE)}


def with_threshold(observed: Observation, candidate: FittedFunction, call: Probe) -> FittedFunction:
    """Return a fit of softplus, with a threshold if the observation shows one."""
    place, candidate = 0, _placed(observed, candidate)
    for _ in range(ROUNDS):
        previous, place = place, _first_on_line(observed, candidate)
        if place in (0, previous):
            break
        middle = float(observed.x[place - 1] + observed.x[place]) / 2
        values = {**_smooth(candidate.values), PLACE: middle}
        candidate = refine(observed, fit(observed, candidate.family, values, candidate.kind))
    if not place or not _is_seen(observed, candidate, place):
        values = _smooth(candidate.values)
        return (
            candidate
            if values == candidate.values
            else fit(observed, candidate.family, values, candidate.kind)
        )
    candidate = neat(observed, candidate)
    low, high = _narrowed(float(observed.x[place - 1]), float(observed.x[place]), candidate, call)
    beta = candidate.values["beta"]
    values = {**_smooth(candidate.values), THRESHOLD: _shortest(beta * low, beta * high)}
    rms, worst = observed.misfit(candidate.affine.of(candidate.family.evaluate(observed.x, values)))
    return replace(candidate, values=values, rms=float(rms), worst=float(worst))


def _placed(observed: Observation, candidate: FittedFunction) -> FittedFunction:
    """Return the best fit with a jump at one of `TRIED`, or without a jump."""
    if PLACE in candidate.values:
        return candidate
    smooth = candidate.family.evaluate(observed.x, candidate.values)
    rows = np.where(observed.x > TRIED[:, None], observed.x, smooth)
    rms, _ = observed.misfit(affine_of(observed, rows, candidate.kind).of(rows))
    best = int(np.argmin(rms))
    if not rms[best] < candidate.rms:
        return candidate
    values = {**candidate.values, PLACE: float(TRIED[best])}
    return fit(observed, candidate.family, values, candidate.kind)


def _sides(observed: Observation, candidate: FittedFunction) -> tuple[Float64s, Float64s]:
    """Return the squares of the differences from the smooth function and from the line."""
    beta, x = {"beta": candidate.values["beta"]}, observed.x
    with np.errstate(all="ignore"):
        smooth = (
            candidate.affine.of(candidate.family.evaluate(x, beta)) - observed.y
        ) / observed.unit
        line = (candidate.affine.of(x) - observed.y) / observed.unit
    return smooth**2, line**2


def _gained(observed: Observation, candidate: FittedFunction) -> Float64s:
    """Return the decrease of squared differences by a threshold right before each point."""
    smooth, line = _sides(observed, candidate)
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.cumsum((smooth - line)[::-1])[::-1], nan=-np.inf)


def _first_on_line(observed: Observation, candidate: FittedFunction) -> int:
    """Return the index of the first point beyond the best threshold; 0 if there is none."""
    gained = _gained(observed, candidate)
    place = int(np.argmax(gained))
    x = observed.x[place : place + 1]
    ends = (x, candidate.family.evaluate(x, _smooth(candidate.values)))
    line, smooth = (candidate.affine.of(values).item() for values in ends)
    # The scaled value was rounded before the offset was added, which may cancel.
    size = max(abs(line), abs(smooth), abs(line - candidate.affine.offset))
    visible = abs(line - smooth) > 2.0**-observed.fmt.mantissa_bits * size
    return place if x[0] > 0 and gained[place] > 0 and visible else 0


def _is_seen(observed: Observation, candidate: FittedFunction, place: int) -> bool:
    """Return whether a threshold improves the fit significantly."""
    smooth, line = _sides(observed, candidate)
    noise = float(np.mean(np.minimum(smooth, line))) + FLOOR**2
    return bool(_gained(observed, candidate)[place] / (2 * noise) >= 2 * PRICE)


def _narrowed(
    low: float, high: float, candidate: FittedFunction, call: Probe
) -> tuple[float, float]:
    """Return the last input on the smooth function and the first on the line."""
    for _ in range(4):
        seen = call(np.linspace(low, high, 66))
        gained = _gained(seen, candidate)
        first = max(int(np.argmax(gained)), 1)
        if seen.x.size < 3 or not gained[first] > 0:
            break
        low, high = float(seen.x[first - 1]), float(seen.x[first])
    return low, high


def _shortest(low: float, high: float) -> float:
    """Return the number with the fewest digits in [low, high)."""
    for digits in range(1, 17):
        step = 10.0 ** (np.floor(np.log10(abs(high))) - digits + 1)
        value = float(f"{np.ceil(low / step) * step:.15g}")
        if low <= value < high:
            return value
    return low
