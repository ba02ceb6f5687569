"""A formula as data: hash-consed nodes without branches or loops.

Interning makes equal subexpressions the same object, so that a graph is a small DAG that any
lowering walks once, in order. A node knows its operation, its operands and one attribute;
what an operation means belongs to the lowerings.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NoReturn

Number = int | float | Fraction

COMPARISONS = frozenset({"lt", "le", "eq"})


class Graph:
    """The intern table of one trace. Nodes of different graphs never mix."""

    def __init__(self) -> None:
        self._interned: dict[tuple[object, ...], Node] = {}

    def node(self, op: str, *args: Node, attr: str | Fraction | None = None) -> Node:
        """Return the one node with this operation, these operands and this attribute."""
        key = (op, attr, *map(id, args))
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = Node(self, op, args, attr)
        return found

    def const(self, value: Number) -> Node:
        """Return the exact real number `value`."""
        return self.node("const", attr=Fraction(value))

    def input(self, name: str) -> Node:
        """Return the array operand called `name`."""
        return self.node("input", attr=name)

    def parameter(self, name: str) -> Node:
        """Return the scalar parameter called `name`: the same for every element."""
        return self.node("parameter", attr=name)


class Node:
    """One operation on other nodes; Python's arithmetic operators build further ones."""

    __slots__ = ("args", "attr", "graph", "op")

    def __init__(
        self, graph: Graph, op: str, args: tuple[Node, ...], attr: str | Fraction | None
    ) -> None:
        self.graph, self.op, self.args, self.attr = graph, op, args, attr

    def lift(self, other: Node | Number) -> Node:
        """Return `other` as a node of this node's graph."""
        if isinstance(other, Node):
            if other.graph is not self.graph:
                raise ValueError("the operands belong to two different traces")
            return other
        if isinstance(other, float):
            # A float in a formula is the decimal its author wrote, not the nearest double.
            return self.graph.const(Fraction(repr(other)))
        if isinstance(other, int | Fraction):
            return self.graph.const(other)
        return NotImplemented

    def _binary(self, op: str, other: Node | Number, *, swap: bool = False) -> Node:
        lifted = self.lift(other)
        if not isinstance(lifted, Node):
            return NotImplemented
        pair = (lifted, self) if swap else (self, lifted)
        return self.graph.node(op, *pair)

    def __add__(self, other: Node | Number) -> Node:
        return self._binary("add", other)

    def __radd__(self, other: Number) -> Node:
        return self._binary("add", other, swap=True)

    def __sub__(self, other: Node | Number) -> Node:
        return self._binary("sub", other)

    def __rsub__(self, other: Number) -> Node:
        return self._binary("sub", other, swap=True)

    def __mul__(self, other: Node | Number) -> Node:
        return self._binary("mul", other)

    def __rmul__(self, other: Number) -> Node:
        return self._binary("mul", other, swap=True)

    def __truediv__(self, other: Node | Number) -> Node:
        return self._binary("div", other)

    def __rtruediv__(self, other: Number) -> Node:
        return self._binary("div", other, swap=True)

    def __neg__(self) -> Node:
        return self.graph.node("neg", self)

    def __lt__(self, other: Node | Number) -> Node:
        return self._binary("lt", other)

    def __le__(self, other: Node | Number) -> Node:
        return self._binary("le", other)

    def __gt__(self, other: Node | Number) -> Node:
        return self._binary("lt", other, swap=True)

    def __ge__(self, other: Node | Number) -> Node:
        return self._binary("le", other, swap=True)

    def same(self, other: Node | Number) -> Node:
        """Return the comparison `self == other` (`==` itself stays identity)."""
        return self._binary("eq", other)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a formula is traced once for all inputs and cannot branch on a value: "
            "write f.where(condition, a, b) instead of `if`, f.maximum/f.minimum instead of max/min"
        )

    def __repr__(self) -> str:
        if self.op in ("const", "input", "parameter"):
            return str(self.attr)
        return f"{self.op}({', '.join(map(repr, self.args))})"


def walk(*roots: Node) -> Iterator[Node]:
    """Yield every node that `roots` need, operands before the nodes that use them."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node in seen:
            continue
        if ready:
            seen.add(node)
            yield node
            continue
        stack.append((node, True))
        stack.extend((arg, False) for arg in reversed(node.args))
