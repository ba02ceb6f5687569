"""Stable forms as ONNX: models of standard operators, or local functions for use in other models.

ONNX has no fma (`without_fma` describes the replacement) and few runtimes have a cast between the
bits of floats and integers: powers of two are Pow(2, n), exponents come from Log and two
comparisons. Every format is computed in float64 and rounded once: that is more exact than float32
arithmetic without fma, and takes no second graph.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from softgate.formula.formats import FLOAT64
from softgate.formula.graph import walk

from ..evaluation import interpret
from ..without_fma import without_fma
from .language import EmittedActivation, EmittedFunction, Language, limit

OPSET = 18
IR_VERSION = 8
"""The oldest version of the file format with local functions."""
DOMAIN = "softgate"
"""The domain of local functions."""

TYPES = {"float16": "FLOAT16", "float32": "FLOAT", "float64": "DOUBLE"}
BIAS = 1.5 * 2.0**FLOAT64.mantissa_bits
"""Integers are held in the low bits of a number near this one."""
WHOLE = 2.0**FLOAT64.mantissa_bits + FLOAT64.max_exponent
SPLIT = 2.0**27 + 1
"""Factor that splits a float64 in two halves (Veltkamp)."""
LARGE = 2.0**990
"""Larger numbers would overflow in a split."""


COMPARED: dict[str, Callable[..., bool]] = {
    "Less": operator.lt,
    "LessOrEqual": operator.le,
    "Equal": operator.eq,
}


def required_onnx() -> Any:
    """Return the package onnx; raise ImportError with its extra if it is not installed."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ImportError(
            f"ONNX models need the package {error.name}: pip install 'softgate[onnx]'",
            name=error.name,
        ) from error
    return onnx


NOTES = (
    f"Standard operators of opset {OPSET}, computed in float64 without fma and rounded once.",
    "Errors were measured in onnxruntime on the CPU.",
)
LOCAL = (f"Local functions of the domain {DOMAIN}, for operands of any shape.",)


class StableFormBuilder:
    """The nodes of one graph or local function; equal nodes are made once."""

    def __init__(self, reserved: Sequence[str] = ()) -> None:
        self.onnx = required_onnx()
        self.nodes: list[Any] = []
        self.reserved = frozenset(reserved)
        self._names: dict[object, str] = {}
        self._numbers: dict[str, float] = {}
        self._holds: dict[str, bool] = {}
        """Whether a comparison holds if everything but constants is 0."""
        self._signed: set[str] = set()
        """Values with a copied sign."""
        self._finite: dict[str, str] = {}
        """Operands of exponents, and the same with the largest number in place of infinity."""

    def node(self, op: str, *operands: str, **attributes: Any) -> str:
        """Return the name of an operator's output."""
        key = (op, operands, *attributes.items())
        if key not in self._names:
            self._names[key] = self._add(op, operands, attributes)
            if op in COMPARED:
                at_zero = [self._numbers.get(operand, 0.0) for operand in operands]
                self._holds[self._names[key]] = COMPARED[op](*at_zero)
        return self._names[key]

    def number(self, value: Fraction | float | str) -> str:
        """Return the name of a constant, rounded to float64; a name is returned unchanged."""
        if isinstance(value, str):
            return value
        number = FLOAT64.round(value) if isinstance(value, Fraction) else float(value)
        key = ("Constant", number.hex())  # 0 and -0 are two constants
        if key not in self._names:
            tensor = self.onnx.numpy_helper.from_array(np.array(number, np.float64))
            self._names[key] = self._add("Constant", (), {"value": tensor})
            self._numbers[self._names[key]] = number
        return self._names[key]

    def _true(self) -> str:
        if "true" not in self._names:
            tensor = self.onnx.numpy_helper.from_array(np.array(True))
            self._names["true"] = self._add("Constant", (), {"value": tensor})
        return self._names["true"]

    def _add(self, op: str, operands: Sequence[str], attributes: Mapping[str, Any]) -> str:
        name = f"t{len(self.nodes) + 1}"
        while name in self.reserved:
            name += "_"
        self.nodes.append(self.onnx.helper.make_node(op, operands, [name], **attributes))
        return name

    def kind(self, dtype: str) -> int:
        """Return ONNX's number of a format."""
        return int(getattr(self.onnx.TensorProto, TYPES[dtype]))

    def rename(self, old: str, new: str) -> None:
        """Write the value `old` to the output `new`."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [old], [new]))

    def operations(self) -> dict[str, Callable[..., str]]:
        """Return the operations of a stable form without fma."""
        simple = {
            "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "unscale": "Mul", "neg": "Neg",
            "abs": "Abs", "sqrt": "Sqrt", "lt": "Less", "le": "LessOrEqual", "eq": "Equal",
        }  # fmt: skip
        return {op: partial(self.node, name) for op, name in simple.items()} | {
            "keep": lambda x: x,
            "where": self._where,
            "high": self._high,
            "copysign": self._copysign,
            "add_exponent": self._add_exponent,
            "exponent_only": lambda t: self._power(t, BIAS + FLOAT64.max_exponent),
            "exponent_field": self._exponent_field,
        }

    def _where(self, condition: str, yes: str, no: str) -> str:
        """Return a choice that keeps the sign of a 0 near 0.

        onnxruntime's Where loses the sign of -0 as its second operand and keeps it as the last one:
        `yes` becomes the last operand if it is -0, or if the condition holds near 0. A `yes` with a
        copied sign is added to a -0 that stands for `no`.
        """
        zero = self._names.get(("Constant", (0.0).hex()), "")
        if yes == self._names.get(("Neg", (zero,))):
            return self.node("Neg", self.node("Where", condition, zero, self.node("Neg", no)))
        # Not would be optimised away, with the order that it is for.
        if self._holds[condition]:
            return self.node("Where", self.node("Xor", condition, self._true()), no, yes)
        if yes not in self._signed:
            return self.node("Where", condition, yes, no)
        opposite = self.node("Xor", condition, self._true())
        parts = (
            self.node("Where", test, self.number(0.0), self.node("Neg", branch))
            for test, branch in ((opposite, yes), (condition, no))
        )
        return self.node("Add", *(self.node("Neg", part) for part in parts))

    def _power(self, t: str, bias: float) -> str:
        """Return 2**(t - bias)."""
        return self.node("Pow", self.number(2.0), self.node("Sub", t, self.number(bias)))

    def _add_exponent(self, x: str, t: str) -> str:
        """Return x times 2 to the integer in the low bits of t."""
        return self.node("Mul", self._finite.get(x, x), self._power(t, BIAS))

    def _high(self, x: str) -> str:
        """Return x with the lower half of its significand rounded off."""
        product = self.node("Mul", x, self.number(SPLIT))
        upper = self.node("Sub", product, self.node("Sub", product, x))
        inside = self.node("Less", self.node("Abs", x), self.number(LARGE))
        return self.node("Where", inside, upper, x)

    def _copysign(self, magnitude: str, sign: str) -> str:
        """Return the magnitude with the sign of `sign`; that of -0 is the sign of 1/-0.

        The negative number is Where's last operand: onnxruntime keeps the sign of a 0 only there.
        """
        zero, size = self.number(0.0), self.node("Abs", magnitude)
        inverse = self.node("Div", self.number(1.0), sign)
        signs = [self.node("LessOrEqual", zero, number) for number in (sign, inverse)]
        result = self.node("Where", self.node("And", *signs), size, self.node("Neg", size))
        self._signed.add(result)
        return result

    def _exponent_field(self, x: str) -> str:
        """Return 2**52 plus the exponent field of x > 0, whatever the error of Log is.

        Infinity counts as the largest number, here and where its exponent is taken off.
        """
        largest = self.number(float(np.finfo(np.float64).max))
        self._finite[x] = self.node("Where", self.node("Less", largest, x), largest, x)
        x = self._finite[x]
        one, zero = self.number(1.0), self.number(0.0)
        scaled = self.node("Mul", self.node("Log", x), self.number(1 / np.log(2.0)))
        guess = self.node("Floor", scaled)
        power = self.node("Pow", self.number(2.0), guess)
        above = self.node("LessOrEqual", self.node("Mul", power, self.number(2.0)), x)
        below = self.node("Less", x, power)
        exponent = self.node("Add", guess, self.node("Where", above, one, zero))
        exponent = self.node("Sub", exponent, self.node("Where", below, one, zero))
        return self.node("Add", exponent, self.number(WHOLE))

    def compute(self, function: EmittedFunction) -> list[str]:
        """Return the names of a function's results, in its format."""
        kind = self.kind(function.fmt.name)
        wide = function.fmt is FLOAT64
        inputs: dict[str, Any] = {
            name: printed if wide else self.node("Cast", printed, to=self.kind("float64"))
            for name, printed in function.inputs
        }
        inputs |= function.constants
        operations, results = self.operations(), []
        for root in without_fma(FLOAT64, *function.roots):
            result = interpret(root, operations, self.number, inputs)
            if not any(node.op == "input" for node in walk(root)):
                shape = self.node("Shape", function.operands[0])
                result = self.node("Expand", result, shape)
            results.append(result if wide else self.node("Cast", result, to=kind))
        return results


def outputs_of(function: EmittedFunction, alone: bool) -> list[str]:
    """Return the names of a function's outputs in the graph."""
    if alone:
        return list(function.outputs)
    if len(function.outputs) == 1:  # a user's formula may have the name of an operand
        is_operand = function.label in function.operands
        return [f"{function.label}_value" if is_operand else function.label]
    return [f"{function.label}_{name}" for name in function.outputs]


def local_function(function: EmittedFunction, opset: Any) -> Any:
    """Return a function as a local function, of operands of any shape."""
    builder = StableFormBuilder((*function.operands, *function.outputs))
    for result, name in zip(builder.compute(function), function.outputs, strict=True):
        builder.rename(result, name)
    return builder.onnx.helper.make_function(
        DOMAIN, function.label, function.operands, function.outputs, builder.nodes, [opset],
        doc_string=function.described(function.fmt.name),
    )  # fmt: skip


def certification(units: Sequence[EmittedActivation]) -> list[str]:
    """Return the command that certifies the model: one function of one operand."""
    functions = [function for unit in units for function in unit.functions]
    unit = units[0]
    if len(functions) > 1 or not unit.certifiable:
        return []
    (function,) = functions
    file = f"{function.label}.onnx"
    quantity, is_slope = function.quantity, function.quantity == "slope"
    if unit.command is None:
        slope = f', slope="{file}"' if is_slope else ""
        return unit.in_python(f'"{file}", {unit.name}{slope}, quantity="{quantity}"')
    slope = f" --slope {file}" if is_slope else ""
    options = f"--reference {unit.command} --quantity {quantity}{limit(function.bound)}"
    return ["To certify:", f"    softgate certify {file}{slope} \\", f"        {options}"]


class Onnx(Language):
    """ONNX: a model, whose documentation has the text of a comment."""

    name, title, extensions = "onnx", "ONNX", ("onnx",)
    contents = "a model, computed in float64 without fma and rounded"
    dtypes, default_dtypes = ("float16", "float32", "float64"), ("float32",)
    default_quantities = ("value",)
    forms: ClassVar = {
        "model": "a model of standard operators",
        "function": "local functions of these",
    }
    parameters = "defaults"
    fused = False

    def program(self, units: Sequence[EmittedActivation], closing: Sequence[str], form: str) -> Any:
        functions = [function for unit in units for function in unit.functions]
        operands = list(dict.fromkeys(name for f in functions for name in f.operands))
        names = {f.label: outputs_of(f, alone=len(functions) == 1) for f in functions}
        outputs = [name for several in names.values() for name in several]
        builder, local = StableFormBuilder((*operands, *outputs)), []
        helper = builder.onnx.helper
        opsets = [helper.make_opsetid("", OPSET)]
        for function in functions:
            if form == "function":
                local.append(local_function(function, opsets[0]))
                call = helper.make_node(
                    function.label, function.operands, names[function.label], domain=DOMAIN
                )
                builder.nodes.append(call)
                continue
            for result, name in zip(builder.compute(function), names[function.label], strict=True):
                builder.rename(result, name)
        opsets += [helper.make_opsetid(DOMAIN, 1)] if form == "function" else []
        notes = [*NOTES, *(LOCAL if form == "function" else ())]
        kind = builder.kind(functions[0].fmt.name)
        graph = helper.make_graph(
            builder.nodes,
            "_".join(unit.name for unit in units),
            [helper.make_tensor_value_info(name, kind, ["n"]) for name in operands],
            [helper.make_tensor_value_info(name, kind, ["n"]) for name in outputs],
        )
        return helper.make_model(
            graph,
            opset_imports=opsets,
            functions=local,
            ir_version=IR_VERSION,
            producer_name="softgate",
            doc_string=self.comment(units, [*notes, *certification(units)], closing),
        )

    def listed(self, unit: EmittedActivation) -> list[str]:
        listed = [f"    {f.label}: {f.described(f.fmt.name)}" for f in unit.functions]
        return [*listed, *unit.remarks()]

    def text(self, program: Any) -> str:
        return f"{required_onnx().printer.to_text(program)}\n"

    def content(self, program: Any) -> bytes:
        content: bytes = program.SerializeToString()
        return content


LANGUAGE = Onnx()
