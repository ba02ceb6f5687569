"""`certify`: records, exit codes and files, for kernels of softgate and code of the user."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden import check_csv, check_golden

import softgate as sg

UNIX = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
MACHINE = ("versions", "machine")
CODE = """
import os
import signal

import numpy as np
from math import erfc


def right(x):
    y = [-0.0 if t < -1e3 else t * 0.5 * erfc(-t / 2**0.5) for t in x.astype(float).tolist()]
    return np.array(y).astype(x.dtype)


def tail_lost(x):
    y = right(x)
    y[x < -5] = 0
    return y


def fails(x):
    raise KeyError("seven")


def dies(x):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "certified_code.py"
    file.write_text(CODE, encoding="utf-8")
    return file


def test_the_record_of_a_kernel(run_here: Callable[..., Any]) -> None:
    done = run_here(
        "certify", "softgate:gelu", "--dtype", "float32,bfloat16", "--quantity", "value,slope",
        "--samples", "2000", "--json",
    )  # fmt: skip
    assert done.returncode == 0
    check_golden("certify-gelu", done.stdout, measured=MACHINE, counted=["profile"])


def test_errors_are_those_that_points_show(code: Path) -> None:
    record = sg.certify(
        f"{code}:tail_lost", "gelu", dtype="float32", quantity="value", samples=1000
    )
    (measurement,) = record.measurements
    regions = {region.name: region for region in measurement.regions}
    assert regions["left tail"].lost > 0  # results that are 0 where gelu is a normal number
    assert regions["left tail"].max_ulp > 1e6
    assert regions["positive"].max_ulp <= 0.5 + measurement.margin_ulp
    assert regions["positive"].lost == 0


@pytest.mark.parametrize(
    ("function", "limit", "code_of_exit", "named"),
    [
        ("right", "0.6", 0, ""),
        ("tail_lost", "4", 1, "left tail"),
        ("fails", "4", 2, "seven"),
        ("missing", "4", 2, "missing"),
        pytest.param("dies", "4", 1, "SIGKILL", marks=UNIX),
    ],
)
def test_exit_codes(
    function: str,
    limit: str,
    code_of_exit: int,
    named: str,
    code: Path,
    run_here: Callable[..., Any],
) -> None:
    done = run_here(
        "certify", f"{code}:{function}", "--reference", "gelu", "--dtype", "float32",
        "--quantity", "value", "--samples", "1000", "--max-ulp", limit,
    )  # fmt: skip
    assert done.returncode == code_of_exit
    assert named in done.stderr


def test_a_baseline_is_a_limit(code: Path, run_here: Callable[..., Any]) -> None:
    options = (
        "--reference", "gelu", "--dtype", "float32", "--quantity", "value", "--samples", "1000",
    )  # fmt: skip
    done = run_here("certify", f"{code}:right", *options, "-o", "before.json", "-o", "before.csv")
    assert done.returncode == 0
    before = json.loads(Path("before.json").read_text(encoding="utf-8"))
    assert before["schema"] == "softgate.certificate"
    check_csv("before.csv", before["measurements"][0]["regions"])
    done = run_here("certify", f"{code}:right", *options, "--baseline", "before.json")
    assert done.returncode == 0
    done = run_here("certify", f"{code}:tail_lost", *options, "--baseline", "before.json")
    assert done.returncode == 1
    assert "left tail" in done.stderr
