"""A formula cut where it may bend: pieces on which it is one smooth expression.

A comparison, |u|, a division, a logarithm and a root can each make a function bend or end only
where one expression, their guard, is 0. Guards are taken in the order of the graph, each solved on
the pieces that the earlier ones leave, so that within a piece every choice is decided and what
remains is smooth: the derivatives of that branch are exact on both sides of every kink.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from softgate.formula.arithmetic import Definition
from softgate.formula.derivative import derivative
from softgate.formula.graph import COMPARISONS, Node, walk

from . import exact

MOST_ZEROS = 16
"""A guard with more zeros than this on a piece oscillates, and not all would be found."""
SEARCH = tuple(
    sorted(
        {Fraction(n, 8) for n in range(-128, 129)}
        | {sign * Fraction(2) ** k for k in range(-20, 61) for sign in (-1, 1)}
    )
)
"""Where a guard that is not linear is looked at for a change of sign."""


@dataclass(frozen=True)
class Piece:
    """An open interval on which the function is one smooth branch; None is an end at infinity."""

    low: Fraction | None
    high: Fraction | None
    branch: Node

    def inside(self, count: int = 1) -> list[Fraction]:
        """Return points within the piece, not far from 0 where it allows."""
        if self.low is not None and self.high is not None:
            width = self.high - self.low
            return [self.low + width * Fraction(i + 1, count + 1) for i in range(count)]
        steps = [Fraction(3 * i + 1, 3) for i in range(count)]
        if self.low is not None:
            return [self.low + step for step in steps]
        end = Fraction(2, 7) if self.high is None else self.high
        return [end - step for step in steps]

    def holds(self, x: Fraction) -> bool:
        """Tell whether `x` lies within."""
        above = self.low is None or self.low < x
        return above and (self.high is None or x < self.high)

    def derivative(self, order: int) -> Node:
        """Return the branch (order 0), its slope, its curvature, or what follows."""
        found = self._derivatives
        while len(found) <= order:
            found.append(derivative(found[-1]))
        return found[order]

    @cached_property
    def _derivatives(self) -> list[Node]:
        return [self.branch]

    @cached_property
    def defined(self) -> bool:
        """Whether the branch is a real number here."""
        return any(not exact.is_nan(exact.at(self.branch, x)) for x in self.inside(3))

    def constant(self, order: int) -> exact.Number | None:
        """Return the one value that a derivative has on the piece, or None where it varies."""
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
    """Return the pieces without the breaks at which nothing changes after all."""
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
    """Return the expressions at whose zeros an operation may bend or end, inner ones first."""
    found: list[Node] = []
    for node in walk(root):
        if node.op in COMPARISONS:
            found.append(node.args[0] - node.args[1])
        elif node.op in ("abs", "log", "sqrt"):
            found.append(node.args[0])
        elif node.op == "div":
            found.append(node.args[1])
        elif node.op == "log1p":
            found.append(1 + node.args[0])
    return list(dict.fromkeys(found))


def _cut(root: Node, breaks: list[Fraction]) -> list[Piece]:
    ends = [None, *sorted(breaks), None]
    made = []
    for low, high in pairwise(ends):
        inside = Piece(low, high, root).inside()[0]
        made.append(Piece(low, high, decided(root, inside)))
    return made


def decided(root: Node, x: Fraction) -> Node:
    """Return `root` with every choice and every |u| taken as it is at `x`."""
    f = Definition(root.graph)
    made: dict[Node, Node] = {}
    for node in walk(root):
        args = tuple(made[arg] for arg in node.args)
        if node.op == "where":
            made[node] = args[1] if exact.at(node.args[0], x) else args[2]
        elif node.op == "abs":
            made[node] = -args[0] if exact.at(args[0], x) < 0 else args[0]
        elif args == node.args:
            made[node] = node
        else:
            made[node] = f.graph.node(node.op, *args, attr=node.attr)
    return made[root]


def _solve(piece: Piece) -> list[Fraction]:
    """Return the zeros of a guard within its piece."""
    guard = piece.branch
    if exact.is_constant(guard):
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
            "points: too many to study"
        )
    return zeros


def _fraction(value: exact.Number) -> Fraction:
    from softgate.lower import mp

    found = mp.fraction(value)
    short = found.limit_denominator(10**15)
    # A guard such as x/6 + 0.5 is rounded in binary; its zero is meant to be -3.
    return short if abs(short - found) * 2**200 <= max(abs(found), Fraction(1)) else found


def _sign_changes(root: Node, places: list[Fraction]) -> list[Fraction]:
    values = [(x, exact.at(root, x)) for x in places]
    found = [x for x, value in values if value == 0]
    for (low, left), (high, right) in pairwise(values):
        if exact.is_nan(left) or exact.is_nan(right) or left == 0 or right == 0:
            continue
        if (left < 0) != (right < 0):
            zero = exact.root_between(root, low, high)
            if zero is not None:
                found.append(zero)
    return found
