"""An activation as lines to be drawn: dense where it bends, broken where it jumps.

Where a function may jump or bend sharply stands in its definition: where a comparison changes, a
denominator passes 0, an absolute value turns. Those points are located to the last bit and sampled
on both sides, so that no line bridges a jump and every kink is where it is. Between them, points
are added until straight lines between them no longer differ visibly from the curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.graph import COMPARISONS, Node, walk
from softgate.runtime.kernels import BUILDING
from softgate.runtime.tables import truth_graph

Floats = npt.NDArray[np.float64]

QUANTITIES = ("value", "slope", "curvature", "difference")
SEARCHED = 400
"""Steps in which the range is searched for changes of a condition."""

VISIBLE = 1e-3
"""A straight line may miss the curve by this share of the picture's height."""

MOST_POINTS = 20_000

ROUNDING = 1024
"""A difference of fewer ulps than this is too much rounding for a logarithmic scale."""
EXACT_WITHIN = 1e9
"""Up to here the definition says what such a difference is; beyond, its digits cost too much."""


class Drawable(Protocol):
    """What can be drawn: a function of one array with two derivatives and a definition."""

    entry: Entry

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def parameters(self) -> Mapping[str, float]: ...  # noqa: D102
    def __call__(self, x: Any, /) -> Any: ...  # noqa: D102
    def slope(self, x: Any, /) -> Any: ...  # noqa: D102
    def curvature(self, x: Any, /) -> Any: ...  # noqa: D102


@dataclass(frozen=True)
class Curve:
    """Lines that belong together, and what stands at the ends of a jump."""

    name: str
    label: str
    pieces: tuple[tuple[Floats, Floats], ...]
    closed: tuple[tuple[float, float], ...]
    """Points at a jump that the function takes."""
    open: tuple[tuple[float, float], ...]
    """Points at a jump that it only comes near to."""

    def points(self) -> Floats:
        """Return all (x, y) of the pieces, one a row."""
        return np.concatenate([np.stack(piece, axis=1) for piece in self.pieces])


def check_range(low: float, high: float) -> tuple[float, float]:
    """Return the range as two floats; raise where there is none."""
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
    """Return an activation's value, slope, curvature, or its difference to another function.

    Parameters
    ----------
    activation : Drawable
        What to draw.
    what : {"value", "slope", "curvature", "difference"}
        Which quantity.
    low, high : float
        From where to where.
    against : Drawable, optional
        The function that a difference is taken to.
    log : bool
        Absolute values, dense on a logarithmic scale; none where they are 0. Where float64 does not
        resolve a difference it comes from the definitions.
    label : str
        What the curve is called; its name if empty.
    """
    function = quantity(activation, what, against, log)
    order = "value" if what == "difference" else what
    conditions = [
        (node, dict(drawn.parameters))
        for drawn in (activation, against)
        if drawn is not None
        for node in turning(truth_graph(drawn.entry, order))
    ]
    corners, exact = locate(conditions, low, high)
    x = np.unique(np.concatenate([np.linspace(low, high, SEARCHED + 1), corners]))
    x, y = refine(function, x, log)
    return cut(activation.name, label or activation.name, x, y, exact)


def quantity(
    activation: Drawable, what: str, against: Drawable | None, log: bool
) -> Callable[[Floats], Floats]:
    """Return the function whose graph is drawn."""
    if what not in QUANTITIES:
        raise ValueError(f"what = {what!r}: accepted are {', '.join(QUANTITIES)}")
    if (what == "difference") != (against is not None):
        raise ValueError("a difference needs the function it is taken to, and only it does")

    exact = None if against is None else Difference(activation, against)

    def function(x: Floats) -> Floats:
        if against is None or exact is None:
            y: Floats = (activation if what == "value" else getattr(activation, what))(x)
        else:
            one, other = activation(x), against(x)
            y = one - other
            if log:
                noise = ROUNDING * np.spacing(np.maximum(abs(one), abs(other)))
                y[abs(y) <= noise] = np.nan
                doubtful = np.isnan(y) & (noise > 1e-300)  # of subnormals there is no more to say
                y[doubtful] = [exact(at) for at in x[doubtful].tolist()]
        return np.where(y == 0, np.nan, abs(y)) if log else y

    return function


class Difference:
    """The difference of two functions by their definitions, each point computed once."""

    def __init__(self, one: Drawable, other: Drawable) -> None:
        self.parts = [
            (truth_graph(drawn.entry, "value"), dict(drawn.parameters)) for drawn in (one, other)
        ]
        self.known: dict[float, float] = {}

    def __call__(self, x: float) -> float:
        """Return the difference at `x`; NaN where it would take too long."""
        if x not in self.known:
            self.known[x] = self.at(x) if abs(x) <= EXACT_WITHIN else math.nan
        return self.known[x]

    def at(self, x: float) -> float:
        """Subtract with more and more bits, until enough of them are left."""
        from softgate.lower.mp import real

        (one, mine), (other, its) = self.parts
        with BUILDING:
            for bits in (192, 448, 1300):  # with the last, what cancels is below every float64
                minuend = real(one, bits, x=x, **mine)
                left = minuend - real(other, bits, x=x, **its)
                if not abs(left) < abs(minuend) * 2.0 ** (64 - bits):
                    return float(left)
        return 0.0


def turning(root: Node) -> list[Node]:
    """Return the nodes whose change of sign may be a jump, a kink or an end."""
    found: dict[Node, None] = {}
    for node in walk(root):
        if node.op in COMPARISONS:
            found[node.args[0] - node.args[1]] = None
        elif node.op == "div":
            found[node.args[1]] = None
        elif node.op in ("abs", "log", "sqrt"):
            found[node.args[0]] = None
        elif node.op == "log1p":
            found[1 + node.args[0]] = None
    return [node for node in found if any(part.op == "input" for part in walk(node))]


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
    """Return the sign of a node at `x`, or None where it has none."""
    from softgate.lower.mp import real

    with BUILDING:
        value = real(node, 128, x=x, **parameters)
        nan = value != value  # noqa: PLR0124
        return None if nan else int(value > 0) - int(value < 0)


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
    """Return a float64's place among all: neighbours differ by 1."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def from_ordinal(number: int) -> float:
    """Return the float64 at a place."""
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
            wanted = np.abs(seen - (ends[:-1] + ends[1:]) / 2) > visible
        wanted &= (middle > x[:-1]) & (middle < x[1:])
        if not wanted.any() or x.size + wanted.sum() > MOST_POINTS:
            break
        places = np.flatnonzero(wanted) + 1
        x, y = np.insert(x, places, middle[wanted]), np.insert(y, places, at_middle[wanted])
    return x, y


def height(y: Floats) -> float:
    """Return the height of the picture that shows `y`: a pole must not flatten all else."""
    finite = y[np.isfinite(y)]
    if not finite.size:
        return 1.0
    low, high = np.percentile(finite, [2, 98])
    return float(high - low) or float(np.ptp(finite)) or 1.0


def cut(name: str, label: str, x: Floats, y: Floats, exact: set[float]) -> Curve:
    """Return the curve in pieces: cut between neighbouring floats whose values are far apart."""
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
        for one, other in ((i, i + 1), (i + 1, i)):
            if float(x[one]) in exact:
                closed[float(x[one]), float(y[one])] = None
                near[float(x[other]), float(y[other])] = None
    taken, missed = (
        tuple(point for point in points if np.isfinite(point[1])) for points in (closed, near)
    )
    return Curve(name, label, tuple(pieces), taken, missed)
