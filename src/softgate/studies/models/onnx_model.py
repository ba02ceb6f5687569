"""The graph of an ONNX file, read without its weights and evaluated part by part.

The file itself is not run. The parts are new models of elementwise operators with scalar constants,
run by onnxruntime without its optimiser, so that they are evaluated as they are written.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from softgate.formula.formats import FORMATS, Format
from softgate.records.text import first_line

from ..subjects.worker import ParentConnection
from .activations import collect, graph_notes
from .elementwise_subgraphs import ElementwiseGraph, Operation, Subgraph, Value
from .onnx_fused import InnerActivation, inner_activations
from .operator_count import CountedOperator, OperatorCount, count_onnx, mark_positions, position_of
from .probing import Array, IdentifiedPart, ProbeError, Prober
from .record import Scan

MEMORY = 2**31
"""The bytes that the worker process may use, in addition to three times the size of the file."""
MOST_BYTES = 2**31
"""The largest file: that of protobuf."""
MOST_NODES = 200_000
MOST_DEPTH = 16
"""The most levels of graphs inside graphs."""
STANDARD = frozenset({
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil",
    "Celu", "Clip", "Cos", "Cosh", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Floor",
    "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "IsInf",
    "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mul",
    "Neg", "Not", "Or", "PRelu", "Pow", "QuantizeLinear", "Reciprocal", "Relu", "Round", "Selu",
    "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum",
    "Swish", "Tan", "Tanh", "ThresholdedRelu", "Where", "Xor",
})  # fmt: skip
MICROSOFT = frozenset({"BiasGelu", "FastGelu", "Gelu", "QuantizeLinear", "QuickGelu"})
COMPARISONS = frozenset({
    "And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not",
    "Or", "Xor",
})  # fmt: skip
"""Operators whose result is a truth value."""
REORDER = frozenset({"ReorderInput", "ReorderOutput"})
"""Operators of com.microsoft.nchwc to and from its layout, which change no value."""
ELEMENTWISE = {
    "": STANDARD, "ai.onnx": STANDARD, "com.microsoft": MICROSOFT, "com.microsoft.nchwc": REORDER,
}  # fmt: skip
"""The elementwise operators of each domain."""
BIASED = frozenset({"BiasGelu", "FastGelu"})
"""Operators of com.microsoft whose second input is added to the first: evaluated with 0."""
REARRANGING = frozenset({
    "Expand", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose",
    "Unsqueeze",
})  # fmt: skip
"""Operators that move, select or repeat elements of their first input."""
LINEAR = frozenset({"Add", "Constant", "Mul"})
"""Operators of an activation inside a node that only scale and shift."""
DIVISOR = {"Div": 1, "Log": 0, "Pow": 0, "Reciprocal": 0, "Sqrt": 0}
"""The input by which an operator divides, or of which it computes a root or a logarithm."""
FORMAT_OF = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}
"""Formats by the element type of onnx.TensorProto."""
FLOAT32, UINT8, BOOL, BFLOAT16 = 1, 2, 9, 16
"""Element types: onnxruntime lacks bfloat16 on the CPU, so such parts are evaluated in float32."""


def main() -> None:
    """Reply to the file of the first message with its record, in a worker process."""
    parent = ParentConnection()
    file = next(parent.messages())["file"]
    try:
        limit_memory(MEMORY + 3 * Path(file).stat().st_size)
        scan = scan_file(file)
    except MemoryError:
        parent.send({"mistake": f"{file} needs more memory than scan uses ({MEMORY:,} bytes)"})
    except Exception as error:  # reported in one line by the parent
        parent.send({"mistake": str(error)})
    else:
        parent.send({"scan": scan.to_dict()})


def limit_memory(size: int) -> None:
    """Limit the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def scan_file(file: str) -> Scan:
    """Return the activations of an ONNX file; raise ValueError if it cannot be read."""
    graph, operators = read_graph(file)
    return scan_graph(file, graph, operators)


def read_graph(file: str | os.PathLike[str]) -> tuple[OnnxGraph, list[CountedOperator]]:
    """Return the graph of a file and its activation operators; raise ValueError if it has none."""
    with reading(file):
        model, operators = load_model(file, weights=False)
        return OnnxGraph(with_types(model)), operators


def scan_graph(file: str, graph: OnnxGraph, operators: Iterable[CountedOperator]) -> Scan:
    """Return the activations of a graph, and the operators that are in none of them."""
    count = OperatorCount(operators)
    identified, others = collect(graph, count=count)
    notes = graph_notes(graph)
    if graph.failures:
        notes.append(f"onnxruntime cannot evaluate some functions: {graph.failures[0]}")
    return Scan(
        file, "onnx", "sample", None, identified, others, tuple(notes),
        count.total, count.unlisted(graph.why_unlisted),
    )  # fmt: skip


@contextmanager
def reading(file: str | os.PathLike[str]) -> Iterator[None]:
    """Raise ValueError for whatever a damaged file leads to."""
    try:
        yield
    except (ValueError, OSError, MemoryError):
        raise
    except Exception as error:  # a damaged file may have bytes for text, or wrong types
        raise ValueError(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def inference_session(model: Any) -> Any:
    """Return an onnxruntime session that runs a model as it is written, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class OnnxGraph:
    """The operators of a model, and the functions that they compute.

    Parameters
    ----------
    model : onnx.ModelProto
        Without local functions, and with types where they could be inferred.
    """

    def __init__(self, model: Any) -> None:
        self._opsets = list(model.opset_import)
        self._nodes: list[Any] = []
        self._operations: list[Operation] = []
        self._keys: list[Hashable] = []
        """The key of each operation in the operator count."""
        self._inside: dict[Hashable, Any] = {}
        """The node that computes an activation inside, by its key in the operator count."""
        self._containers: dict[int, Any] = {}
        """The nodes that compute operations inside, by the number of the operation."""
        self._same: dict[str, str] = {}
        """Values that are copies of an earlier one, and that one."""
        self._quantised: dict[str, tuple[Hashable, str]] = {}
        """How a value was quantised, and what it was before."""
        self._constant: set[Hashable] = set()
        """Keys of operators that compute constants."""
        self._constants: dict[str, Any] = {}
        self._variable: set[str] = set()
        self._types: dict[str, int] = {}
        self._shapes: dict[str, tuple[int | None, ...]] = {}
        self.several_slopes: list[str] = []
        self.failures: list[str] = []
        """What onnxruntime reported about functions that it could not evaluate."""
        self._results = set[Value]()
        self._read(model.graph, 0, {})
        self._infer_types()
        self._graph = ElementwiseGraph(self._operations, self._results)
        self._prober = Prober(self._graph, self._evaluate, self.format_of, self._signature)

    def parts(self) -> Iterator[IdentifiedPart]:
        """Yield the elementwise functions, in the order of the graph."""
        return self._prober.parts()

    def dtype(self, subgraph: Subgraph) -> str:
        """Return the dtype of a subgraph's input."""
        return FORMAT_OF[self._types[str(subgraph.input)]]

    def type_of(self, value: Value) -> int:
        """Return the element type of a value, as in onnx.TensorProto; 0 if it is not known."""
        return self._types.get(str(value), 0)

    def between(self, start: Value, end: Value) -> Subgraph:
        """Return the function that computes `end` from `start`, one of its sources."""
        return self._graph.between(start, end)

    def counted(self, subgraph: Subgraph) -> Mapping[Hashable, Hashable]:
        """Return the nodes of a subgraph, each with its key in the operator count."""
        return {i: self._keys[i] for i in subgraph.operations}

    def why_unlisted(self, key: Hashable) -> str:
        """Return why the operator with this key is in no row."""
        if key in self._constant:
            return "its inputs are constants"
        place = next((i for i, other in enumerate(self._keys) if other == key), None)
        if place is None:
            container = self._inside.get(key)
            return (
                f"it is computed inside {_kind(container)}" if container else "it is not examined"
            )
        node, operation = self._nodes[place], self._operations[place]
        if node.op_type not in ELEMENTWISE.get(node.domain, ()):
            return f"scan does not evaluate {_kind(node)}"
        if node.op_type == "PRelu" and not operation.elementwise:
            return "it has several slopes, which no function of one value has"
        if not operation.inputs:
            return "its inputs are constants"
        if not self._graph.is_function(operation.outputs[0]):
            return "an input besides its argument is not a scalar constant"
        if not self._graph.is_used(operation.outputs[0]):
            return "its result is not used"
        kind = self._types.get(node.input[0], 0)
        if kind not in FORMAT_OF:
            return "its argument is not a floating-point number of 16 to 64 bits"
        return self._prober.unevaluated.get(place, "it is linear or constant between -4 and 4")

    @property
    def skipped(self) -> int:
        """The number of functions that were not evaluated."""
        return self._prober.skipped

    def _read(self, graph: Any, depth: int, copies: dict[Hashable, str]) -> None:
        """Add the nodes of a graph and of the graphs in its attributes.

        `copies` are the values that later nodes compute again, by what computes them.
        """
        if depth > MOST_DEPTH:
            raise ValueError(f"graphs are nested more than {MOST_DEPTH} deep")
        for tensor in graph.initializer:
            if prod(tensor.dims) == 1:
                self._constants[tensor.name] = tensor
            else:
                self._types[tensor.name] = tensor.data_type
        initialised = {tensor.name for tensor in graph.initializer}
        for value in (*graph.input, *graph.value_info, *graph.output):
            kind = value.type.tensor_type
            self._types.setdefault(value.name, kind.elem_type)
            if kind.HasField("shape"):
                self._shapes[value.name] = tuple(
                    d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim
                )
        self._variable |= {v.name for v in graph.input if v.name not in initialised}
        for node in _sorted(graph):
            for inner in inner_graphs(node):
                self._read(inner, depth + 1, dict(copies))
            if not self._is_copy(node, copies):
                self._add(node)
        self._results |= {self._same.get(value.name, value.name) for value in graph.output}

    def _is_copy(self, node: Any, copies: dict[Hashable, str]) -> bool:
        """Return whether a node computes a value again: what was quantised, up to rounding.

        onnxruntime repeats DequantizeLinear.
        """
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            return False
        attributes = {a.name: a.SerializeToString() for a in node.attribute}
        inputs, output = self._inputs(node), str(node.output[0])
        how = node.domain, tuple(inputs[1:]), attributes.get("axis")
        if node.op_type == "QuantizeLinear":
            self._quantised[output] = how, inputs[0]
            return False
        before = self._quantised.get(inputs[0])
        if before is not None and before[0] == how:
            self._same[output] = before[1]
            return True
        key = (node.domain, tuple(inputs), tuple(sorted(attributes.values())))
        first = copies.setdefault(key, output)
        if first != output:
            self._same[output] = first
        return first != output

    def _add(self, node: Any) -> None:
        """Add a node, and the activations that it computes inside."""
        inner, outputs = list(inner_activations(node)), list(node.output)
        position = position_of(node)
        name = next(filter(None, outputs), "")
        ends = [name if a.on_result else f"{name} {a.index}" for a in inner]
        types = [self._types.get(name, 0) for name in (*node.output[:1], *node.input)]
        kind = next((kind for kind in types if kind in FORMAT_OF), FLOAT32)
        chains = list[tuple[InnerActivation, list[Any]]]()
        for activation, end in zip(inner, ends, strict=True):
            self._inside[position, activation.index] = node
            start = f"{end} before"
            if not (nodes := activation.nodes(start, end, kind)):
                continue
            self._types[start] = self._types[end] = kind
            chains.append((activation, nodes))
            if activation.on_result:
                outputs[0] = start
            else:
                outputs.append(start)
                self._results.add(end)
        self._add_operation(node, outputs, None if inner else (position, 0))
        for activation, nodes in chains:
            kinds = [n.op_type for n in nodes]
            counted = next((i for i, k in enumerate(kinds) if k not in LINEAR), len(nodes) - 1)
            for i, step in enumerate(nodes):
                self._containers[len(self._nodes)] = node
                key = (position, activation.index) if i == counted else None
                self._add_operation(step, list(step.output), key)

    def _add_operation(self, node: Any, outputs: list[str], key: Hashable) -> None:
        """Add an operation, its outputs, and its key in the operator count."""
        if len(self._nodes) >= MOST_NODES:
            raise ValueError(f"the model has more than {MOST_NODES:,} nodes")
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            self._add_constant(node)
            return
        inputs = [name for name in self._inputs(node) if name]
        variables = tuple(dict.fromkeys(name for name in inputs if name in self._variable))
        elementwise = node.op_type in ELEMENTWISE.get(node.domain, ())
        elementwise |= node.op_type == "DequantizeLinear" and not variables  # of a constant
        scalar = all(name in self._variable or name in self._constants for name in inputs)
        if elementwise and scalar and not variables:
            self._constants[node.output[0]] = node  # computed from scalars
            self._constant.add(key)
            return
        outputs = [name for name in outputs if name]
        if not outputs:
            return
        if node.op_type == "PRelu" and not scalar:
            self.several_slopes.append(node.name or outputs[0])
        self._variable |= set(outputs)
        if elementwise and scalar:
            outputs = outputs[:1]  # Dropout also has a mask
        self._nodes.append(node)
        self._keys.append(key)
        self._operations.append(
            Operation(
                kind=node.op_type,
                inputs=variables,
                outputs=tuple(outputs),
                elementwise=elementwise and scalar,
                reduction=node.op_type.startswith("Reduce"),
                rearranges=node.op_type in REARRANGING,
                divisors=self._divisors(node),
            )
        )

    def _add_constant(self, node: Any) -> None:
        import onnx

        for attribute in node.attribute:
            value = onnx.helper.get_attribute_value(attribute)
            if attribute.name == "value" and prod(value.dims) == 1:
                self._constants[node.output[0]] = value
            elif attribute.name in ("value_float", "value_int"):
                kind = np.float32 if attribute.name == "value_float" else np.int64
                tensor = onnx.numpy_helper.from_array(np.asarray(value, kind))
                self._constants[node.output[0]] = tensor

    def _infer_types(self) -> None:
        """Fill in the element types of values that the file does not state, and shapes."""
        for node, operation in zip(self._nodes, self._operations, strict=True):
            inputs = self._inputs(node)[1 if node.op_type == "Where" else 0 :]
            first = next((name for name in inputs if self._types.get(name)), None)
            for output in operation.outputs:
                if self._types.get(str(output)):
                    continue
                if node.op_type == "Cast":
                    self._types[str(output)] = next(a.i for a in node.attribute if a.name == "to")
                elif node.op_type == "QuantizeLinear":
                    zero = node.input[2] if len(node.input) > 2 else ""
                    self._types[str(output)] = self._constant_type(zero) if zero else UINT8
                elif node.op_type == "DequantizeLinear" and len(node.input) > 1:
                    self._types[str(output)] = self._constant_type(node.input[1])
                elif node.op_type in COMPARISONS:
                    self._types[str(output)] = BOOL
                elif first is not None and operation.elementwise:
                    self._types[str(output)] = self._types[first]
                else:
                    kinds = [self._types.get(name, 0) for name in inputs]
                    floats = [k for k in kinds if k in FORMAT_OF]
                    self._types[str(output)] = floats[0] if floats else 1

    def _constant_type(self, name: str) -> int:
        tensor = self._constants.get(name)
        return int(getattr(tensor, "data_type", 0)) or self._types.get(name, 1)

    def format_of(self, subgraph: Subgraph) -> Format | None:
        """Return the format of a subgraph's input; None if it or the result is not a float."""
        if self._types.get(str(subgraph.output), FLOAT32) not in FORMAT_OF:
            return None
        name = FORMAT_OF.get(self._types.get(str(subgraph.input), 0))
        return FORMATS[name] if name else None

    def elements(self, subgraph: Subgraph) -> int | None:
        """Return the elements of a sample, without the first dimension; None if not stated."""
        for value in (subgraph.input, subgraph.output):
            shape = self._shapes.get(str(value))
            if shape is not None and len(shape) > 1 and all(shape[1:]):
                return prod(size for size in shape[1:] if size is not None)
        return None

    def path(self, subgraph: Subgraph) -> str:
        """Return the name of the last node, or of its output; the layout may change after it."""
        places = [i for i in subgraph.operations if self._nodes[i].op_type not in REORDER]
        last = (places or subgraph.operations)[-1]
        node = self._containers.get(last, self._nodes[last])
        return str(node.name or next(filter(None, node.output)))

    def nodes(self, subgraph: Subgraph) -> list[Any]:
        """Return the nodes of a subgraph."""
        return [self._nodes[i] for i in subgraph.operations]

    def input_name(self, subgraph: Subgraph) -> str:
        """Return the value that a subgraph reads: its input, or a copy of it."""
        reads = (str(name) for node in self.nodes(subgraph) for name in node.input)
        return next(name for name in reads if self._same.get(name, name) == subgraph.input)

    def container(self, subgraph: Subgraph) -> str:
        """Return the operator that computes a subgraph inside, with its domain; empty if none."""
        return next(
            (_kind(self._containers[i]) for i in subgraph.operations if i in self._containers), ""
        )

    def operators(self, subgraph: Subgraph) -> str:
        """Return the operators of a subgraph."""
        nodes = [self._containers.get(i, self._nodes[i]) for i in subgraph.operations]
        return ", ".join(
            node.op_type for i, node in enumerate(nodes) if i == 0 or node is not nodes[i - 1]
        )

    def _inputs(self, node: Any) -> list[str]:
        """Return the inputs of a node, the first one of copies; without a bias that it adds."""
        biased = node.op_type in BIASED and node.domain == "com.microsoft"
        return [self._same.get(name, name) for name in (node.input[:1] if biased else node.input)]

    def _divisors(self, node: Any) -> tuple[str, ...]:
        """Return the values by which a node divides, and by which it does nothing else."""
        inputs = self._inputs(node)
        place = DIVISOR.get(node.op_type, len(inputs))
        return tuple(name for name in inputs[place : place + 1] if inputs.count(name) == 1)

    def _signature(self, subgraph: Subgraph) -> Hashable:
        names: dict[str, int] = {str(subgraph.input): 0}
        return self._types.get(str(subgraph.input)), tuple(
            self._node_signature(node, names) for node in self.nodes(subgraph)
        )

    def _node_signature(self, node: Any, names: dict[str, int]) -> Hashable:
        inputs = tuple(
            names[name] if name in names else self._constant_signature(name)
            for name in self._inputs(node)
        )
        names[node.output[0]] = len(names)
        attributes = sorted(a.SerializeToString() for a in node.attribute)
        return node.domain, node.op_type, inputs, tuple(attributes)

    def _constant_signature(self, name: str) -> Hashable:
        constant = self._constants.get(name)
        if constant is None:
            return name
        if hasattr(constant, "op_type"):
            return self._node_signature(constant, {})
        return _without_name(constant)

    def _evaluate(self, subgraph: Subgraph, x: Array) -> Array:
        import onnx

        helper = onnx.helper
        kind, dtype = self._types[str(subgraph.input)], x.dtype
        if kind == BFLOAT16:
            kind, x = FLOAT32, x.astype(np.float32)
        source = helper.make_tensor_value_info(str(subgraph.input), kind, ["n"])
        result = helper.make_empty_tensor_value_info(str(subgraph.output))
        nodes, constants = self._extracted(subgraph)
        graph = helper.make_graph(nodes, "part", [source], [result], constants)
        model = helper.make_model(graph, opset_imports=self._opsets)
        model.ir_version = helper.find_min_ir_version_for(self._opsets, True)
        try:
            (y,) = inference_session(model).run(None, {str(subgraph.input): x})
        except Exception as error:  # onnxruntime's exceptions have no common base class
            self.failures.append(first_line(error))
            raise ProbeError(self.failures[-1]) from None
        y = np.asarray(y)
        return y.astype(dtype) if x.dtype != dtype else y

    def _extracted(self, subgraph: Subgraph) -> tuple[list[Any], list[Any]]:
        """Return the nodes of a subgraph and its constants as scalars."""
        import onnx

        nodes, tensors, seen = list[Any](), list[Any](), set[str]()

        def add_constant(name: str) -> None:
            if name in seen or name not in self._constants:
                return
            seen.add(name)
            constant = self._constants[name]
            if hasattr(constant, "op_type"):
                for inner in constant.input:
                    add_constant(inner)
                nodes.append(constant)
                return
            tensor = onnx.TensorProto()
            tensor.CopyFrom(constant)
            tensor.name = name
            if tensor.HasField("data_location") and tensor.data_location:
                raise ProbeError(f"the constant {name} is in another file")
            del tensor.dims[:]
            tensors.append(_without_bfloat16(tensor))

        for node in self.nodes(subgraph):
            new, inputs = onnx.NodeProto(), self._inputs(node)
            new.CopyFrom(node)
            if len(inputs) < len(node.input) and node.op_type == "BiasGelu":
                new.op_type = "Gelu"  # the same without a bias
            del new.input[:]
            new.input.extend(inputs)
            if node.op_type == "Cast" and node.attribute[0].i == BFLOAT16:
                new = onnx.helper.make_node("Cast", inputs, node.output, to=FLOAT32)
            if node.op_type in REORDER:
                new = onnx.helper.make_node("Identity", inputs, node.output)
            for name in inputs:
                add_constant(name)
            nodes.append(new)
        return nodes, tensors


def _kind(node: Any) -> str:
    """Return the operator of a node with its domain."""
    return f"{node.op_type} of {node.domain}" if node.domain else str(node.op_type)


def _without_bfloat16(tensor: Any) -> Any:
    """Return a scalar constant, in float32 if it is in bfloat16."""
    import onnx

    if tensor.data_type != BFLOAT16:
        return tensor
    value = onnx.numpy_helper.to_array(tensor).astype(np.float32)
    return onnx.numpy_helper.from_array(value, tensor.name)


def _without_name(tensor: Any) -> bytes:
    copy = type(tensor)()
    copy.CopyFrom(tensor)
    copy.name = ""
    content: bytes = copy.SerializeToString(deterministic=True)
    return content


def load_model(file: str | os.PathLike[str], *, weights: bool) -> tuple[Any, list[CountedOperator]]:
    """Return the model in a file with its local functions inlined; raise ValueError if it is none.

    Also returns its activation operators, counted before that. Without `weights`, tensors that are
    neither scalars nor shapes have no data.
    """
    import onnx

    file = Path(file)
    size = file.stat().st_size
    if size >= MOST_BYTES:
        raise ValueError(f"{file} has {size:,} bytes: an ONNX file has fewer than {MOST_BYTES:,}")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(file.read_bytes())
    except Exception as error:  # protobuf's exceptions have no common base class
        raise ValueError(f"{file} is not an ONNX model: {first_line(error)}") from None
    if not model.graph.node:
        raise ValueError(f"{file} is not an ONNX model: it has no nodes")
    if not weights:
        drop_weights(model)
    try:
        operators = count_onnx(model)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    mark_positions(model)
    if model.functions:
        import onnx.inliner

        try:
            model = onnx.inliner.inline_local_functions(model)
        except Exception as error:
            raise ValueError(f"{file}: {first_line(error)}") from None
    make_names_unique(model.graph, {}, set())
    return model, operators


def inner_graphs(node: Any) -> Iterator[Any]:
    """Yield the graphs in the attributes of a node: branches and bodies of loops."""
    for attribute in node.attribute:
        yield from [attribute.g] if attribute.HasField("g") else attribute.graphs


def make_names_unique(graph: Any, outer: Mapping[str, str], taken: set[str]) -> None:
    """Rename values inside branches and loops whose names other graphs of the model have, too.

    `outer` are the new names of values that the graph can read, by the old ones.
    """
    names, nodes = dict(outer), graph.node
    defined = [
        *graph.input,
        *graph.initializer,
        *(tensor.values for tensor in graph.sparse_initializer),
    ]
    values = [value.name for value in defined] + [name for node in nodes for name in node.output]
    for name in dict.fromkeys(filter(None, values)):
        names[name], number = name, 1
        while names[name] in taken:
            number += 1
            names[name] = f"{name}_{number}"
        taken.add(names[name])
    for value in (*defined, *graph.output, *graph.value_info):
        if value.name in names:
            value.name = names[value.name]
    for node in nodes:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            make_names_unique(inner, names, taken)


def with_types(model: Any) -> Any:
    """Return a model with types and shapes inferred where that succeeds."""
    import onnx.shape_inference

    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # a wrong shape in the file: types are then inferred from the inputs
        return model


def drop_weights(model: Any) -> None:
    """Remove the data of tensors that are not scalars."""
    for tensor in model.graph.initializer:
        if prod(tensor.dims) != 1 and tensor.data_type != 7:  # int64: shapes
            for field in ("raw_data", "float_data", "int32_data", "double_data", "uint64_data"):
                tensor.ClearField(field)
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")


def _sorted(graph: Any) -> list[Any]:
    """Return the nodes in an order in which each follows what it needs; raise if there is none."""
    produced = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    if all(produced.get(name, -1) < i for i, node in enumerate(graph.node) for name in node.input):
        return list(graph.node)
    raise ValueError(f"the nodes of {graph.name or 'the graph'} are not in the order of execution")
