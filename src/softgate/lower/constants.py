"""The constants of a stable form, folded in its float format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import Node

from .evaluation import ARITHMETIC, COMPARE

Constant = float | bool


def is_number(operand: Node | Constant, number: float) -> bool:
    """Return whether an operand is this number (comparing a node would build a node)."""
    return not isinstance(operand, Node) and operand == number


def fold_constants(
    order: Iterable[Node], fmt: Format, parameters: Mapping[str, float]
) -> dict[Node, Node | Constant]:
    """Return the constant that each node folds to, the branch that it selects, or the node.

    Operands precede the nodes that use them. Constants are folded in the arithmetic of `fmt`.
    """
    real = np.float32 if fmt is FLOAT32 else np.float64
    resolved: dict[Node, Node | Constant] = {}

    def folded(node: Node, *numbers: float) -> Node | Constant:
        if node.op == "fma" and all(map(math.isfinite, numbers)):
            a, b, c = map(Fraction, numbers)
            return fmt.round(a * b + c) or numbers[0] * numbers[1] + numbers[2]
        operands = (real(number) for number in numbers)
        if node.op in ARITHMETIC:
            return float(ARITHMETIC[node.op](*operands))
        if node.op in COMPARE:
            return bool(COMPARE[node.op](*operands))
        return node

    with np.errstate(all="ignore"):  # the branch not taken may overflow
        for node in order:
            args = [resolved[arg] for arg in node.args]
            numbers = [float(arg) for arg in args if not isinstance(arg, Node)]
            if node.op == "const":
                assert isinstance(node.attr, Fraction)
                resolved[node] = fmt.round(node.attr)
            elif node.op == "parameter" and node.attr in parameters:
                resolved[node] = float(real(parameters[str(node.attr)]))
            elif node.op == "where" and isinstance(args[0], bool):
                resolved[node] = args[1] if args[0] else args[2]
            elif node.op == "mul" and any(is_number(arg, 1.0) for arg in args):
                resolved[node] = args[1] if is_number(args[0], 1.0) else args[0]
            elif numbers and len(numbers) == len(args):
                resolved[node] = folded(node, *numbers)
            else:
                resolved[node] = node
    return resolved
