"""An ONNX model whose activations are replaced, checked and run, in a worker process.

Only nodes of activations and the scalars that they alone use are changed; weights are not touched.
The worker runs what the file states, within limits on memory and CPU time.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from softgate.records.text import first_line

from ..subjects.worker import Message, ParentConnection
from .activations import scanned_part
from .arrays import Arrays, aligned, bind, difference, load_arrays
from .elementwise_subgraphs import Subgraph
from .onnx_model import (
    BIASED,
    MEMORY,
    REORDER,
    OnnxGraph,
    drop_weights,
    inference_session,
    limit_memory,
    load_model,
    reading,
    scan_graph,
    with_types,
)
from .operator_count import OperatorCount, remove_position
from .record import Scan, ScannedActivation

MICROSOFT = "com.microsoft"
PASSED = frozenset({"Cast", "Dropout", "Identity"}) | REORDER
"""Operators before and after an activation that are not replaced."""
MOST_ELEMENTS = 2**24
"""The most elements of a random input."""
SIZES = (8, 32, 64, 1, 224)
"""Lengths that are tried for dimensions that the model leaves open, after the first one."""
INTEGERS = ((100, 1), (2, 1))
"""Ranges of random integers that are tried as inputs: the upper bound, and the value of masks."""


def main() -> None:
    """Reply to requests about one file, in a worker process."""
    parent = ParentConnection()
    limited, model = False, None
    for message in parent.messages():
        try:
            if not limited:
                limit_memory(MEMORY + 8 * Path(message["file"]).stat().st_size)
                limited = True
                limit_cpu(message["cpu_s"])
            elif message["command"] == "run":  # on inputs of the user, which may be large
                limit_cpu(message["cpu_s"])
            if model is None:
                model = EditableModel(message["file"])
                os.chdir(model.folder)  # external data is found from the working directory
            parent.send(model.reply(message))
        except MemoryError:
            parent.send({"mistake": f"{message['file']} needs more memory than {MEMORY:,} bytes"})
        except Exception as error:  # reported in one line by the parent
            parent.send({"mistake": str(error) or type(error).__name__})


def limit_cpu(seconds: float) -> None:
    """Limit the CPU time of this process to `seconds` more than it has used, where possible."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    total = ceil(used.ru_utime + used.ru_stime + seconds)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (total, hard))


@dataclass(frozen=True)
class GraphSite:
    """An activation of the graph."""

    subgraph: Subgraph
    activation: ScannedActivation
    reason: str
    """Why it cannot be replaced, or empty."""


class EditableModel:
    """A model with its weights, and the places of its activations."""

    def __init__(self, file: str) -> None:
        self.file, self.folder = file, Path(file).resolve().parent
        with reading(file):
            self.model, self._operators = load_model(file, weights=True)
            self.external = sorted(self._external_files())
            self._read()

    def _read(self) -> None:
        examined = type(self.model)()
        examined.CopyFrom(self.model)
        drop_weights(examined)
        self.graph = OnnxGraph(with_types(examined))
        self._uses = ValueUses(self.model.graph)
        count = OperatorCount(self._operators)
        self.places = [
            GraphSite(
                subgraph,
                replace(activation, counted=count.assign(self.graph.counted(subgraph))),
                self._reason(subgraph),
            )
            for subgraph, activation in self._activations()
        ]

    def _activations(self) -> Iterator[tuple[Subgraph, ScannedActivation]]:
        for part in self.graph.parts():
            if part.is_activation:
                subgraph = self._narrowed(part.subgraph)
                scanned = scanned_part(self.graph, replace(part, subgraph=subgraph))
                yield subgraph, replace(scanned, path=self.graph.path(part.subgraph))

    def _narrowed(self, subgraph: Subgraph) -> Subgraph:
        """Return an activation without casts before and after it, which stay in the model."""
        between = list(subgraph.between)
        while len(between) > 2 and self._is_passed(subgraph, between[1]):
            between.pop(0)
        while len(between) > 2 and self._is_passed(subgraph, between[-1]):
            between.pop()
        return self.graph.between(between[0], between[-1])

    def _is_passed(self, subgraph: Subgraph, value: Any) -> bool:
        node = next(n for n in self.graph.nodes(subgraph) if value in n.output)
        return node.op_type in PASSED

    def _reason(self, subgraph: Subgraph) -> str:
        """Return why an activation cannot be replaced; empty if it can."""
        if container := self.graph.container(subgraph):
            return f"it is computed inside {container}"
        nodes, output = self.graph.nodes(subgraph), str(subgraph.output)
        if any(node.op_type in REORDER for node in nodes):
            return "the layout of its values changes inside"
        if self._uses.producers(output) != 1:
            return f"{output} is computed in several places"
        if any(name in self._uses.read for name in nodes[-1].output[1:] if name):
            return f"{nodes[-1].op_type} has a second output that is used"
        if self.graph.type_of(output) != self.graph.type_of(subgraph.input):
            return "its input and its output have different types"
        biased = [node for node in nodes if _bias(node)]
        if biased and (biased != nodes[:1] or self._reads(nodes, subgraph.input) != 1):
            return f"{biased[0].op_type} adds a bias inside"
        return ""

    def _reads(self, nodes: Sequence[Any], value: Any) -> int:
        return sum(list(node.input).count(value) for node in nodes)

    def _external_files(self) -> set[str]:
        """Return the files with external data, relative to the folder of the model."""
        locations = set()
        for tensor in tensors(self.model.graph):
            if tensor.data_location != onnx.TensorProto.EXTERNAL:
                continue
            entries = {entry.key: entry.value for entry in tensor.external_data}
            location = entries.get("location", "")
            path = (self.folder / location).resolve()
            if not location or Path(location).is_absolute() or self.folder not in path.parents:
                raise ValueError(
                    f"{self.file}: the data of {tensor.name} is in {location!r}, "
                    "which is not inside the folder of the model"
                )
            if not path.is_file():
                raise ValueError(f"{self.file}: there is no file {location} with its data")
            locations.add(location)
        return locations

    @property
    def opset(self) -> int:
        """The version of the standard operators."""
        versions = [o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx")]
        return versions[0] if versions else 1

    def reply(self, message: Message) -> Message:
        """Return the reply to a message: what the model has, or the result of a run."""
        if message["command"] == "open":
            return self.describe()
        if message["command"] == "swap":
            return self.swap(message)
        return self.run(message)

    def describe(self) -> Message:
        """Return the scan of the model, its activations, its opset and its external files."""
        scan = scan_graph(self.file, self.graph, self._operators)
        activations = Scan(
            self.file, "onnx", "sample", None, tuple(p.activation for p in self.places), (), ()
        )
        return {
            "scan": scan.to_dict(),
            "activations": activations.to_dict(),
            "reasons": [place.reason for place in self.places],
            "opset": self.opset,
            "external": self.external,
            "inputs": [value.name for value in self.inputs()],
        }

    def swap(self, message: Message) -> Message:
        """Replace activations; check the result, run both models, and write the new one."""
        replacements = decoded(message["replacements"])
        edited, operators = self.edited(replacements, message["opset"])
        notes = self._check(edited)
        differences, more = self._compare(edited, message["inputs"])
        if message["staged"]:
            Path(message["staged"]).write_bytes(edited.SerializeToString())
        return {
            "operators": operators,
            "differences": differences,
            "notes": notes + more,
        }

    def run(self, message: Message) -> Message:
        """Run the model, with activations replaced; write its outputs and those of activations."""
        inputs = load_arrays(message["inputs"])
        model = self.model
        if message["replacements"]:
            model, _ = self.edited(decoded(message["replacements"]), self.opset)
        feeds = self.feeds(inputs)
        outputs = evaluate(model, feeds)
        arrays: Arrays = {f"o{i}": array for i, array in enumerate(outputs.values())}
        captured = list[int]()
        if message["capture"]:
            values = self._captured(model, feeds)
            captured = list(values)
            arrays |= {f"a{i}": array for i, array in values.items()}
        np.savez(message["result"], **arrays)  # type: ignore[arg-type]
        return {"outputs": list(outputs), "captured": captured}

    def _captured(self, model: Any, feeds: Arrays) -> dict[int, Any]:
        """Return the values of activations; those inside branches and loops are left out."""
        computed = {name for node in model.graph.node for name in node.output}
        names = {
            i: name
            for i, place in enumerate(self.places)
            if (name := str(place.subgraph.output)) in computed
        }
        extended = type(model)()
        extended.CopyFrom(model)
        known = {value.name for value in extended.graph.output}
        for name in dict.fromkeys(names.values()):
            if name not in known:
                extended.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
        values = evaluate(extended, feeds)
        return {i: values[name] for i, name in names.items() if name in values}

    def edited(
        self, replacements: Mapping[int, Any], opset: int
    ) -> tuple[Any, list[tuple[int, str]]]:
        """Return the model with activations replaced by graphs from `x` to `y`.

        Also returns the operators that compute each of them now.
        """
        with reading(self.file):
            if opset > self.opset:
                self._raise_opset(opset)
            model = type(self.model)()
            model.CopyFrom(self.model)
            editor = Editor(model, self.graph)
            operators = [
                (i, editor.replace(self.places[i].subgraph, graph))
                for i, graph in replacements.items()
            ]
            editor.finish()
            for inner in graphs(model.graph):
                for node in inner.node:
                    remove_position(node)
        return model, operators

    def _raise_opset(self, opset: int) -> None:
        """Convert the model to a later opset; the places of its activations must remain."""
        outputs = [str(place.subgraph.output) for place in self.places]
        self.model = converted(self.file, self.model, opset)
        self._read()
        if outputs != [str(place.subgraph.output) for place in self.places]:
            raise ValueError(f"{self.file}: activations changed when it was converted to {opset}")

    def _check(self, edited: Any) -> list[str]:
        """Run onnx's checker; raise ValueError unless it refuses the original model too."""
        reason = refusal(edited)
        if reason is None:
            return []
        if refusal(self.model) is not None:
            return [f"onnx's checker refuses the original model too: {reason}"]
        raise ValueError(f"{self.file}: onnx's checker refuses the new model: {reason}")

    def inputs(self) -> list[Any]:
        """Return the inputs of the model that have no default."""
        initialised = {tensor.name for tensor in self.model.graph.initializer}
        return [value for value in self.model.graph.input if value.name not in initialised]

    def feeds(self, arrays: Arrays) -> Arrays:
        """Return arrays as inputs of the model, by name."""
        values = self.inputs()
        feeds = bind(arrays, [value.name for value in values], self.file)
        kinds = {value.name: value.type.tensor_type.elem_type for value in values}
        return {name: array.astype(_dtype(kinds[name])) for name, array in feeds.items()}

    def _compare(self, edited: Any, file: str | None) -> tuple[list[Message], list[str]]:
        """Return the differences of the outputs on random and given inputs, and notes."""
        differences, notes = list[Message](), list[str]()
        run = self._random_run()
        if isinstance(run, str):
            notes.append(f"not compared on random inputs: {run}")
        else:
            feeds, outputs = run
            differences += compared("random", outputs, evaluate(edited, feeds))
        if file is not None:
            feeds = self.feeds(load_arrays(file))
            outputs = evaluate(self.model, feeds)
            differences += compared("given", outputs, evaluate(edited, feeds))
        return differences, notes

    def _random_run(self) -> tuple[Arrays, Arrays] | str:
        """Return random inputs and the outputs of the model, or why it does not run on any."""
        reason = ""
        for high, mask in INTEGERS:
            for size in SIZES:
                try:
                    feeds = self._random_inputs(size, high, mask)
                    return feeds, evaluate(self.model, feeds)
                except ValueError as error:
                    reason = reason or str(error)
        return reason

    def _random_inputs(self, size: int, high: int, mask: int) -> Arrays:
        random, feeds = np.random.default_rng(0), {}
        for value in self.inputs():
            kind = value.type.tensor_type
            shape = [
                d.dim_value if d.HasField("dim_value") else 1 if i == 0 else size
                for i, d in enumerate(kind.shape.dim)
            ]
            if prod(shape) > MOST_ELEMENTS or any(length < 0 for length in shape):
                raise ValueError(
                    f"{value.name} has the shape {shape}: at most {MOST_ELEMENTS:,} elements are "
                    "made; pass inputs (--inputs)"
                )
            dtype = _dtype(kind.elem_type)
            if dtype.kind in "iu":
                name = value.name.lower()
                fixed = mask if "mask" in name else 0 if "type" in name else None
                array = random.integers(0, high, shape) if fixed is None else np.full(shape, fixed)
            elif dtype.kind == "b":
                array = np.ones(shape)
            else:
                array = random.standard_normal(shape)
            feeds[value.name] = array.astype(dtype)
        return feeds


def _bias(node: Any) -> str:
    """Return the name of the bias that an operator adds to its input; empty if it adds none."""
    biased = node.op_type in BIASED and node.domain == MICROSOFT and len(node.input) > 1
    return str(node.input[1]) if biased else ""


def _dtype(kind: int) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"an input has the element type {kind}, which is not a number") from None
    if dtype.kind not in "biufV":
        raise ValueError(f"an input has the element type {dtype}, which is not a number")
    return dtype


def decoded(replacements: Sequence[Sequence[Any]]) -> dict[int, Any]:
    """Return the graphs of a message by the number of their activation."""
    graphs = {}
    for index, text in replacements:
        graph = onnx.GraphProto()
        graph.ParseFromString(b64decode(text))
        graphs[int(index)] = graph
    return graphs


def graphs(graph: Any) -> Iterator[Any]:
    """Yield a graph and all graphs in the attributes of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from graphs(inner)


def tensors(graph: Any) -> Iterator[Any]:
    """Yield the tensors of a graph and of all graphs inside it."""
    for inner in graphs(graph):
        yield from inner.initializer
        for node in inner.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


class ValueUses:
    """How often each value of a model is computed and read, in all its graphs."""

    def __init__(self, graph: Any) -> None:
        self._computed: dict[str, int] = {}
        self.read: dict[str, int] = {}
        for inner in graphs(graph):
            for value in inner.output:
                self._count(self.read, value.name)
            for node in inner.node:
                for name in node.input:
                    self._count(self.read, name)
                for name in node.output:
                    self._count(self._computed, name)

    @staticmethod
    def _count(counts: dict[str, int], name: str) -> None:
        counts[name] = counts.get(name, 0) + 1

    def producers(self, name: str) -> int:
        """Return the number of nodes that compute a value."""
        return self._computed.get(name, 0)


class Editor:
    """Replaces parts of a model in place."""

    def __init__(self, model: Any, graph: OnnxGraph) -> None:
        self._model, self._graph = model, graph
        self._names = {
            name
            for inner in graphs(model.graph)
            for name in (
                *(tensor.name for tensor in inner.initializer),
                *(value.name for value in inner.input),
                *(name for node in inner.node for name in (node.name, *node.output)),
            )
        }
        self._new: dict[str, list[Any]] = {}
        """The nodes that replace the one that computes a value."""
        self._candidates: set[str] = set()
        """Values that may not be needed any more."""

    def replace(self, subgraph: Subgraph, graph: Any) -> str:
        """Compute the output of a part by a graph from `x` to `y`; return its operators."""
        old = self._graph.nodes(subgraph)
        path = self._graph.path(subgraph)
        start, end = self._graph.input_name(subgraph), str(subgraph.output)
        nodes = []
        bias = _bias(old[0])
        joined = bool(bias) and [n.domain for n in graph.node] == [MICROSOFT]
        if joined and graph.node[0].op_type == "Gelu":
            graph.node[0].op_type = "BiasGelu"
        joined = joined and graph.node[0].op_type in BIASED
        if bias and not joined:
            unbiased, start = start, self._fresh(f"{path}_biased")
            nodes.append(onnx.helper.make_node("Add", [unbiased, bias], [start], name=start))
        names = {"x": start, "y": end}
        for node in graph.node:
            new = type(node)()
            new.CopyFrom(node)
            new.input[:] = [names[name] for name in node.input]
            for i, name in enumerate(node.output):
                if name not in names:
                    names[name] = self._fresh(f"{path}_{name}")
                new.output[i] = names[name]
            new.name = path if new.output[0] == end else new.output[0]
            nodes.append(new)
        if joined:
            nodes[-1].input.append(bias)
        self._new[end] = nodes
        self._candidates |= {name for node in old for name in (*node.input, *node.output)} - {end}
        self._candidates -= {"", str(subgraph.input)}
        return ", ".join(node.op_type for node in nodes if node.op_type != "Constant")

    def _fresh(self, name: str) -> str:
        """Return a name that is not used in the model."""
        number, wanted = 1, name
        while wanted in self._names:
            number += 1
            wanted = f"{name}_{number}"
        self._names.add(wanted)
        return wanted

    def finish(self) -> None:
        """Write the new nodes, remove values that nothing needs, and set the versions."""
        for graph in graphs(self._model.graph):
            if any(name in self._new for node in graph.node for name in node.output):
                nodes = [
                    new
                    for node in graph.node
                    for new in next((self._new[n] for n in node.output if n in self._new), [node])
                ]
                del graph.node[:]
                graph.node.extend(nodes)
        while self._remove_unused():
            pass
        self._set_versions()

    def _remove_unused(self) -> bool:
        read = ValueUses(self._model.graph).read
        unused = {name for name in self._candidates if not read.get(name)}
        removed = False
        for graph in graphs(self._model.graph):
            inputs = {value.name for value in graph.input}
            for i in reversed(range(len(graph.node))):
                outputs = [name for name in graph.node[i].output if name]
                if outputs and all(name in unused for name in outputs):
                    self._candidates |= set(graph.node[i].input) - {""}
                    del graph.node[i]
                    removed = True
            for i in reversed(range(len(graph.initializer))):
                tensor = graph.initializer[i]
                if tensor.name in unused - inputs and prod(tensor.dims) == 1:
                    del graph.initializer[i]
                    removed = True
            for i in reversed(range(len(graph.value_info))):
                if graph.value_info[i].name in unused:
                    del graph.value_info[i]
        return removed

    def _set_versions(self) -> None:
        domains = {node.domain for graph in graphs(self._model.graph) for node in graph.node}
        imported = {opset.domain for opset in self._model.opset_import}
        if MICROSOFT in domains - imported:
            self._model.opset_import.append(onnx.helper.make_opsetid(MICROSOFT, 1))
        for i in reversed(range(len(self._model.opset_import))):
            if self._model.opset_import[i].domain in (imported & {MICROSOFT}) - domains:
                del self._model.opset_import[i]
        raise_ir_version(self._model)


def raise_ir_version(model: Any) -> None:
    """Set the version of the file format to the first one that has the model's opsets."""
    needed = onnx.helper.find_min_ir_version_for(list(model.opset_import), True)
    model.ir_version = max(model.ir_version, needed)


def converted(file: str, model: Any, opset: int) -> Any:
    """Return a model in a later opset, its weights unchanged; raise ValueError if it has none.

    If no operator changed, the number is all that changes; else onnx's converter is used.
    """
    if not _changed_operators(model, opset):
        new = type(model)()
        new.CopyFrom(model)
        for imported in new.opset_import:
            if imported.domain in ("", "ai.onnx"):
                imported.version = opset
        raise_ir_version(new)
        return new
    from onnx import version_converter

    try:
        new = version_converter.convert_version(model, opset)
    except Exception as error:
        raise ValueError(
            f"{file} cannot be converted to opset {opset}: {first_line(error)}; spell the "
            "activations as primitives or microsoft, or allow no later opset (--opset)"
        ) from None
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for tensor in new.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(weights[tensor.name])
    for prop in model.metadata_props:
        if prop.key not in {p.key for p in new.metadata_props}:
            new.metadata_props.append(prop)
    raise_ir_version(new)
    return new


def _changed_operators(model: Any, opset: int) -> bool:
    """Return whether an operator of a model is another one in a later opset."""
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    if not versions:
        raise ValueError("the model does not state the version of its operators")
    (now, *_) = versions
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.domain not in ("", "ai.onnx"):
                continue
            try:
                schemas = [onnx.defs.get_schema(node.op_type, v, "") for v in (now, opset)]
            except onnx.defs.SchemaError:
                return True
            if schemas[0].since_version != schemas[1].since_version:
                return True
    return False


def refusal(model: Any) -> str | None:
    """Return why onnx's checker refuses a model, or None."""
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # the checker raises its own and protobuf's exceptions
        return first_line(error)
    return None


def evaluate(model: Any, feeds: Arrays) -> Arrays:
    """Return the outputs of a model as it is written; raise ValueError if it cannot be run."""
    try:
        session = inference_session(model)
        values = session.run(None, feeds)
    except Exception as error:  # onnxruntime's exceptions have no common base class
        raise ValueError(f"onnxruntime cannot run the model: {first_line(error)}") from None
    names = [output.name for output in session.get_outputs()]
    return {
        name: np.asarray(value)
        for name, value in zip(names, values, strict=True)
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufV"
    }


def compared(inputs: str, before: Arrays, after: Arrays) -> list[Message]:
    """Return the difference of each output as a message."""
    rows = []
    for name, first in before.items():
        second = aligned(first, after[name]) if name in after else None
        if second is None:
            raise ValueError(f"the output {name} has another shape in the new model")
        apart = difference(first, second)
        rows.append({
            "inputs": inputs, "output": name, "shape": list(first.shape), "dtype": str(first.dtype),
            "max_difference": apart.max_difference, "relative": apart.relative, "ulps": apart.ulps,
        })  # fmt: skip
    return rows
