"""All properties of a function, none of them typed in.

What mathematics says comes from the definition with many digits, means from the float64 kernels,
the dead regions from the kernels of each format.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from softgate.catalogue import Entry
from softgate.runtime.kernels import BUILDING

from . import dead, exact, gaussian, shape
from .curve import Curve, Floats
from .extremes import Extreme, extremes
from .record import Properties

SMALL = Fraction(1, 100)
"""A slope smaller than this hardly lets a gradient through."""


def study(entry: Entry, parameters: Mapping[str, float], name: str | None = None) -> Properties:
    """Return the properties of an entry with these parameters; `name` is what it is shown as."""
    with BUILDING:  # mpmath's context is shared
        curve = Curve(entry, parameters)
        roots = shape.slope_roots(curve)
        smallest_slope, largest_slope = extremes(curve, 1)
        special = (*roots, *map(exact.to_float, curve.breaks))
        minimum, maximum = extremes(curve, 0)
        moments = _moments(curve)
        return Properties(
            function=name or entry.name,
            formula=entry.formula,
            minimum=minimum,
            maximum=maximum,
            smoothness=shape.smoothness(curve),
            jumps=shape.jumps(curve),
            monotone=shape.monotone(curve),
            slope_roots=roots,
            level=shape.level(curve),
            largest_slope=largest_slope,
            smallest_slope=smallest_slope,
            largest_curvature=_largest_curvature(curve),
            limits=shape.limits(curve, 0),
            slope_limits=shape.limits(curve, 1),
            asymptotes=shape.asymptotes(curve),
            small_slope_share=gaussian.share(curve, (-SMALL, SMALL), _is_small),
            negative_slope_share=gaussian.share(curve, (Fraction(0),), _is_negative),
            **moments,
            dead=dead.regions(entry, parameters, special),
            undefined=shape.undefined(curve),
            many_roots=curve.oscillates,
        )


def _is_small(slope: exact.Number) -> bool:
    size = abs(slope) * SMALL.denominator
    return bool(size < SMALL.numerator) and not exact.same(size, SMALL.numerator)


def _is_negative(slope: exact.Number) -> bool:
    return bool(slope < 0)


def _largest_curvature(curve: Curve) -> Extreme | None:
    found = [e for e in extremes(curve, 2) if e is not None]
    if not found:
        return None
    largest = max(found, key=lambda e: abs(e.value))
    same = [e for e in found if abs(e.value) == abs(largest.value)]
    places = dict.fromkeys(place for e in same for place in e.at)
    return Extreme(abs(largest.value), tuple(sorted(places, key=lambda place: place.low)))


def _moments(curve: Curve) -> dict[str, float | None]:
    """Return mean, spread and gains; None where an integral does not exist."""
    mean = gaussian.expectation(curve, 0, lambda y: y)
    square = gaussian.expectation(curve, 0, _square)
    slope_square = gaussian.expectation(curve, 1, _square)
    variance = None
    if mean is not None:
        variance = gaussian.expectation(curve, 0, partial(_square_from, mean))
    return {
        "mean": mean,
        "sd": None if variance is None else math.sqrt(variance),
        "mean_square": square,
        "mean_squared_slope": slope_square,
        "gain": _gain(square),
        "backward_gain": _gain(slope_square),
    }


def _square(y: Floats) -> Floats:
    return y * y


def _square_from(mean: float, y: Floats) -> Floats:
    return (y - mean) ** 2


def _gain(mean_square: float | None) -> float | None:
    return math.sqrt(1 / mean_square) if mean_square else None
