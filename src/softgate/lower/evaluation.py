"""A graph evaluated node by node: over any table of operations, or in NumPy's float64.

A root is compiled once to a straight-line Python function: at thousands of points, looking up its
nodes would take three times as long as the arithmetic. Operations, constants and parameters are
bound once for all points.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula.graph import Node, walk

Float64s = npt.NDArray[np.float64]
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


ARITHMETIC: Operations = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
}
COMPARE: Operations = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}


def evaluate_float64(
    root: Node, inputs: Mapping[str, float | Float64s], operations: Operations | None = None
) -> Float64s:
    """Return `root` at these inputs, arrays or numbers; its last bits may be wrong."""
    operations = operations or FLOAT64_OPERATIONS
    with np.errstate(all="ignore"):
        return np.asarray(interpret(root, operations, _number, inputs), np.float64)


def _number(value: Any) -> Any:
    return np.float64(value) if isinstance(value, Fraction | float) else value


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Return a scalar function vectorised; NumPy has no erf."""
    return np.vectorize(function, otypes=[np.float64])


ERFC = _each(math.erfc)

FLOAT64_OPERATIONS: Operations = {
    **ARITHMETIC,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "where": np.where,
    "pi": lambda: np.pi,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "erf": _each(math.erf),
    "erfc": ERFC,
    "Phi": lambda x: ERFC(-np.sqrt(0.5) * x) / 2,
    "phi": lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
}
