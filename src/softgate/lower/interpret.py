"""A graph evaluated node by node, over any table of operations.

A root is compiled once to a straight-line Python function: at thousands of points, looking up its
nodes would take three times as long as the arithmetic. Operations, constants and parameters are
bound once for all points.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from softgate.formula.graph import Node, walk

Operations = Mapping[str, Callable[..., Any]]
LEAVES = ("const", "input", "parameter")


def interpret(
    root: Node,
    operations: Operations,
    number: Callable[[Any], Any],
    inputs: Mapping[str, float | Fraction | Any],
) -> Any:
    """Return the value of `root`; `number` converts constants and inputs."""
    bind, constants = program(root)
    return bind(operations, number, inputs, [number(constant) for constant in constants])(inputs)


@lru_cache(maxsize=256)
def program(root: Node) -> tuple[Callable[..., Any], tuple[Fraction, ...]]:
    """Return bind(operations, number, parameters, constants), and the constants that it takes.

    The result of `bind` is a function of the inputs, for evaluations at many points.
    """
    order = tuple(walk(root))
    place = {node: f"v{i}" for i, node in enumerate(order)}
    constants = [node for node in order if node.op == "const"]
    called = dict.fromkeys(node.op for node in order if node.op not in LEAVES)
    names = {op: f"f{i}" for i, op in enumerate(called)}
    bound = [f"{name} = operations[{op!r}]" for op, name in names.items()]
    bound += [f"{place[node]} = constants[{i}]" for i, node in enumerate(constants)]
    lines = ["def run(inputs):"]
    for node in order:
        if node.op == "parameter":
            bound.append(f"{place[node]} = number(parameters[{node.attr!r}])")
        elif node.op == "input":
            lines.append(f"    {place[node]} = number(inputs[{node.attr!r}])")
        elif node.op != "const":
            operands = ", ".join(place[arg] for arg in node.args)
            lines.append(f"    {place[node]} = {names[node.op]}({operands})")
    body = "\n    ".join([*bound, *lines, f"    return {place[root]}", "return run"])
    namespace: dict[str, Any] = {}
    exec(f"def bind(operations, number, parameters, constants):\n    {body}\n", namespace)
    return namespace["bind"], tuple(
        Fraction(node.attr) for node in constants if node.attr is not None
    )


def choose(condition: bool, yes: Any, no: Any) -> Any:
    """Return `yes` or `no`: `where` for conditions that are Python booleans."""
    return yes if condition else no


ARITHMETIC: Operations = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
}
COMPARE: Operations = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}
