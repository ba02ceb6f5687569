"""A function as pieces on which it is one smooth expression, and its roots.

Comparisons, |u|, divisions, logarithms and roots have kinks or ends of their domain only where an
expression, their guard, is 0. Guards are solved in the order of the graph, each on the pieces of
the guards before it. Within a piece no condition changes and the function is one smooth branch, so
that its derivatives are exact on both sides of every kink.

Roots are bracketed on a dense grid by sign changes of the float64 kernels, which are fast, and then
located by evaluating the definition with many digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.derivative import derivative
from softgate.formula.graph import COMPARISONS, POSITIVE, Node, rebuild, walk
from softgate.lower.exact import fraction
from softgate.records import exact_digits
from softgate.runtime import kernels

from . import exact

MOST_ZEROS = 16
"""A guard with more zeros than this on a piece oscillates; the search would miss some."""
MOST_STEEP = 8
"""Places between neighbours of the grid that are examined for a rise narrower than the grid."""
SEARCH = tuple(
    sorted(
        {Fraction(n, 8) for n in range(-128, 129)}
        | {sign * Fraction(2) ** k for k in range(-20, 61) for sign in (-1, 1)}
    )
)
"""Where a guard that is not linear is evaluated, to find its changes of sign."""


@dataclass(frozen=True)
class Piece:
    """An open interval on which the function is one smooth branch; None is an end at infinity."""

    low: Fraction | None
    high: Fraction | None
    branch: Node

    def inside(self, count: int = 1) -> list[Fraction]:
        """Return `count` points within the piece, near its finite end or near 0."""
        if self.low is not None and self.high is not None:
            width = self.high - self.low
            return [self.low + width * Fraction(i + 1, count + 1) for i in range(count)]
        steps = [Fraction(3 * i + 1, 3) for i in range(count)]
        if self.low is not None:
            return [self.low + step for step in steps]
        end = Fraction(2, 7) if self.high is None else self.high
        return [end - step for step in steps]

    def holds(self, x: Fraction) -> bool:
        """Return whether `x` is in the open interval."""
        above = self.low is None or self.low < x
        return above and (self.high is None or x < self.high)

    def derivative(self, order: int) -> Node:
        """Return the derivative of the branch of this order; order 0 is the branch."""
        return reduce(derivative, ["x"] * order, self.branch)

    @cached_property
    def defined(self) -> bool:
        """Whether the branch is real-valued on the piece."""
        return any(not exact.is_nan(exact.at(self.branch, x)) for x in self.inside(3))

    def constant(self, order: int) -> exact.Number | None:
        """Return the value of a derivative that is constant on the piece, or None if it varies."""
        if order not in self._constants:
            root, places = self.derivative(order), self.inside(3)
            fixed = self.defined and (
                exact.is_constant(root) or exact.vanishes(self.derivative(order + 1), places)
            )
            self._constants[order] = exact.at(root, places[0]) if fixed else None
        return self._constants[order]

    @cached_property
    def _constants(self) -> dict[int, exact.Number | None]:
        return {}


def pieces(root: Node) -> list[Piece]:
    """Return the pieces of a definition from left to right; their ends are the breaks."""
    breaks: list[Fraction] = []
    for guard in _guards(root):
        if exact.is_constant(guard):
            continue
        for piece in _cut(guard, breaks):
            breaks += [x for x in _solve(piece) if x not in breaks]
    return _join(root, _cut(root, breaks))


def _join(root: Node, cut: list[Piece]) -> list[Piece]:
    """Return the pieces, joined at breaks where branch, value and derivatives are the same."""
    joined = cut[:1]
    for piece in cut[1:]:
        x = piece.low
        assert x is not None
        last = joined[-1]
        if last.branch is piece.branch:
            here = [exact.at(node, x) for node in (root, *map(piece.derivative, range(4)))]
            if all(map(exact.is_finite, here)) and exact.same(here[0], here[1]):
                joined[-1] = Piece(last.low, piece.high, piece.branch)
                continue
        joined.append(piece)
    return joined


def _guards(root: Node) -> list[Node]:
    """Return the expressions with zeros at possible kinks or domain ends, inner ones first."""
    guards: list[Node] = []
    for node in walk(root):
        if node.op in COMPARISONS:
            guards.append(node.args[0] - node.args[1])
        elif node.op in ("abs", "log", "sqrt"):
            guards.append(node.args[0])
        elif node.op == "div":
            guards.append(node.args[1])
        elif node.op == "log1p":
            guards.append(1 + node.args[0])
    return list(dict.fromkeys(guards))


def _cut(root: Node, breaks: list[Fraction]) -> list[Piece]:
    ends = [None, *sorted(breaks), None]
    made = []
    for low, high in pairwise(ends):
        inside = Piece(low, high, root).inside()[0]
        made.append(Piece(low, high, decided(root, inside)))
    return made


def decided(root: Node, x: Fraction) -> Node:
    """Return `root` with each `where` and |u| replaced by its branch at `x`."""

    def visit(node: Node, args: list[Node]) -> Node:
        if node.op == "where":
            return args[1] if exact.at(node.args[0], x) == 1 else args[2]
        if node.op == "abs":
            return -args[0] if exact.at(args[0], x) < 0 else args[0]
        return root.graph.copy(node, args)

    return rebuild(root, visit)


def _solve(piece: Piece) -> list[Fraction]:
    """Return the zeros of a guard within its piece."""
    guard = piece.branch
    if exact.is_constant(guard) or guard.op in POSITIVE:
        return []
    slope = derivative(guard)
    if exact.is_constant(slope):
        steep = exact.at(slope, Fraction(0))
        start = piece.inside()[0]
        value = exact.at(guard, start)
        if not exact.is_finite(value) or steep == 0:
            return []
        zero = start - _fraction(value / steep)
        return [zero] if piece.holds(zero) else []
    places = [x for x in (*SEARCH, *piece.inside(15)) if piece.holds(x)]
    zeros = _sign_changes(guard, sorted(set(places)))
    if len(zeros) > MOST_ZEROS:
        raise ValueError(
            f"the formula may bend wherever {guard!r} is 0, which is at more than {MOST_ZEROS} "
            "points: too many to analyse"
        )
    return zeros


def _fraction(value: exact.Number) -> Fraction:
    exact_value = fraction(value)
    short = exact_value.limit_denominator(10**15)
    # A guard such as x/6 + 0.5 is rounded in binary; its zero is meant to be -3.
    return (
        short
        if abs(short - exact_value) * 2**200 <= max(abs(exact_value), Fraction(1))
        else exact_value
    )


def _sign_changes(root: Node, places: list[Fraction]) -> list[Fraction]:
    values = [(x, exact.at(root, x)) for x in places]
    zeros = [x for x, value in values if value == 0 and exact.is_isolated_zero(root, x)]
    for (low, left), (high, right) in pairwise(values):
        if exact.is_nan(left) or exact.is_nan(right) or left == 0 or right == 0:
            continue
        if (left < 0) != (right < 0):
            zero = exact.root_between(root, low, high)
            if zero is not None:
                zeros.append(zero)
    return zeros


Floats = npt.NDArray[np.float64]

QUANTITIES = ("value", "slope", "curvature")
MOST_ROOTS = 64
FAR = 60
"""Roots are searched up to 2**FAR; beyond, only limits are computed."""


def _grid() -> Floats:
    """Return points that are dense where activations bend: linear near 0, then by magnitude."""
    near = np.arange(-32 * 64, 32 * 64 + 1) / 64
    magnitude = np.concatenate([2.0 ** np.arange(-1070, -20), 2.0 ** np.arange(-20, FAR, 1 / 16)])
    return np.unique(np.concatenate([near, magnitude, -magnitude]))


class Curve:
    """A function of the catalogue or of a user, with its parameters."""

    def __init__(self, entry: Entry, parameters: Mapping[str, float]) -> None:
        self.entry, self.parameters = entry, dict(parameters)
        self.root = exact_digits.definition(entry, self.parameters, ExactArithmetic())
        self.pieces = pieces(self.root)
        self.oscillates = False
        """Whether there are more than MOST_ROOTS changes of sign."""
        self._zeros: dict[tuple[int, int, Fraction], list[Fraction]] = {}
        self._samples: dict[int, Floats] = {}

    @property
    def breaks(self) -> list[Fraction]:
        """The points between consecutive pieces."""
        return [piece.low for piece in self.pieces if piece.low is not None]

    @cached_property
    def derivatives(self) -> list[Node]:
        """The definition with all its branches, its slope and its curvature."""
        first = derivative(self.root)
        return [self.root, first, derivative(first)]

    @cached_property
    def grid(self) -> Floats:
        """The points at which kernels are evaluated, some around breaks and steep places."""
        breaks = np.array([float(x) for x in self.breaks])
        steps = np.concatenate([[-(2.0**-k), 2.0**-k] for k in (10, 20, 30)])
        around = (breaks[:, None] + steps * np.maximum(1.0, np.abs(breaks))[:, None]).ravel()
        grid = np.unique(np.concatenate([_grid(), around]))
        return np.unique(np.concatenate([grid, *self._steep_places(grid, breaks)]))

    def _steep_places(self, grid: Floats, breaks: Floats) -> list[Floats]:
        """Return points around rises that are narrower than the grid, as steep sigmoids have.

        There the value of two neighbours differs by far more or far less than their slopes imply.
        """

        def rises(x: Floats) -> Floats:
            y, slope = self.kernel(0, x), np.abs(self.kernel(1, x))
            size = np.maximum(np.abs(y[:-1]), np.abs(y[1:]))
            with np.errstate(all="ignore"):
                rise = np.abs(np.diff(y))
                implied = np.maximum(slope[:-1], slope[1:]) * np.diff(x)
                hidden = (rise > 2.0**-20 * size) & (rise > 4 * implied)
                hidden |= (rise > 2.0**-6 * size) & (implied > 256 * rise)
                hidden &= size > 2.0**-1000
            return np.where(np.isfinite(rise) & hidden, rise, 0.0)

        hidden = rises(grid)
        at_breaks = np.searchsorted(grid, breaks)[:, None] + (-1, 0)
        hidden[np.clip(at_breaks, 0, hidden.size - 1)] = 0
        places = []
        for i in np.argsort(-hidden, kind="stable")[: np.count_nonzero(hidden)][:MOST_STEEP]:
            x = grid[i : i + 2]
            while (narrower := rises(np.linspace(x[0], x[1], 9))).any():
                steepest, width = int(np.argmax(narrower)), (x[1] - x[0]) / 8
                if width <= np.spacing(np.abs(x).max()):
                    break
                x = x[0] + width * np.array([steepest, steepest + 1])
            places.append(x[0] + (x[1] - x[0]) * np.arange(-256, 257) / 64)
        return places

    def kernel(self, order: int, x: Floats) -> Floats:
        """Return the value, slope or curvature at `x`, computed by the float64 kernel."""
        with np.errstate(all="ignore"):
            return kernels.evaluate64(
                self.entry, QUANTITIES[order], np.ascontiguousarray(x), self.parameters
            )

    def sampled(self, piece: Piece, order: int) -> tuple[Floats, Floats]:
        """Return the grid points within a piece, and a quantity at them."""
        if order not in self._samples:
            self._samples[order] = self.kernel(order, self.grid)
        inside = np.ones(self.grid.size, bool)
        if piece.low is not None:
            inside &= self.grid > float(piece.low)
        if piece.high is not None:
            inside &= self.grid < float(piece.high)
        return self.grid[inside], self._samples[order][inside]

    def zeros(self, piece: Piece, order: int, level: Fraction = Fraction(0)) -> list[Fraction]:
        """Return the points in a piece where a quantity is `level`; none if it is constant."""
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
        zeros, x, signs = _decide(node, x, y - float(level))
        brackets = np.flatnonzero(signs[:-1] != signs[1:])
        if brackets.size > MOST_ROOTS:
            self.oscillates = True
            nearest = np.argsort(np.abs(x[brackets]), kind="stable")[:MOST_ROOTS]
            brackets = np.sort(brackets[nearest])
        for i in brackets:
            zero = exact.root_between(node, Fraction(float(x[i])), Fraction(float(x[i + 1])))
            if zero is not None and piece.holds(zero):
                zeros.append(zero)
        return sorted(set(zeros))


def _decide(
    node: Node, x: Floats, y: Floats
) -> tuple[list[Fraction], Floats, npt.NDArray[np.int8]]:
    """Return the exact zeros on the grid, and the other points with their signs.

    Where a kernel returns 0, the definition is evaluated: it is a root, or a number that underflows
    in float64. In a run of zeros only the ends and the middle are evaluated.
    """
    known = np.isfinite(y)
    x, y = x[known], y[known]
    signs = np.sign(y).astype(np.int8)
    zero = np.flatnonzero(signs == 0)
    runs = np.split(zero, np.flatnonzero(np.diff(zero) != 1) + 1) if zero.size else []
    zeros: list[Fraction] = []
    for run in runs:
        for i in {int(run[0]), int(run[run.size // 2]), int(run[-1])}:
            place = Fraction(float(x[i]))
            value = exact.at(node, place)
            if value == 0 and run.size == 1:
                zeros.append(place)
            elif exact.is_finite(value) and value != 0:
                signs[i] = 1 if value > 0 else -1
    return zeros, x[signs != 0], signs[signs != 0]
