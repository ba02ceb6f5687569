"""`identify`: the function, its parameters and what is no activation, by commands and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import check_csv, check_golden

import softgate as sg

CODE = """
from pathlib import Path

import numpy as np


def swish(x):
    return x / (1 + np.exp(-1.5 * x))


def leaky(x, slope=0.25):
    return np.where(x > 0, x, slope * x)


def doubled(x):
    return 2 * np.tanh(x) + 1


def centred(x):
    return x - x.mean()


def clamped_late(x):
    return np.clip(x, 0, 255)


def leaky_late(x):
    return np.where(x > 0, x, np.maximum(0.25 * x, -100))


def unknown(x):
    return np.sin(3 * x) + x


Path("imported").touch()
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "identified_code.py").write_text(CODE, encoding="utf-8")
    return "identified_code.py"


def test_the_record(
    run_here: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here("identify", "softgate:gelu", "--json", "-o", "rows.csv")
    assert done.returncode == 0
    check_csv("rows.csv", json.loads(done.stdout)["candidates"])
    check_golden("identify-gelu", done.stdout, close={"max_difference": 1e-5})


@pytest.mark.parametrize(
    ("function", "found", "parameters", "affine"),
    [
        ("swish", "silu", {"beta": 1.5}, (1.0, 0.0)),
        ("leaky", "leaky_relu", {"slope": 0.25}, (1.0, 0.0)),
        ("doubled", "tanh", {}, (2.0, 1.0)),
    ],
)
def test_functions_of_the_user(
    function: str,
    found: str,
    parameters: dict[str, float],
    affine: tuple[float, float],
    code: str,
) -> None:
    record = sg.identify(f"{code}:{function}")
    assert record.function == found
    assert dict(record.parameters) == pytest.approx(parameters, abs=1e-3)
    assert (record.scale, record.offset) == pytest.approx(affine, abs=1e-3)


@pytest.mark.parametrize(
    ("function", "code_of_exit", "named"),
    [
        ("swish", 0, "silu"),
        ("unknown", 1, "unknown"),
        ("clamped_late", 1, "unknown"),
        ("leaky_late", 1, "unknown"),
        ("centred", 1, "elementwise"),
        ("missing", 2, "missing"),
    ],
)
def test_exit_codes(
    function: str, code_of_exit: int, named: str, code: str, run_here: Callable[..., Any]
) -> None:
    done = run_here("identify", f"{code}:{function}")
    assert done.returncode == code_of_exit
    assert named in done.stdout + done.stderr


def test_a_name_of_the_catalogue_runs_no_code(code: str) -> None:
    assert sg.identify("softgate:relu").function == "relu"
    assert not Path("imported").exists()
    sg.identify(f"{code}:leaky", isolated=True)
    assert Path("imported").exists()


def test_a_framework_is_identified_with_its_parameters() -> None:
    torch = pytest.importorskip("torch", reason="identifies functions of PyTorch")
    assert sg.identify(torch.nn.GELU(approximate="tanh")).function == "gelu_tanh"
    elu = sg.identify(torch.nn.ELU(alpha=0.5))
    assert (elu.function, dict(elu.parameters)) == ("elu", {"alpha": pytest.approx(0.5)})
    assert sg.identify(lambda x: np.maximum(x, 0)).function == "relu"
