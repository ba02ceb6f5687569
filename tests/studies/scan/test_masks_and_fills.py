"""Masks that overflow are no activations; operands of one number, as zeros_like, are constants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

torch = pytest.importorskip("torch")
nn = torch.nn


class Applied(nn.Module):  # type: ignore[misc]
    """A function between two linear layers."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.before, self.after, self.function = nn.Linear(8, 8), nn.Linear(8, 8), function

    def forward(self, x: Any) -> Any:
        """Return the output for x, [batch, 8]."""
        return self.after(self.function(self.before(x)))


def found(model: Any) -> list[str]:
    return [activation.answer for activation in sg.scan(model).activations]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_mask_that_overflows_is_no_activation(dtype: Any) -> None:
    lowest = torch.finfo(dtype).min
    assert found(Applied(lambda x: (1 - x) * lowest).to(dtype)) == []
    assert found(Applied(lambda x: x * lowest).to(dtype)) == []


def test_mask_of_an_onnx_file_is_no_activation(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    text = """
        <ir_version: 9, opset_import: ["" : 17]>
        masked (float[N, S] mask, float[N, S] scores) => (float[N, S] y)
        <float one = {1}>
        {
            absent = Sub (one, mask)
            bias = Mul (absent, lowest)
            sum = Add (scores, bias)
            p = Softmax (sum)
            y = Relu (p)
        }
    """
    model = onnx.parser.parse_model(text)
    lowest = np.asarray(np.finfo(np.float32).min)
    model.graph.initializer.append(onnx.numpy_helper.from_array(lowest, "lowest"))
    onnx.save(model, tmp_path / "masked.onnx")
    assert found(tmp_path / "masked.onnx") == ["relu"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: torch.maximum(x, torch.zeros_like(x)), "relu"),
        (lambda x: torch.maximum(x, torch.zeros(x.shape)), "relu"),
        (lambda x: torch.maximum(x, x.new_zeros(x.shape)), "relu"),
        (lambda x: torch.where(x > 0, x, torch.zeros_like(x)), "relu"),
        (lambda x: torch.where(x > 0, x, torch.exp(x) - torch.ones_like(x)), "elu"),
        (lambda x: torch.maximum(x, x * torch.full_like(x, 0.25)), "leaky_relu(slope=0.25)"),
    ],
)
def test_operand_of_one_number_is_a_constant(function: Callable[[Any], Any], expected: str) -> None:
    assert found(Applied(function)) == [expected]


def first_half(x: Any) -> Any:
    buffer = torch.zeros_like(x)
    buffer[:, :4] = x[:, :4]
    return buffer


def shifted(x: Any) -> Any:
    buffer = torch.zeros_like(x)
    buffer[0] = 3.0
    return buffer


def test_buffer_that_is_written_to_is_no_constant() -> None:
    assert found(Applied(lambda x: nn.functional.gelu(first_half(x)))) == ["gelu"]
    assert found(Applied(lambda x: torch.maximum(x, shifted(x)))) == []
    assert found(Applied(lambda x: torch.maximum(x, torch.zeros_like(x).copy_(x + x)))) == []
