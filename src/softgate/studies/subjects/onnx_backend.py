"""ONNX models with one input and one output, run by onnxruntime on the CPU.

A model may have a fixed shape: free dimensions take the elements, fixed ones are padded, and a
model whose dimensions are all fixed is run several times.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import onnxruntime

from softgate.records.text import first_line

from .backends import Array, SubjectBackend
from .description import InvalidSubjectError

TYPES = {"tensor(float16)": "float16", "tensor(float)": "float32", "tensor(double)": "float64"}

USE_SCAN = "`softgate scan` lists the activations inside a model."


class OnnxBackend(SubjectBackend):
    """A model file."""

    framework = "onnxruntime"
    packages = ("onnxruntime", "numpy")
    strides = False

    def __init__(self, file: str, node: str = "") -> None:
        model = alone(file, node) if node else file
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's exceptions have no common base class
            reason = first_line(error)
            raise InvalidSubjectError(
                f"{file} is not a model that onnxruntime can run: {reason}"
            ) from None
        inputs, outputs = self.session.get_inputs(), self.session.get_outputs()
        if (len(inputs), len(outputs)) != (1, 1):
            raise InvalidSubjectError(
                f"{file} has {len(inputs)} inputs and {len(outputs)} outputs: expected 1 of each. "
                f"{USE_SCAN}"
            )
        self.input, self.output = inputs[0].name, outputs[0].name
        if inputs[0].type not in TYPES:
            raise InvalidSubjectError(
                f"{file} takes a {inputs[0].type}: expected one of {', '.join(TYPES)}. {USE_SCAN}"
            )
        self.dtypes = (TYPES[inputs[0].type],)
        self.shape = list(inputs[0].shape)
        if any(isinstance(size, int) and size < 1 for size in self.shape):
            raise InvalidSubjectError(
                f"{file} takes an input of shape {self.shape}: expected sizes above 0"
            )
        self.lengths = not all(isinstance(size, int) for size in self.shape)

    def call(self, quantity: str, x: Array) -> Any:
        """Return the model's output for the elements of `x`."""
        fixed = prod(size for size in self.shape if isinstance(size, int))
        free = [i for i, size in enumerate(self.shape) if not isinstance(size, int)]
        count, shape = x.size, x.shape
        x = x.ravel()
        if count % fixed:
            x = np.concatenate([x, np.ones(-count % fixed, x.dtype)])
        rows = x.reshape(1, -1) if free else x.reshape(-1, fixed)
        parts = [self._run(row, fixed, free) for row in rows]
        if not parts:  # a model of fixed shape takes no empty array: see `lengths`
            return x
        if any(part.size != row.size for part, row in zip(parts, rows, strict=True)):
            return parts[0]  # a wrong shape
        return np.concatenate([part.ravel() for part in parts])[:count].reshape(shape)

    def _run(self, row: Array, fixed: int, free: list[int]) -> Array:
        shape = [size if isinstance(size, int) else 1 for size in self.shape]
        if free:
            shape[free[0]] = row.size // fixed
        (result,) = self.session.run([self.output], {self.input: row.reshape(shape)})
        return np.asarray(result)


def alone(file: str, name: str) -> bytes:
    """Return a model of one node of a file, with its constants, from one input to one output."""
    import onnx
    from onnx import helper

    try:
        model = onnx.load(file)
    except Exception as error:  # protobuf's exceptions have no common base class
        raise InvalidSubjectError(f"{file} is not an ONNX model: {first_line(error)}") from None
    named = {node.name or node.output[0]: node for node in model.graph.node}
    if name not in named:
        shown = ", ".join(list(named)[:20])
        raise InvalidSubjectError(f"{file} has no node {name!r}: it has {shown}")
    node = named[name]
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    constants |= {
        other.output[0]: _constant(other)
        for other in model.graph.node
        if other.op_type == "Constant" and other.output[0] in node.input
    }
    free = [name for name in node.input if name and name not in constants]
    if (len(free), len(node.output)) != (1, 1):
        raise InvalidSubjectError(
            f"{file}: the node {name!r} has {len(free)} inputs and {len(node.output)} outputs: "
            "expected one of each"
        )
    kind = _element_type(model, free[0])
    operands = (free[0], node.output[0])
    source, result = (helper.make_tensor_value_info(name, kind, ["n"]) for name in operands)
    initializers = [constants[name] for name in node.input if name in constants]
    graph = helper.make_graph([node], "node", [source], [result], initializers)
    single = helper.make_model(
        graph, opset_imports=model.opset_import, functions=list(model.functions)
    )
    single.ir_version = model.ir_version
    content: bytes = single.SerializeToString()
    return content


def _constant(node: Any) -> Any:
    """Return the tensor of a Constant node under the name of its output."""
    from onnx import helper, numpy_helper

    value = helper.get_attribute_value(node.attribute[0])
    tensor = value if hasattr(value, "data_type") else numpy_helper.from_array(np.asarray(value))
    tensor.name = node.output[0]
    return tensor


def _element_type(model: Any, name: str) -> int:
    """Return the element type of a value inside a model, as onnx infers it."""
    import onnx

    inferred = onnx.shape_inference.infer_shapes(model).graph
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        if value.name == name and value.type.tensor_type.elem_type:
            return int(value.type.tensor_type.elem_type)
    return int(onnx.TensorProto.FLOAT)
