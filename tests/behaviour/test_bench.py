"""`bench`: the code that was passed is timed, in the units and relations that the record states."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden import check_csv, check_golden

import softgate as sg

WAIT_S = 0.002
COUNT = 1024
CODE = f"""
import time
import numpy as np


def waits(x):
    end = time.perf_counter() + {WAIT_S}
    while time.perf_counter() < end:
        pass
    return x / (1 + np.exp(-x))


def raises(x):
    if x.size == {COUNT}:
        raise KeyError("seven")
    return np.maximum(x, 0)
"""
MEASURED = (
    "machine", "when", "seconds", "background_load", "least_ns", "median_ns", "spread",
    "relative_uncertainty", "calls", "first_call_ms", "ratio_to_copy", "ratio_to_relu",
    "ratio_to_softgate",
)  # fmt: skip
QUICK = ("--peers", "none", "--size", str(COUNT), "--quantity", "value", "--budget", "0.1")


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "timed_code.py").write_text(CODE, encoding="utf-8")
    return "timed_code.py"


def test_the_record_and_its_units(code: str, run_here: Callable[..., Any]) -> None:
    done = run_here("bench", f"{code}:waits", *QUICK, "--json", "-o", "times.csv")
    assert done.returncode == 0
    record = json.loads(done.stdout)
    assert all(isinstance(text, str) for text in record.pop("warnings"))  # on the machine's noise
    check_golden("bench-waits", record, measured=MEASURED)
    seconds = record["seconds"]
    rows = {row["function"]: row for row in record["rows"]}
    mine, silu = rows[f"{code}:waits"], rows["silu"]
    # a call waits WAIT_S, and all calls together take less time than the study
    assert mine["least_ns"] * COUNT >= WAIT_S * 1e9
    assert mine["first_call_ms"] >= WAIT_S * 1e3
    for row in record["rows"]:
        assert 0 < row["least_ns"] <= row["median_ns"]
        assert row["least_ns"] * row["count"] * row["calls"] <= seconds * 1e9
        assert 0 < row["first_call_ms"] <= seconds * 1e3
        assert row["spread"] == pytest.approx(row["median_ns"] / row["least_ns"] - 1)
        for name, other in (("copy", "copy"), ("relu", "relu")):
            ratio = row["least_ns"] / rows[other]["least_ns"]
            assert row[f"ratio_to_{name}"] == pytest.approx(ratio)
    assert mine["ratio_to_softgate"] == pytest.approx(mine["least_ns"] / silu["least_ns"])
    check_csv("times.csv", record["rows"])


def test_an_error_of_the_code_is_in_its_row(code: str, run_here: Callable[..., Any]) -> None:
    done = run_here("bench", f"{code}:raises", *QUICK, "--json")
    rows = {row["function"]: row for row in json.loads(done.stdout)["rows"]}
    assert "seven" in rows[f"{code}:raises"]["error"]
    assert rows[f"{code}:raises"]["least_ns"] is None
    assert rows["relu"]["least_ns"] > 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("gelv",), "gelv"),
        (("gelu", "--size", "0"), "0"),
        (("gelu", "--quantity", "sloppe"), "sloppe"),
        (("gelu", "--baseline", "none.json"), "none.json"),
        (("swiglu",), "swiglu"),
    ],
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], named: str, code: str, run_here: Callable[..., Any]
) -> None:
    done = run_here("bench", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stdout == ""


def test_a_baseline_decides_the_exit_code(code: str, run_here: Callable[..., Any]) -> None:
    assert run_here("bench", "relu", *QUICK, "-o", "now.json").returncode == 0
    now = json.loads(Path("now.json").read_text(encoding="utf-8"))
    for factor, slower in (
        (1e3, 0),
        (1e-3, 1),
    ):  # the older times, a thousand times longer, shorter
        older = json.loads(json.dumps(now))
        for row in older["rows"]:
            for field in ("least_ns", "median_ns"):
                row[field] *= factor
        Path("then.json").write_text(json.dumps(older), encoding="utf-8")
        done = run_here("bench", "--baseline", "then.json", "--tolerance", "1")
        assert done.returncode == slower
        assert ("relu" in done.stderr) == bool(slower)


def test_results_of_what_is_timed_are_those_of_the_function() -> None:
    """PyTorch's results are compared with softgate's, and a row notes a difference."""
    pytest.importorskip("torch", reason="times functions of PyTorch")
    record = sg.bench("gelu", peers="torch", dtype="float32", size=str(COUNT), budget=0.05)
    rows = [row for row in record if row.implementation == "torch"]
    assert {(row.function, row.quantity) for row in rows} == {
        (function, quantity) for function in ("gelu", "relu") for quantity in ("value", "backward")
    }
    assert not [row.notes for row in rows if any("differs" in note for note in row.notes)]


TORCH_CODE = """
import os
import torch

FILE = os.open("calls", os.O_CREAT | os.O_APPEND | os.O_WRONLY)


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        os.write(FILE, b"b")
        (x,) = ctx.saved_tensors
        return grad * (x > 0)


def counted(x):
    return Counted.apply(x)
"""


def test_the_gradient_is_that_of_autograd(code: str) -> None:
    pytest.importorskip("torch", reason="times functions of PyTorch")
    Path("torch_code.py").write_text(TORCH_CODE, encoding="utf-8")
    record = sg.bench("torch_code.py:counted", peers="none", size=str(COUNT), budget=0.05)
    mine = {row.quantity: row for row in record if row.implementation == "torch"}
    assert set(mine) == {"value", "backward"}
    assert all(row.least_ns > 0 and row.same_as == "relu" for row in mine.values())
    assert len(Path("calls").read_bytes()) >= mine["backward"].calls
