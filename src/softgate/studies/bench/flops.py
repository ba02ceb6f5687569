"""Counts floating-point operations: of products by their shapes, of kernels by their graphs.

As usual, an fma counts as two and a comparison as one. Selections and operations on signs and
exponent bits are counted separately, as moves. Operations that do not depend on the element are
evaluated once by the compiler and not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from softgate.catalogue import Entry
from softgate.formula.formats import FORMATS
from softgate.formula.graph import COMPARISONS, Node, walk
from softgate.runtime.kernels import Specification, is_default, traced
from softgate.runtime.routes import Route

ARITHMETIC = frozenset({"add", "sub", "mul", "div", "sqrt"}) | COMPARISONS
MOVES = frozenset(
    {"where", "neg", "abs", "copysign", "add_exponent", "exponent_only", "exponent_field"}
)


@dataclass(frozen=True)
class Operations:
    """Operations per element: arithmetic, and those that only move bits."""

    flops: int
    moves: int

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.flops + other.flops, self.moves + other.moves)


def count(*roots: Node) -> Operations:
    """Return the operations of graphs that are evaluated together; shared nodes count once.

    Examples
    --------
    >>> from softgate.formula.graph import Graph
    >>> graph = Graph()
    >>> x = graph.input("x")
    >>> count(graph.node("fma", x, x, graph.const(1)), x < 0)
    Operations(flops=3, moves=0)
    """
    flops = moves = 0
    varying: set[Node] = set()
    for node in walk(*roots):
        if node.op != "input" and not any(operand in varying for operand in node.args):
            continue
        varying.add(node)
        if node.op == "fma":
            flops += 1 if _is_zero(node.args[2]) else 2  # a product
        elif node.op in ARITHMETIC:
            flops += 1
        elif node.op in MOVES:
            moves += 1
        elif node.op != "input":
            raise ValueError(f"{node.op} is not an operation of a kernel and cannot be counted")
    return Operations(flops, moves)


def _is_zero(node: Node) -> bool:
    (node,) = node.args if node.op == "neg" else (node,)  # 0 and -0
    return node.op == "const" and node.attr == 0


def kernel_operations(
    entry: Entry, quantity: str, dtype: str, parameters: Mapping[str, float]
) -> Operations | None:
    """Return a kernel's operations per element, or None if the result is looked up in a table.

    Examples
    --------
    >>> from softgate import relu
    >>> kernel_operations(relu.entry, "value", "float32", {})
    Operations(flops=1, moves=1)
    """
    storage, values = FORMATS[dtype], tuple(parameters.items())
    route = Route(entry, quantity, storage, None, values)
    if route.uses_table:
        return None
    specification = Specification(
        entry, quantity, storage, route.computed_in, is_default(entry, parameters)
    )
    return count(*traced(specification))


def linear_flops(tokens: int, shapes: Iterable[tuple[int, int]]) -> int:
    """Return the operations of linear layers of these shapes on `tokens` rows, without biases.

    Examples
    --------
    >>> linear_flops(512, [(768, 3072), (3072, 768)])
    4831838208
    """
    return sum(2 * tokens * inputs * outputs for inputs, outputs in shapes)
