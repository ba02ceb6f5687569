"""Activations that an ONNX operator computes inside, written as operators of their own.

com.microsoft FusedConv, and others that onnxruntime writes when it saves an optimised graph, apply
an activation to their result. LSTM, GRU and RNN have one for each gate. Each activation is written
as operators from a value inside to another or to the result, and evaluated as others are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Parameters = dict[str, float]

GATES = {
    "AttnLSTM": ("sigmoid", "tanh", "tanh"),
    "DynamicQuantizeLSTM": ("sigmoid", "tanh", "tanh"),
    "GRU": ("sigmoid", "tanh"),
    "LSTM": ("sigmoid", "tanh", "tanh"),
    "RNN": ("tanh",),
}
"""The activations of recurrent operators, for one direction, where none are stated."""
DEFAULTS = {"GatedRMSNorm": "silu", "MoE": "relu", "QMoE": "relu"}
"""The activation of an operator that does not state it."""
QUANTISED = {"QLinearLeakyRelu": "leakyrelu", "QLinearSigmoid": "sigmoid"}
"""Activations of integers, which are dequantised before and quantised after."""
GATED = frozenset({"GatedRMSNorm", "MatMulNBitsMlp"})
"""Operators whose attribute `activation` is not applied to their result."""
PARAMETERS: dict[str, Parameters] = {
    "affine": {"alpha": 1.0, "beta": 0.0},
    "clip": {"alpha": float("-inf"), "beta": float("inf")},
    "elu": {"alpha": 1.0},
    "hardsigmoid": {"alpha": 0.2, "beta": 0.5},
    "leakyrelu": {"alpha": 0.01},
    "scaledtanh": {"alpha": 1.0, "beta": 1.0},
    "selu": {"alpha": 1.6732632, "gamma": 1.0507010},
    "thresholdedrelu": {"alpha": 1.0},
}
"""The parameters of activations with their defaults, in the order of `activation_params`."""
ATTRIBUTES = ("activation", "activation_type")
"""The ends of the names of attributes that state an activation."""
OPERATORS = {
    "elu": "Elu", "hardsigmoid": "HardSigmoid", "leakyrelu": "LeakyRelu", "relu": "Relu",
    "selu": "Selu", "sigmoid": "Sigmoid", "softplus": "Softplus", "softsign": "Softsign",
    "tanh": "Tanh", "thresholdedrelu": "ThresholdedRelu",
}  # fmt: skip


@dataclass(frozen=True)
class InnerActivation:
    """An activation inside an operator."""

    index: int
    """Its number among the activations of the operator."""
    name: str
    """In lower case, as attributes state it; onnxruntime compares without case."""
    parameters: Parameters
    on_result: bool
    """Whether it is applied to the first result of the operator."""

    def nodes(self, start: str, end: str, kind: int) -> list[Any]:
        """Return operators that compute `end` from `start`; none if the name is not known.

        `kind` is the element type, as in onnx.TensorProto.
        """
        import onnx

        make = onnx.helper.make_node

        def constant(name: str, value: float) -> Any:
            tensor = onnx.helper.make_tensor("", kind, [], [value])
            return make("Constant", [], [f"{end} {name}"], value=tensor)

        names = [f"{end} {name}" for name in ("alpha", "beta")]
        constants = [constant(name, value) for name, value in self.parameters.items()]
        if self.name in OPERATORS:
            return [make(OPERATORS[self.name], [start], [end], **self.parameters)]
        if self.name in ("hardswish", "silu", "swish"):
            gate = make("Sigmoid", [start], [f"{end} gate"])
            if self.name == "hardswish":
                gate = make("HardSigmoid", [start], [f"{end} gate"], alpha=1 / 6, beta=0.5)
            return [gate, make("Mul", [start, f"{end} gate"], [end])]
        steps = {
            "affine": ("Mul", "Add"), "clip": ("Max", "Min"), "scaledtanh": ("Mul", "Tanh", "Mul"),
        }.get(self.name)  # fmt: skip
        if steps is None:
            return []
        if self.name == "scaledtanh":
            names.reverse()  # alpha·tanh(beta·x)
        values = [start, *(f"{end} {i}" for i in range(1, len(steps))), end]
        return constants + [
            make(
                step, [values[i]] if step == "Tanh" else [values[i], names.pop(0)], [values[i + 1]]
            )
            for i, step in enumerate(steps)
        ]


def inner_activations(node: Any) -> Iterator[InnerActivation]:
    """Yield the activations that a node computes inside."""
    import onnx

    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute if a.type}
    if node.op_type in GATES:
        yield from _gates(node.op_type, values)
        return
    if node.op_type in QUANTISED:
        name = QUANTISED[node.op_type]
        parameters = {n: values.get(n, value) for n, value in PARAMETERS.get(name, {}).items()}
        yield InnerActivation(0, name, parameters, on_result=False)
        return
    stated = {a: _name(a, values[a]) for a in sorted(values) if a.endswith(ATTRIBUTES)}
    if not stated and node.op_type in DEFAULTS:
        stated = {"": DEFAULTS[node.op_type]}
    used = [(a, name) for a, name in stated.items() if name not in ("", "identity", "none")]
    for i, (attribute, name) in enumerate(used):
        parameters = {
            n: values.get(f"activation_{n}", value) for n, value in PARAMETERS.get(name, {}).items()
        }
        parameters.update(zip(parameters, values.get("activation_params", ()), strict=False))
        on_result = attribute == "activation" and node.op_type not in GATED
        yield InnerActivation(i, name, parameters, on_result)
    if cap := values.get("softcap"):
        parameters = {"alpha": cap, "beta": 1 / cap}
        yield InnerActivation(len(used), "scaledtanh", parameters, on_result=False)


def _gates(kind: str, values: dict[str, Any]) -> Iterator[InnerActivation]:
    """Yield the activations of the gates; their parameters are stated in the same order."""
    count = len(GATES[kind]) * (2 if values.get("direction") == b"bidirectional" else 1)
    names = [_name("", name) for name in values.get("activations", ())]
    left = {n: list(values.get(f"activation_{n}", ())) for n in ("alpha", "beta")}
    for i, name in enumerate((names or list(GATES[kind]) * 2)[:count]):
        parameters = {
            n: left[n].pop(0) if left[n] else value for n, value in PARAMETERS.get(name, {}).items()
        }
        yield InnerActivation(i, name, parameters, on_result=False)


def _name(attribute: str, value: Any) -> str:
    """Return the name that an attribute states; an integer is a number of GroupNorm's."""
    if isinstance(value, bytes):
        return value.decode(errors="replace").lower()
    return ("silu" if attribute == "activation" else "unknown") if value else ""
