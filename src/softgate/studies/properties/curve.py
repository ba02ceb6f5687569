"""One function as this study sees it: kernels on a grid say where to look, mpmath what is there.

The float64 kernels are quick and see every change of sign on a dense grid; the definition, with
many digits, decides whether it is one and where exactly it lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.arithmetic import Definition
from softgate.formula.derivative import derivative
from softgate.formula.graph import Node
from softgate.lower import decimals
from softgate.runtime import kernels

from . import exact
from .pieces import Piece, pieces

Floats = npt.NDArray[np.float64]

QUANTITIES = ("value", "slope", "curvature")
MOST_ROOTS = 64
FAR = 60
"""Roots are looked for up to 2**FAR; beyond, only limits are."""


def _grid() -> Floats:
    """Return points that are dense where activations bend: linear near 0, then by magnitude."""
    near = np.arange(-32 * 64, 32 * 64 + 1) / 64
    magnitude = np.concatenate([2.0 ** np.arange(-1070, -20), 2.0 ** np.arange(-20, FAR, 1 / 16)])
    return np.unique(np.concatenate([near, magnitude, -magnitude]))


class Curve:
    """A function of the catalogue or of a user, with its parameters."""

    def __init__(self, entry: Entry, parameters: Mapping[str, float]) -> None:
        self.entry, self.parameters = entry, dict(parameters)
        self.root = decimals.definition(entry, self.parameters, Definition())
        self.pieces = pieces(self.root)
        self.oscillates = False
        """Whether more changes of sign were seen than are followed."""
        self._zeros: dict[tuple[int, int, Fraction], list[Fraction]] = {}

    @property
    def breaks(self) -> list[Fraction]:
        """Where one piece ends and the next begins."""
        return [piece.low for piece in self.pieces if piece.low is not None]

    @cached_property
    def derivatives(self) -> list[Node]:
        """The definition as it stands, choices included, its slope and its curvature."""
        first = derivative(self.root)
        return [self.root, first, derivative(first)]

    @cached_property
    def grid(self) -> Floats:
        """Where the kernels are looked at: on both sides of each break too."""
        breaks = np.array([float(x) for x in self.breaks])
        steps = np.concatenate([[-(2.0**-k), 2.0**-k] for k in (10, 20, 30)])
        around = (breaks[:, None] + steps * np.maximum(1.0, np.abs(breaks))[:, None]).ravel()
        return np.unique(np.concatenate([_grid(), around]))

    def kernel(self, order: int, x: Floats) -> Floats:
        """Return the value, slope or curvature that the float64 kernel gives."""
        with np.errstate(all="ignore"):
            return kernels.evaluate64(
                self.entry, QUANTITIES[order], np.ascontiguousarray(x), self.parameters
            )

    def sampled(self, piece: Piece, order: int) -> tuple[Floats, Floats]:
        """Return the grid within a piece and a quantity there."""
        if order not in self._samples:
            self._samples[order] = self.kernel(order, self.grid)
        inside = np.ones(self.grid.size, bool)
        if piece.low is not None:
            inside &= self.grid > float(piece.low)
        if piece.high is not None:
            inside &= self.grid < float(piece.high)
        return self.grid[inside], self._samples[order][inside]

    @cached_property
    def _samples(self) -> dict[int, Floats]:
        return {}

    def zeros(self, piece: Piece, order: int, level: Fraction = Fraction(0)) -> list[Fraction]:
        """Return where a quantity takes `level` within a piece, unless it is the same all over."""
        key = (id(piece), order, level)
        if key not in self._zeros:
            varies = piece.defined and piece.constant(order) is None
            self._zeros[key] = self._search(piece, order, level) if varies else []
        return self._zeros[key]

    def _search(self, piece: Piece, order: int, level: Fraction) -> list[Fraction]:
        node = piece.derivative(order)
        if level:
            node = node - level
        x, y = self.sampled(piece, order)
        found, x, signs = _decide(node, x, y - float(level))
        brackets = np.flatnonzero(signs[:-1] != signs[1:])
        if brackets.size > MOST_ROOTS:
            self.oscillates = True
            nearest = np.argsort(np.abs(x[brackets]), kind="stable")[:MOST_ROOTS]
            brackets = np.sort(brackets[nearest])
        for i in brackets:
            zero = exact.root_between(node, Fraction(float(x[i])), Fraction(float(x[i + 1])))
            if zero is not None and piece.holds(zero):
                found.append(zero)
        return sorted(set(found))


def _decide(
    node: Node, x: Floats, y: Floats
) -> tuple[list[Fraction], Floats, npt.NDArray[np.int8]]:
    """Return exact zeros on the grid, and the rest of it with signs.

    Where a kernel gives 0, the definition says whether that is a root or a number too small for a
    float64. Of a long run of zeros its ends and its middle are asked.
    """
    known = np.isfinite(y)
    x, y = x[known], y[known]
    signs = np.sign(y).astype(np.int8)
    zero = np.flatnonzero(signs == 0)
    runs = np.split(zero, np.flatnonzero(np.diff(zero) != 1) + 1) if zero.size else []
    found: list[Fraction] = []
    for run in runs:
        for i in {int(run[0]), int(run[run.size // 2]), int(run[-1])}:
            place = Fraction(float(x[i]))
            value = exact.at(node, place)
            if value == 0 and run.size == 1:
                found.append(place)
            elif exact.is_finite(value) and value != 0:
                signs[i] = 1 if value > 0 else -1
    return found, x[signs != 0], signs[signs != 0]
