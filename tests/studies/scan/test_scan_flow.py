"""`scan` where values flow through memory, branches, comparisons and many different functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgate as sg

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

X = torch.linspace(-2, 2, 16).reshape(2, 8)
LAYER = nn.Linear(8, 8)


class Calls(nn.Module):
    """A function of a tensor as a module."""

    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def rows_of_a_new_tensor(x: torch.Tensor) -> torch.Tensor:
    rows = torch.empty(2, 8)
    for i in range(2):
        rows[i] = LAYER(x[i])
    return F.gelu(rows)


def part_of_a_new_tensor(x: torch.Tensor) -> torch.Tensor:
    padded = torch.zeros(2, 12)
    padded[:, :8] = torch.tanh(LAYER(x))
    return F.gelu(padded)


def buffer(x: torch.Tensor) -> torch.Tensor:
    memory = torch.ones(2, 8)
    memory[:, 2:].copy_(LAYER(x)[:, 2:])
    return F.gelu(memory)


def parts_in_place(x: torch.Tensor) -> torch.Tensor:
    gates = LAYER(x)
    first, second = gates.chunk(2, -1)
    first.sigmoid_()
    second.tanh_()
    return gates


def view_in_place(x: torch.Tensor) -> torch.Tensor:
    h = LAYER(x)
    h.view(-1).relu_()
    return LAYER(h)


def out_argument(x: torch.Tensor) -> torch.Tensor:
    h = LAYER(x)
    result = torch.empty_like(h)
    torch.tanh(h, out=result)
    return LAYER(result)


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (rows_of_a_new_tensor, ["gelu"]),
        (part_of_a_new_tensor, ["tanh", "gelu"]),
        (buffer, ["gelu"]),
        (parts_in_place, ["sigmoid", "tanh"]),
        (view_in_place, ["relu"]),
        (out_argument, ["tanh"]),
        # A chain in place on a tensor whose views live on is one function.
        (lambda x: LAYER(x[None]).add_(3).clamp_(0, 6).div_(6), ["hard_sigmoid"]),
    ],
)
def test_what_is_written_to_memory_is_read_again(function: Any, found: list[str]) -> None:
    scan = sg.scan(Calls(function), data=(X,))
    assert [row.answer for row in scan.activations] == found
    assert scan.unlisted == ()


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x: torch.sigmoid(x).log(), ["sigmoid"]),
        (lambda x: (1 - torch.tanh(x) ** 2 + 1e-6).log(), ["tanh"]),
        (lambda x: torch.sigmoid(x) > 0.5, ["sigmoid"]),
        (nn.LSTMCell(8, 8), ["sigmoid", "tanh", "tanh"]),  # its state is 0
        (lambda x: x.clamp(min=1e-6).log(), []),  # a guard of the logarithm
        (lambda x: x > 0, []),
    ],
)
def test_activations_that_other_functions_follow(function: Any, found: list[str]) -> None:
    scan = sg.scan(Calls(function), data=(X,))
    assert [row.answer for row in scan.activations] == found
    assert scan.unlisted == ()


def test_as_many_different_slopes_as_large_models_have() -> None:
    slopes = torch.linspace(0.02, 0.9, 70)

    def layers(x: torch.Tensor) -> torch.Tensor:
        for slope in slopes:
            x = F.prelu(LAYER(x), slope.reshape(1))
        return x

    scan = sg.scan(Calls(layers), data=(X,))
    found = sorted(row.parameters["slope"] for row in scan.activations)
    assert found == pytest.approx(slopes.tolist(), abs=1e-6)
    assert scan.unlisted == ()


def test_functions_that_cannot_be_evaluated_are_named(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    text = """<ir_version: 10, opset_import: ["" : 20]>
        g (double[4, 8] x, double[8, 8] w) => (double[4, 8] y)
        <double[8, 8] v = {%s}>
        { e = Erf (x) t = Tanh (v) u = MatMul (e, t) y = MatMul (u, w) }"""
    file = tmp_path / "double.onnx"
    onnx.save(onnx.parser.parse_model(text % ", ".join(["1"] * 64)), file)
    scan = sg.scan(file)
    reasons = {o.operator: o.reason for o in scan.unlisted}
    assert "NOT_IMPLEMENTED" in reasons["Erf"]  # onnxruntime has no Erf of float64
    assert reasons["Tanh"] == "its inputs are constants"


def test_the_branch_that_runs_is_examined_and_the_other_one_is_named(
    tmp_path: Path, run_here: Any
) -> None:
    class Branches(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.cond(x.sum() > 0, torch.tanh, torch.sigmoid, (x,))

    exported = torch.export.export(Branches(), (X + 1,))
    scan = sg.scan(exported)
    assert [row.answer for row in scan.activations] == ["tanh"]
    assert "not examined: the second branch of torch.cond" in scan.notes[0]
    assert scan.closing == "All 1 activation operators that the model ran are listed."
    torch.export.save(exported, tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=X.numpy() - 1)
    done = run_here("scan", str(tmp_path / "m.pt2"), "--trust", "--data", str(tmp_path / "x.npz"))
    assert "1 sigmoid" in done.stdout
    assert "the first branch of torch.cond" in done.stdout


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_error_in_torchscript_names_its_cause(tmp_path: Path, run_here: Any) -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x.mean(1))

    torch.jit.script(Wide()).save(tmp_path / "m.pt")
    done = run_here("scan", str(tmp_path / "m.pt"), "--trust")
    assert done.returncode == 2
    assert "pass data=, --data" in done.stderr
    assert "cannot be multiplied" in done.stderr
