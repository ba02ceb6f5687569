"""A search for the largest float64 errors: windows of neighbouring floats around the worst samples.

Within some thousand neighbours the exact result is a parabola to far below an ulp. Three balls
determine it, so that an input costs little more than the function's own time. Some rounds examine
windows around random inputs of the sample, the others near the worst inputs of every region, at
random distances. What is returned was compared with arb itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from softgate.formula.formats import FLOAT64, ulp

from .errors import Errors, Float64s, Reference
from .regions import SPECIAL_VALUES, Regions

HALF_WIDTH = 1 << 11
"""Neighbours on each side of the centre of a window."""
PER_WINDOW = 2
"""Inputs of a window that are compared with arb."""
STARTS = 8
"""Inputs of a region that are kept from round to round."""
APART_BITS = 24
"""Inputs that are kept differ in more than these last bits, so that they are not of one window."""
ROUNDS = 48
DISTANCES = (3.0, 46.0)
"""A window is at x·(1 ± 2**-k), with k between these: up to far beyond its neighbours' windows."""
MANTISSA = (1 << 52) - 1


def climb(
    evaluate: Callable[[Float64s], Float64s],
    reference: Reference,
    regions: Regions,
    errors: Errors,
    seed: int = 0,
    rounds: int = ROUNDS,
) -> Errors:
    """Return the largest errors of each region that are at or near those of `errors`.

    All calls of `evaluate` have the same length, as some frameworks compile for each.
    """
    rng = np.random.default_rng(seed)
    worst = _worst(reference, regions, errors)
    usual = errors[np.isfinite(errors.x) & (errors.x != 0)]
    # Windows are more often where errors are larger: the rank is uniform to the power 0.2.
    ranked = usual.x[np.argsort(usual.error_ulp, kind="stable")]
    for number in range(rounds if worst.x.size else 0):
        count = STARTS * len(regions.names)
        if number < rounds // 3:
            places = ranked[(ranked.size * rng.random(count) ** 0.2).astype(int)]
        else:
            # Half of the windows are near the worst inputs of all regions.
            overall = worst.x[np.argsort(-worst.error_ulp, kind="stable")][: 2 * STARTS]
            half = count // 2
            places = np.concatenate([rng.choice(worst.x, half), rng.choice(overall, count - half)])
            distance = 2.0 ** -rng.uniform(*DISTANCES, places.size)
            with np.errstate(over="ignore"):
                places = places * (1 + distance * rng.choice((-1.0, 1.0), places.size))
        nearby = _worst_of_windows(evaluate, reference, places)
        worst = _worst(reference, regions, _joined(worst, nearby))
    return worst


def _worst(reference: Reference, regions: Regions, errors: Errors) -> Errors:
    """Return the largest errors of each region in which an error has a meaning."""
    groups = []
    where = regions.assign(errors.x, errors.truth)
    if not reference.scaled:  # near a root an ulp of the result is arbitrarily small
        where = np.where(regions.is_root(errors.x), -1, where)
    order = np.argsort(-errors.error_ulp, kind="stable")
    first = np.unique(errors.x[order].view(np.int64) >> APART_BITS, return_index=True)[1]
    order = order[np.sort(first)]
    for i, name in enumerate(regions.names):
        if name != SPECIAL_VALUES:
            groups.append(order[where[order] == i][:STARTS])
    return errors[np.concatenate(groups)]


def _joined(one: Errors, other: Errors) -> Errors:
    """Return the errors at all inputs of both, each input once."""
    arrays = {
        field.name: np.concatenate([getattr(one, field.name), getattr(other, field.name)])
        for field in fields(Errors)
        if field.name not in ("fmt", "uncertainty_ulp")
    }
    distinct = np.unique(arrays["x"], return_index=True)[1]
    return Errors(one.fmt, **{name: array[distinct] for name, array in arrays.items()})


def _worst_of_windows(
    evaluate: Callable[[Float64s], Float64s], reference: Reference, centres: Float64s
) -> Errors:
    """Return the errors at the inputs with the largest ones of the window around each centre."""
    bits = centres.view(np.int64)
    # In one binade, where floats are equally spaced; infinities become the largest numbers.
    bits = np.where(np.isfinite(centres), bits, bits - 1)
    fraction = np.clip(bits & MANTISSA, HALF_WIDTH, MANTISSA - HALF_WIDTH)
    steps = np.arange(-HALF_WIDTH, HALF_WIDTH + 1)
    x = (((bits & ~MANTISSA) | fraction)[:, None] + steps).view(np.float64)
    y = evaluate(x.ravel()).reshape(x.shape)
    estimates = _estimates(reference, x, y, steps / HALF_WIDTH)
    chosen = np.argpartition(-estimates, PER_WINDOW, axis=1)[:, :PER_WINDOW]
    points, results = (np.take_along_axis(array, chosen, 1).ravel() for array in (x, y))
    smooth = ~np.isin(points, list(reference.kinks(FLOAT64)))
    return reference.against_arb(points[smooth], results[smooth], FLOAT64)


def _estimates(reference: Reference, x: Float64s, y: Float64s, place: Float64s) -> Float64s:
    """Return errors in ulps from the parabola through both ends and the centre of each window."""
    from flint import arb

    from softgate.lower.exact import truths

    few = x[:, [0, HALF_WIDTH, -1]]
    balls = truths(reference.root, few.ravel().tolist(), 100, **reference.parameters)
    size = np.abs([float(ball.mid()) for ball in balls])
    scale = reference.scale_by_arb(few.ravel()) if reference.scaled else size
    units = ulp(scale, FLOAT64).reshape(few.shape).min(axis=1)
    base = np.where(np.isfinite(y[:, HALF_WIDTH]), y[:, HALF_WIDTH], 0.0)
    curve = np.zeros((3, base.size))
    for i, (unit, middle) in enumerate(zip(units.tolist(), base.tolist(), strict=True)):
        left, centre, right = balls[3 * i : 3 * i + 3]
        parts = centre - middle, (right - left) / 2, (left + right) / 2 - centre
        curve[:, i] = [float(part / arb(unit)) for part in parts]
    with np.errstate(all="ignore"):
        errors = (base[:, None] - y) / units[:, None]
        errors += curve[0][:, None] + place * (curve[1][:, None] + place * curve[2][:, None])
    return np.where(np.isnan(errors), np.inf, np.abs(errors))
