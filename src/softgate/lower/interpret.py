"""A graph evaluated node by node, in whatever numbers a table of operations works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..graph import Node, walk

Operations = Mapping[str, Callable[..., Any]]


def interpret(
    root: Node,
    operations: Operations,
    number: Callable[[Any], Any],
    inputs: Mapping[str, float | Fraction | Any],
) -> Any:
    """Return the value of `root`; `number` makes a constant or an input one of the numbers."""
    values: dict[Node, Any] = {}
    for node in _order(root):
        if node.op == "const":
            values[node] = number(node.attr)
        elif node.op in ("input", "parameter"):
            values[node] = number(inputs[str(node.attr)])
        else:
            values[node] = operations[node.op](*(values[arg] for arg in node.args))
    return values[root]


@lru_cache(maxsize=64)
def _order(root: Node) -> tuple[Node, ...]:
    # Found once for the thousands of points at which the same root is evaluated.
    return tuple(walk(root))


def choose(condition: bool, yes: Any, no: Any) -> Any:
    """Return one of two numbers: what `where` means where conditions are plain."""
    return yes if condition else no


ARITHMETIC: Operations = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "abs": abs,
}
