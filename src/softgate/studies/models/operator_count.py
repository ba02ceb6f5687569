"""The activation operators of a model, counted without the code that `scan` finds functions with.

Each operator that is counted here is assigned to the first row of a scan that contains it, or is
named as not listed, with the reason. An operator that the matcher misses therefore shows. This
module imports nothing of softgate, so that it shares no mistake with the matcher.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ONNX_OPERATORS = frozenset({
    "BiasGelu", "BiasSplitGelu", "Celu", "Clip", "Elu", "Erf", "FastGelu", "Gelu", "GemmFastGelu",
    "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "PRelu", "ParametricSoftplus",
    "QLinearLeakyRelu", "QLinearSigmoid", "QOrderedGelu", "QuickGelu", "Relu", "Relu6",
    "ScaledSiLU", "ScaledTanh", "Selu", "Shrink", "Sigmoid", "Silu", "Softplus", "Softsign",
    "Swish", "Tanh", "ThresholdedRelu",
})  # fmt: skip
"""Activation operators of ONNX, in whatever domain."""
RECURRENT = {
    "AttnLSTM": 3, "DynamicQuantizeLSTM": 3, "GRU": 2, "LSTM": 3, "RNN": 1,
}  # fmt: skip
"""Recurrent operators and the number of their activations in each direction."""
WITH_DEFAULT = frozenset({"GatedRMSNorm", "MoE", "QMoE"})
"""Operators with an activation that an attribute may state."""
NO_ACTIVATION = (b"", b"identity", b"none")
POSITION = "softgate.position"
"""The entry of a node's metadata that has its position in the unmodified file."""


@dataclass(frozen=True)
class CountedOperator:
    """An activation operator of a model."""

    key: Hashable
    """What identifies it here and in the matcher's graph."""
    operator: str
    path: str
    count: int = 1
    """How often the model has it: a node of a local function once for each call."""


@dataclass(frozen=True)
class UnlistedOperator:
    """An activation operator that is in no row of a scan."""

    path: str
    """The module, layer or node."""
    operator: str
    count: int
    reason: str


class OperatorCount:
    """The activation operators of a model, and those that no row contains yet."""

    def __init__(self, operators: Iterable[CountedOperator]) -> None:
        self._operators = tuple(operators)
        self._left = Counter[Hashable]()
        for operator in self._operators:
            self._left[operator.key] += operator.count
        self.total = self._left.total()
        self._assigned = set[Hashable]()

    def assign(self, places: Mapping[Hashable, Hashable]) -> int:
        """Assign operators to a row; return how many of them no earlier row contains.

        `places` are the operations of the row with the keys of their operators. A key has several
        places if the model has the operator several times.
        """
        keys = [key for place, key in places.items() if place not in self._assigned]
        self._assigned |= places.keys()
        before = self._left.total()
        for key in keys:
            if self._left[key]:
                self._left[key] -= 1
        return before - self._left.total()

    def unlisted(self, reason: Callable[[Hashable], str]) -> tuple[UnlistedOperator, ...]:
        """Return the operators that are in no row, with the reason for each key."""
        return tuple(
            UnlistedOperator(o.path, o.operator, self._left[o.key], reason(o.key))
            for o in {operator.key: operator for operator in self._operators}.values()
            if self._left[o.key]
        )


def count_onnx(model: Any) -> list[CountedOperator]:
    """Return the activation operators of an ONNX model as it is in the file.

    Graphs in attributes, local functions and activations that are attributes of other operators
    are included. A key is the position of a node, and a number among the activations of the node.
    Raises ValueError if a local function calls itself.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    calls = _calls(model, functions)
    return [
        CountedOperator((position, i), operator, path, times)
        for caller, times in calls.items()
        for position, node in positions(model.graph if caller is None else functions[caller])
        if _called(node) not in functions
        for path in [node.name or next(filter(None, node.output), "")]
        for i, operator in enumerate(_activations(node))
    ]


def positions(graph: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the nodes of a graph or a local function, and of all graphs in them, and where each is.

    Positions are unique in a model.
    """
    if hasattr(graph, "opset_import"):
        prefix = f"{graph.domain}:{graph.name}:{graph.overload}/"
    for i, node in enumerate(graph.node):
        yield f"{prefix}{i}", node
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else attribute.graphs
            for k, inner in enumerate(graphs):
                yield from positions(inner, f"{prefix}{i}/{attribute.name}{k}/")


def mark_positions(model: Any) -> None:
    """Write its position to each node of a model, where a matcher finds it after inlining."""
    for graph in (model.graph, *model.functions):
        for position, node in positions(graph):
            remove_position(node)
            node.metadata_props.add(key=POSITION, value=position)


def position_of(node: Any) -> str:
    """Return the position that `mark_positions` wrote to a node; empty if there is none."""
    return next((p.value for p in node.metadata_props if p.key == POSITION), "")


def remove_position(node: Any) -> None:
    """Remove the position that `mark_positions` wrote to a node."""
    for i in reversed(range(len(node.metadata_props))):
        if node.metadata_props[i].key == POSITION:
            del node.metadata_props[i]


def _calls(model: Any, functions: Mapping[Any, Any]) -> dict[Any, int]:
    """Return how often each local function is called in a run of every node; None is the model."""
    inside = {
        caller: Counter(key for _, node in positions(graph) if (key := _called(node)) in functions)
        for caller, graph in {None: model.graph, **functions}.items()
    }
    calls: dict[Any, int] = {None: 1}
    waiting = Counter(callee for callees in inside.values() for callee in callees)
    ready: list[Any] = [None] + [key for key in functions if not waiting[key]]
    for caller in ready:
        for callee, times in inside[caller].items():
            calls[callee] = calls.get(callee, 0) + times * calls.get(caller, 0)
            waiting[callee] -= 1
            if not waiting[callee]:
                ready.append(callee)
    if len(ready) <= len(functions):
        name = next(key[1] for key in functions if waiting[key])
        raise ValueError(f"the local function {name} calls itself")
    return {caller: times for caller, times in calls.items() if times}


def _called(node: Any) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


def _activations(node: Any) -> list[str]:
    """Return the activation operators that a node is or has as attributes."""
    attributes = {a.name: a for a in node.attribute}
    if node.op_type in RECURRENT:
        direction = attributes.get("direction")
        both = direction is not None and direction.s == b"bidirectional"
        return [node.op_type] * RECURRENT[node.op_type] * (2 if both else 1)
    if node.op_type in ONNX_OPERATORS:
        return [node.op_type]
    stated = [
        a for name, a in attributes.items() if name.endswith(("activation", "activation_type"))
    ]
    count = sum(bool(a.ref_attr_name or a.i or a.s.lower() not in NO_ACTIVATION) for a in stated)
    if not stated and node.op_type in WITH_DEFAULT:
        count = 1
    softcap = attributes.get("softcap")
    return [node.op_type] * (count + (softcap is not None and softcap.f != 0))
