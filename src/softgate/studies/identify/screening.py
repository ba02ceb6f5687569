"""A first look at the whole catalogue at once, to find the functions that are worth a search.

What the definitions give at the points looked at, with default parameters and over a coarse grid of
others, is computed once a process and format: a question then costs a few operations on matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from softgate.catalogue.entry import Parameter

from .families import PLAIN, Affine, Family, Values
from .fitting import WAYS, Fit, affine_of, fit
from .observation import THINNED, Float64s, Observation

RATIO = 10.0 ** (1 / 8)
"""What lies between two sizes of the grid."""
SIZES: Float64s = RATIO ** np.arange(-16.0, 17.0)
FEW: Float64s = 10.0 ** np.arange(-1.0, 1.01, 0.25)
"""The sizes where two parameters make a grid of pairs."""


class Screen:
    """Some functions at the points of one format."""

    def __init__(self, families: Sequence[Family], x: Float64s) -> None:
        self.families = families
        self._plain = np.stack([family.evaluate(x, family.defaults) for family in families])
        rows = [(family, values) for family in families for values in _trials(family)]
        self._rows = rows
        few = x[::THINNED]
        self._trials = np.stack([family.evaluate(few, values) for family, values in rows])

    def plain(self, observed: Observation) -> list[Fit]:
        """Return the fits of each function with its default parameters, by every way."""
        found = []
        for way in WAYS:
            affine = affine_of(observed, self._plain, way)
            rms, worst = observed.misfit(affine.of(self._plain))
            scales, offsets = (
                np.broadcast_to(np.ravel(part), rms.shape).tolist()
                for part in (affine.scale, affine.offset)
            )
            for i, family in enumerate(self.families):
                one = PLAIN if affine is PLAIN else Affine(scales[i], offsets[i])
                numbers = float(rms[i]), float(worst[i]), observed.slack
                found.append(Fit(family, family.defaults, one, way, *numbers))
        return found

    def distances(self, observed: Observation, fits: Sequence[Fit]) -> list[float]:
        """Return the largest plain difference of each of the fits that `plain` returned."""
        shape = (len(WAYS), len(self.families), 1)
        scale, offset = (
            np.reshape([getattr(found.affine, part) for found in fits], shape)
            for part in ("scale", "offset")
        )
        apart: list[float] = (
            observed.differences(Affine(scale, offset).of(self._plain)).ravel().tolist()
        )
        return apart

    def promising(self, observed: Observation, way: str, count: int) -> list[Fit]:
        """Return the nearest of each function's trials, for some functions, the nearest first."""
        if not self._rows:
            return []
        few = observed.thinned
        rms, _ = few.misfit(affine_of(few, self._trials, way).of(self._trials))
        chosen: dict[Family, Values] = {}
        for i in np.argsort(rms, kind="stable"):
            family, values = self._rows[i]
            chosen.setdefault(family, values)
            if len(chosen) == count:
                break
        return [fit(few, family, values, way) for family, values in chosen.items()]


def _trials(family: Family) -> Iterator[Values]:
    """Yield parameters to begin a search with."""
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
    found: list[float] = np.unique([*negative, 0.0, *sizes, parameter.default]).tolist()
    return found
