"""`parity`: where two models differ, which functions they compute, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_models
import small_onnx
import torch
from golden import check_csv, check_golden

import softgate as sg

ROUNDED = {"max_difference": 1e-4, "relative": 1e-4, "first": 1e-4, "second": 1e-4}
"""A framework's own functions differ in their last bits from CPU to CPU."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_onnx.write(tmp_path)
    sg.swap("pooled.onnx", {"gelu": "silu"}, output="other.onnx")
    return tmp_path


def test_two_modules_that_differ_in_one_function() -> None:
    model, x = small_models.pooled(), small_models.steps()
    before = model(x)
    record = sg.parity(model, small_models.pooled_tanh(), x)
    small_models.check_unchanged(model, before)
    check_golden("parity-torch", record.to_json(), measured=["ulps", "index"], close=ROUNDED)
    assert "different" in str(record)


class TwoOutputs(torch.nn.Module):
    """One output without and one with an activation."""

    def __init__(self, approximate: str) -> None:
        super().__init__()
        self.act = torch.nn.GELU(approximate)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return both."""
        return {"same": 2 * x, "changed": self.act(x)}


def test_one_output_of_two_differs() -> None:
    record = sg.parity(TwoOutputs("none"), TwoOutputs("tanh"), small_models.steps())
    assert not record.equal
    assert record.first_difference.other_function == "gelu_tanh"
    relative = {output.name: output.relative for output in record.outputs}
    assert relative["same"] == 0 < record.tolerance < relative["changed"]


def test_two_files(folder: Path, run_here: Callable[..., Any]) -> None:
    arguments = ("--inputs", "inputs.npz", "--strict")
    done = run_here("parity", "pooled.onnx", "other.onnx", *arguments, "--json", "-o", "rows.csv")
    assert done.returncode == 1
    check_golden("parity-onnx", done.stdout, measured=["ulps", "index"], close=ROUNDED)
    record = json.loads(done.stdout)
    rows = [
        {**row, **(row["difference"] or {}), "first": row["path"], "second": row["other_path"]}
        for row in record["activations"]
    ]
    rows += [
        row | row["difference"] | {"first": row["name"], "second": row["other"]}
        for row in record["outputs"]
    ]
    check_csv("rows.csv", rows)
    assert run_here("parity", "pooled.onnx", "other.onnx", *arguments[:2]).returncode == 0
    done = run_here("parity", "pooled.onnx", "pooled.onnx", *arguments)
    assert done.returncode == 0
    assert "equal" in done.stdout


def test_the_function_that_explains_expected_outputs() -> None:
    x = small_models.steps()
    expected = small_models.pooled_tanh()(x).detach().numpy()
    record = sg.parity(small_models.pooled(), inputs=x, expected=expected)
    best = json.loads(record.to_json())["variants"]
    assert any("gelu_tanh" in json.dumps(variant) for variant in best)
    assert "gelu_tanh" in str(record)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("pooled.onnx", "other.onnx"), "--inputs"),
        (("pooled.onnx", "nowhere.onnx", "--inputs", "inputs.npz"), "nowhere.onnx"),
        (("pooled.onnx", "other.onnx", "--inputs", "names.npz"), "tokens"),
        (("pooled.onnx", "other.onnx", "--inputs", "shapes.npz"), "x"),
    ],
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], named: str, folder: Path, run_here: Callable[..., Any]
) -> None:
    x = np.load("inputs.npz")["x"]
    np.savez("names.npz", tokens=x, mask=x)
    np.savez("shapes.npz", x=x[..., :3])
    done = run_here("parity", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stdout == ""
