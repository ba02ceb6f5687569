"""An activation as polylines: dense where it bends, broken where it jumps.

A function can jump or have a kink where, in its definition, a comparison changes, a denominator
crosses 0 or the argument of an absolute value changes sign. Those points are located to the last
bit and sampled on both sides, so that no line crosses a jump and kinks are exact. Between them,
points are added until straight lines no longer differ visibly from the curve. The range of y to
show and the places of names beside lines follow from the polylines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.graph import COMPARISONS, POSITIVE, Node, walk
from softgate.runtime.tables import truth_graph

Floats = npt.NDArray[np.float64]

QUANTITIES = ("value", "slope", "curvature", "difference")
SEARCHED = 400
"""Steps of the grid that is searched for sign changes."""

VISIBLE = 1e-3
"""Largest distance of a straight line from the curve, as a fraction of the plot's height."""

MOST_POINTS = 20_000

FLAT = 1e-9
"""Curves that vary by less than this fraction of their magnitude show only rounding errors."""

ROUNDING = 1024
"""A difference of fewer ulps is mostly rounding error, visible on a logarithmic scale."""
EXACT_WITHIN = 1e9
"""Largest |x| at which such differences are computed from the definitions; beyond, too slow."""


class Drawable(Protocol):
    """A function that can be plotted: of one array, with two derivatives.

    `entry` has its definition; it is None for code without one, whose jumps are not located.
    """

    @property
    def entry(self) -> Entry | None: ...
    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, float]: ...
    def __call__(self, x: Any, /) -> Any: ...
    def slope(self, x: Any, /) -> Any: ...
    def curvature(self, x: Any, /) -> Any: ...


@dataclass(frozen=True)
class Curve:
    """The lines of a function, and the points at the ends of its jumps."""

    name: str
    label: str
    pieces: tuple[tuple[Floats, Floats], ...]
    closed: tuple[tuple[float, float], ...]
    """Points at a jump that belong to the function."""
    open: tuple[tuple[float, float], ...]
    """Limits at a jump that do not belong to the function."""

    def points(self) -> Floats:
        """Return all (x, y) of the pieces, one in each row."""
        return np.concatenate([np.stack(piece, axis=1) for piece in self.pieces])


def check_range(low: float, high: float) -> tuple[float, float]:
    """Return the range as two floats; raise ValueError if it is empty or not finite."""
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        raise ValueError(f"the range {low:g} to {high:g} is not finite or too wide")
    if low >= high:
        raise ValueError(f"the range {low:g} to {high:g} is empty: the first must be the smaller")
    return low, high


def curve(
    activation: Drawable,
    what: str,
    low: float,
    high: float,
    *,
    against: Drawable | None = None,
    log: bool = False,
    label: str = "",
) -> Curve:
    """Return an activation's value, slope, curvature, or its difference from another function.

    Parameters
    ----------
    activation : Drawable
        The function to draw.
    what : {"value", "slope", "curvature", "difference"}
        The quantity to draw.
    low, high : float
        The range of x.
    against : Drawable, optional
        The function that is subtracted for a difference.
    log : bool
        Absolute values, dense on a logarithmic scale, without those that are 0. Where float64 does
        not resolve a difference, it is computed from the definitions.
    label : str
        The name of the curve; that of the activation if empty.
    """
    function = quantity(activation, what, against, log)
    order = "value" if what == "difference" else what
    conditions = [
        (node, dict(drawn.parameters))
        for drawn in (activation, against)
        if drawn is not None and drawn.entry is not None
        for node in turning(truth_graph(drawn.entry, order))
    ]
    corners, exact = locate(conditions, low, high)
    x = np.unique(np.concatenate([np.linspace(low, high, SEARCHED + 1), corners]))
    x, y = refine(function, x, log)
    return cut(activation.name, label or activation.name, x, y, exact)


def quantity(
    activation: Drawable, what: str, against: Drawable | None, log: bool
) -> Callable[[Floats], Floats]:
    """Return the function to sample."""
    if what not in QUANTITIES:
        raise ValueError(f"what = {what!r}: expected one of {', '.join(QUANTITIES)}")
    if (what == "difference") != (against is not None):
        raise ValueError("a difference needs the function it is taken to, and only it does")

    exact = None
    if against is not None and activation.entry is not None and against.entry is not None:
        exact = ExactDifference(activation, against)

    def function(x: Floats) -> Floats:
        if against is None:
            y: Floats = (activation if what == "value" else getattr(activation, what))(x)
        else:
            values, others = activation(x), against(x)
            y = values - others
            if log:
                noise = ROUNDING * np.spacing(np.maximum(abs(values), abs(others)))
                y[abs(y) <= noise] = np.nan
                if exact is not None:
                    doubtful = np.isnan(y) & (noise > 1e-300)  # subnormals have no more digits
                    y[doubtful] = [exact(at) for at in x[doubtful].tolist()]
        return np.where(y == 0, np.nan, abs(y)) if log else y

    return function


class ExactDifference:
    """The difference of two functions by their definitions, each point computed once."""

    def __init__(self, minuend: Drawable, subtrahend: Drawable) -> None:
        self.parts = [
            (truth_graph(drawn.entry, "value"), dict(drawn.parameters))
            for drawn in (minuend, subtrahend)
            if drawn.entry is not None
        ]
        self.known: dict[float, float] = {}

    def __call__(self, x: float) -> float:
        """Return the difference at `x`; NaN beyond `EXACT_WITHIN`."""
        if x not in self.known:
            self.known[x] = self.at(x) if abs(x) <= EXACT_WITHIN else math.nan
        return self.known[x]

    def at(self, x: float) -> float:
        """Return the difference, computed with enough bits that 64 remain after cancellation."""
        from softgate.lower.exact import number, precision

        (first, first_parameters), (second, second_parameters) = self.parts
        for bits in (192, 448, 1300):  # after the last, a smaller difference underflows
            with precision(bits):
                minuend = number(first, bits, x=x, **first_parameters)
                difference = minuend - number(second, bits, x=x, **second_parameters)
                if not abs(difference) < abs(minuend) * 2.0 ** (64 - bits):
                    return float(difference)
        return 0.0


def turning(root: Node) -> list[Node]:
    """Return the nodes that change sign at possible jumps, kinks or ends."""
    nodes: dict[Node, None] = {}
    for node in walk(root):
        if node.op in COMPARISONS:
            nodes[node.args[0] - node.args[1]] = None
        elif node.op == "div":
            nodes[node.args[1]] = None
        elif node.op in ("abs", "log", "sqrt"):
            nodes[node.args[0]] = None
        elif node.op == "log1p":
            nodes[1 + node.args[0]] = None
    return [
        node
        for node in nodes
        if node.op not in POSITIVE and any(part.op == "input" for part in walk(node))
    ]


def locate(
    conditions: Iterable[tuple[Node, Mapping[str, float]]], low: float, high: float
) -> tuple[list[float], set[float]]:
    """Return the floats around each change of sign, and those where the node is 0 exactly."""
    corners: list[float] = []
    exact: set[float] = set()
    grid = [float(x) for x in np.linspace(low, high, SEARCHED + 1)]
    for node, parameters in conditions:
        signs = [sign_at(node, x, parameters) for x in grid]
        for (left, before), (right, after) in pairwise(zip(grid, signs, strict=True)):
            if before == after or before is None or after is None:
                continue
            lower, upper = bisect(node, parameters, left, right, before)
            around = [math.nextafter(lower, -math.inf), lower, upper]
            around.append(math.nextafter(upper, math.inf))
            corners += [x for x in around if low <= x <= high]
            exact |= {x for x in around if sign_at(node, x, parameters) == 0}
    return corners, exact


def sign_at(node: Node, x: float, parameters: Mapping[str, float]) -> int | None:
    """Return the sign of a node at `x`, or None where it is NaN."""
    from softgate.lower.exact import number

    value = number(node, 1, x=x, **parameters)
    return None if value.is_nan() else int(value > 0) - int(value < 0)


def bisect(
    node: Node, parameters: Mapping[str, float], left: float, right: float, before: int
) -> tuple[float, float]:
    """Return two neighbouring floats between which the sign is no longer `before`."""
    low, high = ordinal(left), ordinal(right)
    while high - low > 1:
        middle = (low + high) // 2
        if sign_at(node, from_ordinal(middle), parameters) == before:
            low = middle
        else:
            high = middle
    return from_ordinal(low), from_ordinal(high)


def ordinal(x: float) -> int:
    """Return the index of a float64 among all of them; those of neighbours differ by 1."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def from_ordinal(number: int) -> float:
    """Return the float64 at an index of `ordinal`."""
    size = float(np.int64(abs(number)).view(np.float64))
    return -size if number < 0 else size


def refine(function: Callable[[Floats], Floats], x: Floats, log: bool) -> tuple[Floats, Floats]:
    """Add points between those of `x` until lines between them follow the function."""
    y = function(x)
    visible = VISIBLE * height(np.log10(y) if log else y)
    for _ in range(16):
        middle = x[:-1] + (x[1:] - x[:-1]) / 2
        at_middle = function(middle)
        ends, seen = (np.log10(y), np.log10(at_middle)) if log else (y, at_middle)
        with np.errstate(invalid="ignore", over="ignore"):
            added = np.abs(seen - (ends[:-1] + ends[1:]) / 2) > visible
        added &= (middle > x[:-1]) & (middle < x[1:])
        if not added.any() or x.size + added.sum() > MOST_POINTS:
            break
        places = np.flatnonzero(added) + 1
        x, y = np.insert(x, places, middle[added]), np.insert(y, places, at_middle[added])
    return x, y


def height(y: Floats) -> float:
    """Return the height of the plot of `y`, without poles, which would flatten it."""
    finite = y[np.isfinite(y)]
    if not finite.size:
        return 1.0
    low, high = np.percentile(finite, [2, 98])
    return float(high - low) or float(np.ptp(finite)) or 1.0


def cut(name: str, label: str, x: Floats, y: Floats, exact: set[float]) -> Curve:
    """Return the curve in pieces: cut between neighbouring floats with distant values."""
    neighbours = np.nextafter(x[:-1], np.inf) == x[1:]
    with np.errstate(invalid="ignore"):
        jumps = neighbours & ~(np.abs(np.diff(y)) <= 1e-6 * height(y))
    ends = [int(i) for i in np.flatnonzero(jumps)]
    pieces = [
        (x[start:stop], y[start:stop])
        for start, stop in pairwise([0, *(i + 1 for i in ends), x.size])
    ]
    closed: dict[tuple[float, float], None] = {}
    near: dict[tuple[float, float], None] = {}
    for i in ends:
        for here, there in ((i, i + 1), (i + 1, i)):
            if float(x[here]) in exact:
                closed[float(x[here]), float(y[here])] = None
                near[float(x[there]), float(y[there])] = None
    taken, missed = (
        tuple(point for point in points if np.isfinite(point[1])) for points in (closed, near)
    )
    return Curve(name, label, tuple(pieces), taken, missed)


def span(curves: Sequence[Curve], log: bool = False) -> tuple[float, float]:
    """Return the lowest and the highest y to show, as logarithms if `log`.

    A pole, or a root on a logarithmic scale, is clipped, as it would flatten all curves. 0 is
    included if its distance from the curves is at most their height, or if they are flat.
    """
    y = np.concatenate([curve.points()[:, 1] for curve in curves])
    even = np.concatenate([evenly(curve) for curve in curves])
    y, even = (values[np.isfinite(values)] for values in (y, even))
    if log:
        y, even = (np.log10(values[values > 0]) for values in (y, even))
    if not y.size:
        return (-1.0, 0.0) if log else (0.0, 1.0)
    low, high = float(y.min()), float(y.max())
    usual = height(even)
    if high - low > 20 * usual:
        inner = np.percentile(even, [2, 98])
        low, high = float(inner[0]) - usual, float(inner[1]) + usual
    if not log:
        flat = high - low <= FLAT * max(abs(low), abs(high))
        if flat or max(low, -high) <= high - low:
            low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def evenly(curve: Curve, count: int = 400) -> Floats:
    """Return a curve's y at equidistant x; the points of a curve are dense where it bends."""
    x, y = curve.points().T
    even = np.linspace(x[0], x[-1], count)
    return np.asarray(y[np.minimum(np.searchsorted(x, even), x.size - 1)], dtype=np.float64)


def last_shown(curve: Curve, low: float, high: float) -> tuple[float, float] | None:
    """Return the last finite point of a curve, clipped to the range; None if there is none."""
    data = curve.points()
    data = data[np.isfinite(data[:, 1])]
    if not data.size:
        return None
    return float(data[-1, 0]), min(max(float(data[-1, 1]), low), high)


def apart(ends: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """Return places near `ends`, in order, at least `gap` apart and from `low` to `high`."""
    order = sorted(range(len(ends)), key=lambda i: (ends[i], -i))
    gap = min(gap, (high - low) / max(len(ends) - 1, 1))
    places = dict.fromkeys(order, 0.0)
    below = -math.inf
    for i in order:
        below = places[i] = max(ends[i], below + gap)
    above = high
    for i in reversed(order):
        above = places[i] = min(places[i], above)
        above -= gap
    return [places[i] for i in range(len(ends))]
