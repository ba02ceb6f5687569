"""A formula as data: hash-consed nodes without branches or loops.

Interning makes equal subexpressions the same object, so that a graph is a small DAG that any
lowering walks once, in order. A node has an operation, operands and one attribute; the meaning of
an operation is defined by the lowerings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, NoReturn, TypeVar

Number = int | float | Fraction
T = TypeVar("T")

COMPARISONS = frozenset({"lt", "le", "eq"})
POSITIVE = frozenset({"exp", "erfc", "phi", "Phi", "sigmoid", "softplus"})
"""Operations whose exact results are above 0, whatever the operand."""

DEEPEST, MOST_NODES, LARGEST_POWER = 100, 1000, 1000
"""Limits of a user's formula: nested operations, distinct operations, and an exponent."""
SHOWN_DEPTH = 10
"""Nested operations in the `repr` of a node; deeper ones are an ellipsis."""


COMBINED = (
    "conditions are not combined: write f.where(a, f.where(b, yes, no), no) for a and b, "
    "f.where(a, yes, f.where(b, yes, no)) for a or b, f.where(a, no, yes) for not a"
)


class FormulaError(TypeError):
    """A formula uses something unsupported; the message states what to write instead."""


class TooLarge(FormulaError):
    """A formula has more operations than softgate compiles."""


def exact(value: Any) -> Fraction | None:
    """Return a real number as an exact fraction, or None for other types.

    A float means its shortest decimal, not the nearest double.
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not isinstance(value, Real):
        return None
    number = float(value)
    if not math.isfinite(number):
        raise FormulaError(f"{number} in a formula: expected a finite number")
    return Fraction(repr(number))


class Graph:
    """The intern table of one trace. Nodes of different graphs never mix."""

    def __init__(self) -> None:
        self._interned: dict[tuple[object, ...], Node] = {}
        self.derivatives: dict[tuple[Node, str, bool], Node] = {}
        """What `derivative.derivative` has returned."""
        self.strict = False
        """Whether `==` of two nodes builds a comparison, as in a user's formula."""

    def node(self, op: str, *args: Node, attr: str | Fraction | None = None) -> Node:
        """Return the one node with this operation, these operands and this attribute."""
        key = (op, attr, *map(id, args))
        node = self._interned.get(key)
        if node is None:
            node = Node(self, op, args, attr)
            if self.strict and (node.depth > DEEPEST or len(self._interned) >= MOST_NODES):
                raise TooLarge(
                    f"the formula has more than {DEEPEST} nested or {MOST_NODES:,} distinct "
                    "operations: use fewer rounds of a loop, or a closed form"
                )
            node = self._interned.setdefault(key, node)  # another thread may have made it
        return node

    def copy(self, node: Node, args: Iterable[Node]) -> Node:
        """Return the operation of a node on other operands."""
        return self.node(node.op, *args, attr=node.attr)

    def const(self, value: Number) -> Node:
        """Return the exact real number `value`."""
        return self.node("const", attr=Fraction(value))

    def input(self, name: str) -> Node:
        """Return the array operand called `name`."""
        return self.node("input", attr=name)

    def parameter(self, name: str) -> Node:
        """Return the scalar parameter called `name`: the same for every element."""
        return self.node("parameter", attr=name)


Operator = Callable[["Node", "Node | Number"], "Node"]


def _operators(op: str) -> tuple[Operator, Operator]:
    """Return the methods for `node op other` and for `other op node`."""
    return (
        lambda node, other: node._binary(op, other),
        lambda node, other: node._binary(op, other, swap=True),
    )


class Node:
    """One operation on other nodes; Python's arithmetic operators build new nodes."""

    __slots__ = ("args", "attr", "depth", "graph", "op")

    def __init__(
        self, graph: Graph, op: str, args: tuple[Node, ...], attr: str | Fraction | None
    ) -> None:
        self.graph, self.op, self.args, self.attr = graph, op, args, attr
        self.depth: int = 1 + max((arg.depth for arg in args), default=0)

    def lift(self, other: Node | Number) -> Node:
        """Return `other` as a node of this node's graph."""
        if isinstance(other, Node):
            if other.graph is not self.graph:
                raise ValueError("the operands belong to two different traces")
            return other
        number = exact(other)
        return NotImplemented if number is None else self.graph.const(number)

    def _binary(self, op: str, other: Node | Number, *, swap: bool = False) -> Node:
        lifted = self.lift(other)
        if not isinstance(lifted, Node):
            return NotImplemented
        check_numbers(self, lifted)
        pair = (lifted, self) if swap else (self, lifted)
        if op == "div" and pair[1].op == "const" and pair[1].attr == 0:
            raise FormulaError("division by 0")
        return self.graph.node(op, *pair)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")
    __lt__, __gt__ = _operators("lt")
    __le__, __ge__ = _operators("le")

    def __neg__(self) -> Node:
        check_numbers(self)
        return self.graph.node("neg", self)

    def same(self, other: Node | Number) -> Node:
        """Return the comparison `self == other`."""
        return self._binary("eq", other)

    def __eq__(self, other: object) -> Any:
        """Build a comparison with a number or during tracing; otherwise return identity."""
        if isinstance(other, Node) and not self.graph.strict:
            return self is other
        return self._binary("eq", other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Any:
        if isinstance(other, Node) and not self.graph.strict:
            return self is not other
        raise FormulaError("a formula has no `!=`: write f.where(x == y, b, a) for x != y")

    __hash__ = object.__hash__

    def __pow__(self, exponent: Node | Number) -> Node:
        power = None if isinstance(exponent, Node) else exact(exponent)
        if power == Fraction(1, 2):
            return self.graph.node("sqrt", self)
        if power is None or power.denominator != 1:
            raise FormulaError(
                "a power must be a whole number or 0.5: "
                "write f.exp(p*f.log(x)) for x**p with x > 0, f.sqrt(x) for a square root"
            )
        if abs(power) > LARGEST_POWER:
            raise TooLarge(
                f"a power of {power}: the largest is {LARGEST_POWER}; "
                "write f.exp(p*f.log(x)) for x**p with x > 0"
            )
        if power < 0:
            return 1 / self ** (-power)
        result, square, left = self.graph.const(1), self, int(power)
        while left:
            if left & 1:
                result = square if result.op == "const" else result * square
            square, left = (square * square, left >> 1) if left > 1 else (square, 0)
        return result

    def __rpow__(self, base: Number) -> Node:
        number = exact(base)
        if number is None or number <= 0:
            raise FormulaError(f"{base!r} to a variable power: the base must be a positive number")
        return self.graph.node("exp", self * self.graph.node("log", self.graph.const(number)))

    def __abs__(self) -> Node:
        return self.graph.node("abs", self)

    def __pos__(self) -> Node:
        return self

    __array_ufunc__ = None
    """NumPy scalars return NotImplemented, so the node's operators run; NumPy functions raise."""

    def __bool__(self) -> NoReturn:
        raise FormulaError(
            "a formula is traced once for all inputs and cannot branch on a value: "
            "write f.where(condition, a, b) instead of `if`, f.maximum/f.minimum instead of max/min"
        )

    def __float__(self) -> NoReturn:
        raise FormulaError(
            "a formula is traced once for all inputs, and x has no value yet: use the functions "
            "of f, f.exp(x) instead of math.exp(x)"
        )

    __int__ = __index__ = __complex__ = __trunc__ = __floor__ = __ceil__ = __round__ = __float__

    def __iter__(self) -> NoReturn:
        raise FormulaError("x represents one element of any array: it has no items and no length")

    __len__ = __iter__

    def __getitem__(self, item: object) -> NoReturn:
        iter(self)
        raise AssertionError

    def __and__(self, other: object) -> NoReturn:
        raise FormulaError(COMBINED)

    __or__ = __xor__ = __rand__ = __ror__ = __rxor__ = __and__

    def __invert__(self) -> NoReturn:
        self.__and__(self)

    def __repr__(self) -> str:
        return self._text(SHOWN_DEPTH)

    def _text(self, depth: int) -> str:
        if self.op in ("const", "input", "parameter"):
            return str(self.attr)
        if not depth:
            return "…"
        return f"{self.op}({', '.join(arg._text(depth - 1) for arg in self.args)})"


Signature = tuple[tuple[object, ...], ...]


def signature(*roots: Node) -> Signature:
    """Return a hashable description of graphs: equal if and only if their structure is equal."""
    places: dict[Node, int] = {}
    steps: list[tuple[object, ...]] = []
    for node in walk(*roots):
        places[node] = len(places)
        steps.append((node.op, node.attr, *(places[arg] for arg in node.args)))
    return (*steps, tuple(places[root] for root in roots))


def is_constant(node: Node, value: int) -> bool:
    """Return whether a node is the constant `value`."""
    return node.op == "const" and node.attr == value


def check_numbers(*nodes: Node) -> None:
    """Raise FormulaError if a node is a comparison instead of a number."""
    if any(node.op in COMPARISONS for node in nodes):
        raise FormulaError(
            "a comparison is not a number: write f.where(x > 0, x, 0) instead of x*(x > 0)"
        )


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


def fold(visit: Callable[[Node, list[T]], T], *roots: Node) -> dict[Node, T]:
    """Return what `visit` returns for every node, given it and the results of its operands."""
    results: dict[Node, T] = {}
    for node in walk(*roots):
        results[node] = visit(node, [results[arg] for arg in node.args])
    return results


def rebuild(root: Node, visit: Callable[[Node, list[Node]], Node]) -> Node:
    """Return the node that `visit` makes of `root`, given each node and its new operands."""
    return fold(visit, root)[root]
