"""Activations as a few ONNX operators in the format of a model, for use inside that model.

`lower.onnx` writes stable forms, which are accurate and long; here a function is one operator where
ONNX has it, or its definition in operators that every runtime has: Erf, Exp, Sigmoid, Tanh, Where.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from softgate.formula.formats import Format, dtype_of
from softgate.formula.graph import Node

from .evaluation import interpret
from .framework_source import DENSITY_AT_0, FOLDED, SQRT_HALF

TYPES = {
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
}
INPUT, OUTPUT = "x", "y"
"""The names of the input and the output of the graphs of this module."""
WHERE, LESS_OR_EQUAL, CLIP_INPUTS = 9, 12, 11
"""Opsets since which there is Where (and Erf), LessOrEqual, and Clip with its bounds as inputs."""

Operand = str | float


@dataclass(frozen=True)
class Operator:
    """One operator that computes a function, and the first opset that has it."""

    kind: str
    domain: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    numbers: tuple[float, ...] = ()
    """Its inputs after the first."""
    since: int = 1

    @property
    def title(self) -> str:
        """The operator with its domain, as text."""
        return f"{self.domain}.{self.kind}" if self.domain else self.kind


class OperatorBuilder:
    """The nodes of a graph in one format and opset; constants are folded, equal ones made once."""

    def __init__(self, fmt: Format, opset: int) -> None:
        self.fmt, self.opset = fmt, opset
        self.nodes: list[Any] = []
        self._numbers: dict[str, str] = {}

    def node(self, kind: str, *operands: Operand, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        names = [self.number(operand) for operand in operands]
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return name

    def number(self, value: Operand) -> str:
        """Return the name of a constant in the format of the graph, or a name itself."""
        if isinstance(value, str):
            return value
        key = float(value).hex()
        if key not in self._numbers:
            with np.errstate(over="ignore"):  # a bound outside the format is infinity in it
                array = np.asarray(value, np.float64).astype(dtype_of(self.fmt))
            self._numbers[key] = f"t{len(self.nodes)}"
            constant = helper.make_node(
                "Constant", [], [self._numbers[key]], value=numpy_helper.from_array(array)
            )
            self.nodes.append(constant)
        return self._numbers[key]

    def define(self, root: Node, parameters: Mapping[str, float]) -> str:
        """Add the operators of a definition; return the name of its value."""
        operations = {op: self._folded(op, write) for op, write in self._operations().items()}
        operations["pi"] = lambda: math.pi
        value = interpret(root, operations, _number, {INPUT: INPUT, **parameters})
        if not isinstance(value, str):  # a constant, in the shape of the input
            value = self.node("Add", self.node("Mul", INPUT, 0.0), value)
        return value

    def _folded(self, op: str, write: Callable[..., str]) -> Callable[..., Operand]:
        def operation(*operands: Operand) -> Operand:
            numbers = [operand for operand in operands if not isinstance(operand, str)]
            if op in FOLDED and len(numbers) == len(operands):
                return float(FOLDED[op](*numbers))
            if op in ("mul", "div") and operands[1] == 1.0:
                return operands[0]
            if op == "mul" and operands[0] == 1.0:
                return operands[1]
            return write(*operands)

        return operation

    def _operations(self) -> dict[str, Callable[..., str]]:
        simple = {
            "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs",
            "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "tanh": "Tanh", "sin": "Sin", "cos": "Cos",
            "atan": "Atan", "sigmoid": "Sigmoid", "softplus": "Softplus", "erf": "Erf",
            "lt": "Less", "eq": "Equal", "where": "Where",
        }  # fmt: skip
        return {op: partial(self.node, kind) for op, kind in simple.items()} | {
            "le": self._less_or_equal,
            "expm1": lambda x: self.node("Sub", self.node("Exp", x), 1.0),
            "log1p": lambda x: self.node("Log", self.node("Add", x, 1.0)),
            "erfc": lambda x: self.node("Sub", 1.0, self.node("Erf", x)),
            "phi": self._density,
            "Phi": self._distribution,
        }

    def _less_or_equal(self, a: Operand, b: Operand) -> str:
        if self.opset >= LESS_OR_EQUAL:
            return self.node("LessOrEqual", a, b)
        return self.node("Not", self.node("Less", b, a))

    def _density(self, x: Operand) -> str:
        square = self.node("Mul", self.node("Mul", x, x), -0.5)
        return self.node("Mul", self.node("Exp", square), DENSITY_AT_0)

    def _distribution(self, x: Operand) -> str:
        """Return Phi(x) = (1 + erf(x/sqrt(2)))/2."""
        error = self.node("Erf", self.node("Mul", x, SQRT_HALF))
        return self.node("Mul", self.node("Add", error, 1.0), 0.5)


def _number(value: Any) -> Operand:
    return value if isinstance(value, str) else float(value)


def definition_graph(
    root: Node, parameters: Mapping[str, float], fmt: Format, opset: int
) -> Any | None:
    """Return a definition as a GraphProto from `x` to `y`; None if the opset lacks an operator."""
    builder = OperatorBuilder(fmt, opset)
    value = builder.define(root, parameters)
    if opset < WHERE and any(node.op_type in ("Where", "Erf") for node in builder.nodes):
        return None
    return _graph(builder, value)


def operator_graph(operator: Operator, fmt: Format, opset: int) -> Any | None:
    """Return one operator as a GraphProto from `x` to `y`; None if it does not have the format."""
    if not operator.domain and not _takes(operator, fmt, opset):
        return None
    builder = OperatorBuilder(fmt, opset)
    attributes, numbers = dict(operator.attributes), list(operator.numbers)
    if operator.kind == "Clip" and opset < CLIP_INPUTS:
        attributes, numbers = dict(zip(("min", "max"), numbers, strict=True)), []
    value = builder.node(operator.kind, INPUT, *numbers, domain=operator.domain, **attributes)
    return _graph(builder, value)


def _takes(operator: Operator, fmt: Format, opset: int) -> bool:
    """Return whether an operator of the standard domain takes a format."""
    try:
        schema = onnx.defs.get_schema(operator.kind, opset, "")
    except onnx.defs.SchemaError:
        return False
    kinds = {"float32": "float", "float64": "double"}
    wanted = f"tensor({kinds.get(fmt.name, fmt.name)})"
    return any(wanted in c.allowed_type_strs for c in schema.type_constraints)


def scaled_graph(graph: Any, scale: float, offset: float, fmt: Format, opset: int) -> Any:
    """Return scale·f(x) + offset for the graph of f."""
    builder = OperatorBuilder(fmt, opset)
    builder.nodes.extend(graph.node)
    value = "inner"
    for node in builder.nodes:
        node.input[:] = [value if name == OUTPUT else name for name in node.input]
        node.output[:] = [value if name == OUTPUT else name for name in node.output]
    if scale != 1.0:
        value = builder.node("Mul", value, scale)
    if offset != 0.0:
        value = builder.node("Add", value, offset)
    return _graph(builder, value)


def _graph(builder: OperatorBuilder, value: str) -> Any:
    """Return the graph of a builder with `value` as its output."""
    if value == INPUT:
        builder.nodes.append(helper.make_node("Identity", [INPUT], [OUTPUT]))
    for node in builder.nodes:
        node.input[:] = [OUTPUT if name == value != INPUT else name for name in node.input]
        node.output[:] = [OUTPUT if name == value else name for name in node.output]
    kind = TYPES[builder.fmt.name]
    return helper.make_graph(
        builder.nodes, "part",
        [helper.make_tensor_value_info(INPUT, kind, ["n"])],
        [helper.make_tensor_value_info(OUTPUT, kind, ["n"])],
    )  # fmt: skip
