"""`swap`: files and modules with other activations, which run and compute what was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import small_models
import small_onnx
import torch
from golden import check_csv, check_golden

import softgate as sg
import softgate.torch as st


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_onnx.write(tmp_path)
    return tmp_path


def outputs(file: str) -> Any:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.load("inputs.npz")["x"]})[0]


def test_one_function_of_a_file(folder: Path, run_here: Callable[..., Any]) -> None:
    before = Path("pooled.onnx").read_bytes()
    done = run_here(
        "swap", "pooled.onnx", "--from", "gelu", "--to", "silu", "--inputs", "inputs.npz", "-o",
        "new.onnx", "--json", "-o", "rows.csv",
    )  # fmt: skip
    assert done.returncode == 0
    check_golden(
        "swap-onnx",
        done.stdout,
        measured=["ulps"],
        close={"max_difference": 1e-4, "relative": 1e-4},
    )
    check_csv("rows.csv", json.loads(done.stdout)["swapped"])
    assert Path("pooled.onnx").read_bytes() == before
    functions = [row.function for row in sg.scan("new.onnx").activations]
    assert functions == ["silu", "gelu_tanh", "relu", "sigmoid", "relu6"]
    h = np.load("inputs.npz")["x"].astype(float) @ small_onnx.eighths(4, 8, seed=0)
    mean = (h / (1 + np.exp(-h))).mean(1)
    h2 = mean @ small_onnx.eighths(8, 8, seed=1)
    act2 = 0.5 * h2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (h2 + 0.044715 * h2**3)))
    expected = np.maximum(act2, 0) if act2.sum() > 0 else 1 / (1 + np.exp(-act2))
    np.testing.assert_allclose(outputs("new.onnx"), np.clip(expected, 0, 6), atol=1e-5)


def test_every_site_of_a_file(folder: Path) -> None:
    replacements = {"sigmoid": "tanh", "gelu_tanh": "silu", "gelu": "silu"}
    sg.swap("pooled.onnx", replacements, output="a.onnx")
    functions = [row.function for row in sg.scan("a.onnx").activations]
    assert functions == ["silu", "silu", "relu", "tanh", "relu6"]
    sg.swap("a.onnx", {"silu": "relu"}, output="b.onnx")
    functions = [row.function for row in sg.scan("b.onnx").activations]
    assert functions == ["relu", "relu", "relu", "tanh", "relu6"]
    h = np.load("inputs.npz")["x"].astype(float) @ small_onnx.eighths(4, 8, seed=0)
    h2 = np.maximum(np.maximum(h, 0).mean(1) @ small_onnx.eighths(8, 8, seed=1), 0)
    np.testing.assert_allclose(outputs("b.onnx"), np.minimum(h2, 6), atol=1e-5)


def test_the_same_functions_in_other_operators(folder: Path, run_here: Callable[..., Any]) -> None:
    done = run_here("swap", "pooled.onnx", "--spell", "primitives", "-o", "new.onnx")
    assert done.returncode == 0
    np.testing.assert_allclose(outputs("new.onnx"), outputs("pooled.onnx"), atol=1e-5)
    functions = [row.function for row in sg.scan("new.onnx").activations]
    assert functions == [row.function for row in sg.scan("pooled.onnx").activations]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--to", "silu"), "gelu"),  # which of the functions?
        (("--from", "mish", "--to", "silu"), "mish"),
        (("--from", "gelu", "--to", "silv"), "silv"),
        (("--from", "gelu", "--to", "silu", "--inputs", "nowhere.npz"), "nowhere.npz"),
        (("--from", "gelu", "--to", "silu", "-o", "new.txt"), "new.txt"),
    ],
)
def test_mistakes_write_nothing(
    arguments: tuple[str, ...], named: str, folder: Path, run_here: Callable[..., Any]
) -> None:
    output = () if "-o" in arguments else ("-o", "new.onnx")
    done = run_here("swap", "pooled.onnx", *arguments, *output)
    assert done.returncode == 2
    assert named in done.stderr
    assert {file.name for file in folder.iterdir()} == {"pooled.onnx", "inputs.npz"}


def test_a_model_is_never_overwritten(folder: Path, run_here: Callable[..., Any]) -> None:
    before = Path("pooled.onnx").read_bytes()
    arguments = ("--from", "gelu", "--to", "silu", "-o", "pooled.onnx")
    assert run_here("swap", "pooled.onnx", *arguments).returncode == 2
    assert Path("pooled.onnx").read_bytes() == before


def test_a_module_and_back() -> None:
    model, x = small_models.pooled(), small_models.steps()
    before = model(x)
    record = st.swap(model, {"gelu": "gelu_tanh"})
    check_golden("swap-torch", record.to_json())
    np.testing.assert_allclose(model(x).detach(), small_models.pooled_tanh()(x).detach(), atol=1e-6)
    assert not torch.equal(model(x), before)
    record.undo()
    assert torch.equal(model(x), before)


def test_every_site_of_a_module() -> None:
    model, x = small_models.dead(), next(small_models.batches())
    model.append(torch.nn.ReLU())
    expected = small_models.dead()
    expected[1] = expected[3] = torch.nn.SiLU()
    record = st.swap(model, {"relu": "silu", "gelu": "silu"})
    assert [(part.path, part.after) for part in record.swapped] == [
        ("1", "silu"), ("3", "silu"), ("5", "silu"),
    ]  # fmt: skip
    assert [row.function for row in sg.scan(model, data=x).activations] == ["silu"] * 3
    wanted = torch.nn.functional.silu(expected(x)).detach()
    np.testing.assert_allclose(model(x).detach(), wanted, atol=1e-5)


def test_what_was_asked_for_is_checked(folder: Path) -> None:
    with pytest.raises(ValueError, match="mish"):
        st.swap(small_models.pooled(), {"mish": "silu"})
    model = small_models.pooled()
    state = json.dumps({name: tuple(p.shape) for name, p in model.named_parameters()})
    with pytest.raises(ValueError, match="sigmoid"):  # an expression in the forward
        st.swap(model)
    record = st.swap(model, partial=True)  # softgate's versions of the others
    assert [part.after for part in record.swapped] == ["gelu", "relu6"]
    assert [part.function for part in record.unswapped] == ["sigmoid"]
    assert json.dumps({name: tuple(p.shape) for name, p in model.named_parameters()}) == state
    np.testing.assert_allclose(
        model(small_models.steps()).detach(),
        small_models.pooled()(small_models.steps()).detach(),
        rtol=1e-5,
        atol=1e-6,
    )


def test_a_file_that_is_not_written_is_an_error(folder: Path, run_here: Callable[..., Any]) -> None:
    lstm = onnx.helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], hidden_size=4)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [lstm],
        "g",
        [value("x", 1, [2, 3, 4]), value("w", 1, [1, 16, 4]), value("r", 1, [1, 16, 4])],
        [value("y", 1, [1, 3, 4])],
    )
    opsets = [onnx.helper.make_opsetid("", 20)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), "lstm.onnx")
    arguments = ("swap", "lstm.onnx", "--from", "tanh", "--to", "relu", "-o", "new.onnx")
    done = run_here(*arguments)
    assert done.returncode == 2
    assert "--partial" in done.stderr
    done = run_here(*arguments, "--partial")
    assert done.returncode == 1
    assert "new.onnx is not written" in done.stderr
    assert not Path("new.onnx").exists()
    text = run_here("swap", "lstm.onnx", "--spell", "primitives").stdout
    assert "it is computed inside LSTM" in text
    assert "already written so" not in text


def test_a_replacement_keeps_its_scale_before_another_activation(folder: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]> g (float[4] x) => (float[4] y)
        { r = Relu (x) t = Tanh (r) y = Sigmoid (t) }"""
    onnx.save(onnx.parser.parse_model(text), "chain.onnx")
    sg.swap("chain.onnx", {"tanh": "squareplus"}, output="new.onnx")
    found = [row.answer for row in sg.scan("new.onnx").activations]
    assert found == ["relu", "squareplus", "sigmoid"]
