"""A small ONNX file whose weights are multiples of 1/8: a written-out GELU, a mean, a branch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, numpy_helper, parser, save

TEXT = """
<ir_version: 9, opset_import: ["" : 20]>
pooled (float[N, S, 4] x) => (float[N, 8] y)
<float root = {1.4142135381698608}, float one = {1}, float half = {0.5}, int64[1] steps = {1}>
{
    h = MatMul (x, w1)
    scaled = Div (h, root)
    tail = Erf (scaled)
    gate = Add (tail, one)
    product = Mul (h, gate)
    act = Mul (product, half)
    mean = ReduceMean <keepdims = 0> (act, steps)
    h2 = MatMul (mean, w2)
    act2 = Gelu <approximate = "tanh"> (h2)
    total = ReduceSum <keepdims = 0> (act2)
    zero = Constant <value_float = 0.0> ()
    positive = Greater (total, zero)
    z = If (positive) <
        then_branch = then_graph () => (float[N, 8] a) { a = Relu (act2) },
        else_branch = else_graph () => (float[N, 8] b) { b = Sigmoid (act2) }
    >
    y = Clip (z, zero, six)
}
"""


def eighths(*shape: int, seed: int, size: int = 8) -> npt.NDArray[np.float32]:
    """Return multiples of 1/8 from -size/8 to size/8."""
    integers = np.random.default_rng(seed).integers(-size, size + 1, shape)
    return (integers / 8).astype(np.float32)


def pooled() -> ModelProto:
    """Return the model."""
    model: ModelProto = parser.parse_model(TEXT)
    arrays: dict[str, Any] = {
        "w1": eighths(4, 8, seed=0), "w2": eighths(8, 8, seed=1), "six": np.float32(6),
    }  # fmt: skip
    for name, array in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return model


def write(folder: Path) -> Path:
    """Write the model to pooled.onnx, and inputs to inputs.npz."""
    file = folder / "pooled.onnx"
    save(pooled(), file)
    np.savez(folder / "inputs.npz", x=eighths(2, 3, 4, seed=7, size=16))
    return file
