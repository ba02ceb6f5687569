"""The closing line of a scan: each activation operator of an ONNX file is in a row or is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import softgate as sg

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

HEAD = '<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1, "local" : 1]>'


def save(file: Path, body: str, constants: str = "", functions: str = "") -> Path:
    """Write a model of x and w, float[4, 8], to y; `body` is in the syntax of onnx.parser."""
    text = f"{HEAD} g (float[4, 8] x, float[4, 8] w) => (float[4, 8] y) <{constants}> {{ {body} }}"
    onnx.save(onnx.parser.parse_model(text + functions), file)
    return file


def sum_of_rows(scan: Any) -> int:
    rows = sum(row.counted for row in (*scan.activations, *scan.unidentified))
    return rows + sum(operator.count for operator in scan.unlisted)


def test_a_model_whose_operators_are_all_listed(tmp_path: Path, run_here: Any) -> None:
    file = save(tmp_path / "m.onnx", "s = Sigmoid(x) m = Mul(x, s) t = Tanh(m) y = MatMul(t, w)")
    done = run_here("scan", str(file))
    assert done.stdout.splitlines()[-1] == "All 2 activation operators of the model are listed."
    scan = sg.scan(file)
    assert [(row.answer, row.counted) for row in scan.activations] == [("silu", 1), ("tanh", 1)]
    assert scan.operators == 2
    assert scan.unlisted == ()


def test_operators_that_are_not_listed_are_named_with_reasons(
    tmp_path: Path, run_here: Any
) -> None:
    body = """
        [limits] hi = ReduceMax (x)
        [clipped] c = Clip (x, zero, hi)
        [dead] d = Relu (x)
        [slopes] p = PRelu (c, alpha)
        [shape] k = Shape (x)
        [whole] i = Clip (k, one)
        [root] r = Tanh (zero)
        [linear] l = Clip (p, low, high)
        v = Reshape (w, i)
        h = MatMul (l, v)
        q = Add (h, r)
        [act] e = Elu (q)
        y = MatMul (e, w)
    """
    constants = (
        "float zero = {0}, float[8] alpha = {0, 1, 2, 3, 4, 5, 6, 7}, int64 one = {1}, "
        "float low = {-1e9}, float high = {1e9}"
    )
    file = save(tmp_path / "m.onnx", body, constants)
    scan = sg.scan(file)
    assert scan.counts == {"elu": 1}
    assert (scan.operators, sum_of_rows(scan)) == (7, 7)
    assert {o.path: (o.operator, o.count, o.reason) for o in scan.unlisted} == {
        "clipped": ("Clip", 1, "an input besides its argument is not a scalar constant"),
        "dead": ("Relu", 1, "its result is not used"),
        "slopes": ("PRelu", 1, "it has several slopes, which no function of one value has"),
        "whole": ("Clip", 1, "its argument is not a floating-point number of 16 to 64 bits"),
        "root": ("Tanh", 1, "its inputs are constants"),
        "linear": ("Clip", 1, "it is linear or constant between -4 and 4"),
    }
    done = run_here("scan", str(file), "-o", str(tmp_path / "scan.csv"))
    assert done.returncode == 0
    assert "6 of 7 activation operators of the model are not listed:" in done.stdout
    assert "  1 Relu (dead), because its result is not used" in done.stdout
    assert "its result is not used" in (tmp_path / "scan.csv").read_text()
    assert type(scan).from_json(scan.to_json()) == scan


def test_local_functions_are_counted_once_for_each_call(tmp_path: Path) -> None:
    twice = '<domain: "local", opset_import: ["" : 20, "local" : 1]> Twice (a) => (b) '
    twice += "{ c = local.Act(a) b = local.Act(c) }"
    act = '<domain: "local", opset_import: ["" : 20]> Act (a) => (b) { d = Relu(a) b = Tanh(a) }'
    file = save(tmp_path / "m.onnx", "t = local.Twice(x) y = local.Act(t)", functions=twice + act)
    scan = sg.scan(file)
    assert scan.counts == {"tanh": 3}
    assert (scan.operators, sum_of_rows(scan)) == (6, 6)
    assert [(o.operator, o.count) for o in scan.unlisted] == [("Relu", 3)]


def test_an_operator_of_another_domain_is_named(tmp_path: Path) -> None:
    scan = sg.scan(save(tmp_path / "m.onnx", "t = local.Mish(x) y = Relu(t)"))
    (left,) = scan.unlisted
    assert (left.operator, left.reason) == ("Mish", "scan does not evaluate Mish of local")
