"""Count the entries in which onnxruntime's 8-bit activations differ from `sg.quantized`.

    python tools/docs/quantized_table.py

Prints a table and writes it into docs/guide.md. Each form is run on all 256 inputs of int8 and
uint8, with several scales and zero points; the true table is the exact function, rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import readme_blocks
from onnx import TensorProto, helper

import softgate as sg
from softgate.studies.quantized import Quantized

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide.md"
SCALES = 25
"""Pairs of scales and zero points for each function and dtype."""


@dataclass(frozen=True)
class Form:
    """A way in which onnxruntime computes an activation of 8-bit integers."""

    function: str
    operator: str
    domain: str = ""
    attributes: tuple[tuple[str, Any], ...] = ()
    linear: bool = False
    """Whether the operator takes scales and zero points itself (QLinear…)."""

    @property
    def label(self) -> str:
        """How the table names it."""
        if self.linear:
            return f"{self.domain}.{self.operator}"
        return f"DequantizeLinear → {self.operator} → QuantizeLinear"


FORMS = (
    Form("gelu", "Gelu"),
    Form("gelu_tanh", "Gelu", attributes=(("approximate", "tanh"),)),
    Form("sigmoid", "Sigmoid"),
    Form("sigmoid", "QLinearSigmoid", "com.microsoft", linear=True),
    Form("leaky_relu", "LeakyRelu", attributes=(("alpha", 0.01),)),
    Form("leaky_relu", "QLinearLeakyRelu", "com.microsoft", (("alpha", 0.01),), linear=True),
    Form("tanh", "Tanh"),
    Form("mish", "Mish"),
    Form("hard_swish", "HardSwish"),
    Form("softplus", "Softplus"),
)


def model(form: Form, dtype: str, scales: tuple[Any, ...]) -> bytes:
    """Return a model from 256 integers to 256 integers."""
    kind = TensorProto.INT8 if dtype == "int8" else TensorProto.UINT8
    names = ("in_scale", "in_zero", "out_scale", "out_zero")
    constants = [
        helper.make_tensor(name, kind if "zero" in name else TensorProto.FLOAT, [], [value])
        for name, value in zip(names, scales, strict=True)
    ]
    attributes = dict(form.attributes)
    if form.linear:
        nodes = [
            helper.make_node(form.operator, ["x", *names], ["y"], domain=form.domain, **attributes)
        ]
    else:
        nodes = [
            helper.make_node("DequantizeLinear", ["x", *names[:2]], ["real"]),
            helper.make_node(form.operator, ["real"], ["result"], **attributes),
            helper.make_node("QuantizeLinear", ["result", *names[2:]], ["y"]),
        ]
    ends = [helper.make_tensor_value_info(name, kind, [256]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, form.operator, ends[:1], ends[1:], constants)
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    onnx.checker.check_model(made)
    content: bytes = made.SerializeToString()
    return content


def run(form: Form, dtype: str, scales: tuple[Any, ...]) -> Any:
    """Return onnxruntime's results at all 256 inputs, in order."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    content = model(form, dtype, scales)
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    limits = np.iinfo(dtype)
    x = np.arange(limits.min, limits.max + 1).astype(dtype)
    return session.run(["y"], {"x": x})[0]


def cases(function: str, count: int = SCALES) -> Iterator[tuple[str, tuple[Any, ...], Quantized]]:
    """Yield dtypes, scales and zero points, and the exact table; the same ones in every run."""
    rng = np.random.default_rng(8)
    activation = sg.activations()[function]
    for i in range(count):
        dtype = ("int8", "uint8")[i % 2]
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        in_scale = float(np.float32(rng.uniform(0.01, 0.1)))
        in_zero = int(rng.integers(low, high + 1))
        x = in_scale * (np.array([low, high]) - in_zero)
        values = activation(np.linspace(*x, 256))
        least, most = min(0.0, float(values.min())), max(0.0, float(values.max()))
        out_scale = float(np.float32((most - least) / 255))
        out_zero = min(max(round(low - least / out_scale), low), high)
        scales = (in_scale, in_zero, out_scale, out_zero)
        yield dtype, scales, sg.quantized(activation, *scales, dtype=dtype)


def counts(form: Form, tables: Any) -> tuple[int, int, int]:
    """Return the entries compared, those that differ, and the largest difference in steps."""
    total = differ = largest = 0
    for dtype, scales, exact in tables:
        differences = np.abs(run(form, dtype, scales).astype(int) - np.array(exact.entries))
        total += differences.size
        differ += int((differences > 0).sum())
        largest = max(largest, int(differences.max()))
    return total, differ, largest


def main() -> None:
    """Print the table and write it into the guide."""
    tables = {form.function: list(cases(form.function)) for form in FORMS}
    rows = []
    for form in FORMS:
        total, differ, largest = counts(form, tables[form.function])
        rows.append((form.function, form.label, f"{differ:,} of {total:,}", str(largest)))
    header = ("function", "onnxruntime", "entries that differ", "largest difference, steps")
    text = readme_blocks.table(header, rows)
    text += (
        f"\n\nonnxruntime {onnxruntime.__version__}, {SCALES} pairs of scales for each function."
    )
    print(text)
    readme_blocks.replace("quantized", text, GUIDE)


if __name__ == "__main__":
    main()
