"""`compare`: statistics of given scores, failed trials, resumed runs, and what is never lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden import check_csv, check_golden

WAIT_MS = 2
TRAIN = '''
import os
import signal
import time
from pathlib import Path

HERE = Path(__file__).parent
GAIN = {"relu": 0.01, "silu": -0.01}
MIXED = (0.02, -0.01, 0.005, -0.015, 0.01, -0.002, 0.001, -0.004)


def run(activation, seed, report, lr, validation):
    """A score that follows from the arguments, and a line in a file for each trial."""
    with (HERE / "trained").open("a", encoding="utf-8") as file:
        file.write(f"{activation.name} {seed} {lr} {validation}\\n")
    kill = HERE / "kill"
    if kill.exists() and f"{activation.name} {seed}" == kill.read_text():
        kill.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if activation.name == "elu" and seed == 3:
        raise KeyError("seven")
    if activation.name == "celu" and seed in (2, 5):
        report(0, float("nan"))
    for step in (1, 2) if activation.name == "relu" else ():
        end = time.perf_counter() + WAIT_MS / 1e3
        while time.perf_counter() < end:
            pass
        report(step, 0.5)
    noise = (seed * 37 % 11) * 0.001
    gain = MIXED[seed % 8] if activation.name == "tanh" else GAIN.get(activation.name, 0.0)
    return 0.5 + gain + noise - abs(lr - 0.01)
'''
NAMES = ("gelu", "relu", "silu", "tanh", "elu", "celu")
MEASURED = ("seconds", "step_ms", "environment", "fingerprint")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(f"WAIT_MS = {WAIT_MS}{TRAIN}", encoding="utf-8")
    return tmp_path


def trained(folder: Path) -> Counter[str]:
    return Counter((folder / "trained").read_text(encoding="utf-8").splitlines())


def test_the_record_and_each_trial_once(folder: Path, run_here: Callable[..., Any]) -> None:
    arguments = (
        "compare", *NAMES, "--script", "train.py:run", "--seeds", "8", "--rates", "1e-2,1e-1",
        "--json",
    )  # fmt: skip
    done = run_here(*arguments, "--jobs", "1", "-o", "page.html", "-o", "rows.csv")
    assert done.returncode == 0
    check_golden("compare-script", done.stdout, measured=MEASURED)
    outcomes = json.loads(done.stdout)["outcomes"]
    check_csv("rows.csv", [{**row["trial"], **row["measured"], **row} for row in outcomes])
    for row in outcomes:
        if row["trial"]["arm"] == "relu":
            assert WAIT_MS <= row["step_ms"] <= 1e3 * row["seconds"]
        else:
            assert row["step_ms"] is None
    lines = trained(folder)
    assert set(lines.values()) == {1}
    # two tuning seeds for each of two rates, which no reported seed shares, and eight seeds
    assert len(lines) == len(NAMES) * (2 * 2 + 8)
    tuned = {line.split()[1] for line in lines if line.endswith("True")}
    assert not tuned & {line.split()[1] for line in lines if line.endswith("False")}
    assert len(list((folder / "softgate-trials").glob("*.json"))) == len(lines)
    assert len((folder / "rows.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(lines)
    assert "<table" in (folder / "page.html").read_text(encoding="utf-8")
    again = run_here(*arguments, "--on", "here")
    assert trained(folder) == lines  # all trials are in the store
    assert json.loads(again.stdout)["differences"] == json.loads(done.stdout)["differences"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_no_finished_trial_is_lost_when_the_command_is_killed(folder: Path) -> None:
    command = [
        sys.executable, "-m", "softgate", "compare", "gelu", "relu", "--script", "train.py:run",
        "--seeds", "6", "--lr", "1e-2", "--on", "here", "--json",
    ]  # fmt: skip
    (folder / "kill").write_text("relu 1", encoding="utf-8")
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -9
    assert killed.stdout == ""
    before = trained(folder)
    assert len(list((folder / "softgate-trials").glob("*.json"))) == before.total() - 1
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (again,) = (line for line, count in trained(folder).items() if count > 1)
    assert again.startswith("relu 1 ")
    assert trained(folder).total() == 2 * 6 + 1
    (difference,) = json.loads(done.stdout)["differences"]
    assert difference["each"] == pytest.approx([0.01] * 6)
    assert difference["p"] == 2 * 0.5**6


def test_a_killed_worker_is_replaced(folder: Path, run_here: Callable[..., Any]) -> None:
    (folder / "kill").write_text("gelu 2", encoding="utf-8")
    done = run_here(
        "compare", "gelu", "relu", "--script", "train.py:run", "--seeds", "6", "--lr", "1e-2",
        "--jobs", "1", "--json",
    )  # fmt: skip
    assert done.returncode == 0
    assert {outcome["status"] for outcome in json.loads(done.stdout)["outcomes"]} == {"finished"}
    assert trained(folder)["gelu 2 0.01 False"] == 2
    assert trained(folder).total() == 13


def test_seeds_that_cannot_show_a_difference_are_said_so(
    folder: Path, run_here: Callable[..., Any]
) -> None:
    done = run_here(
        "compare", "gelu", "relu", "--script", "train.py:run", "--seeds", "5", "--lr", "1e-2",
        "--on", "here", "--no-store",
    )  # fmt: skip
    assert done.returncode == 0
    assert "0.0625" in done.stderr
    assert "0.0625" in done.stdout
    assert not (folder / "softgate-trials").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("gelu", "relv"), "relv"),
        (("gelu", "relu", "--script", "train.py:walk"), "walk"),
        (("gelu", "relu", "--script", "nowhere.py:run"), "nowhere.py"),
        (("gelu", "relu", "--task", "digit"), "digits"),
        (("gelu", "relu", "--script", "train.py:run", "--seeds", "0"), "0"),
        (("gelu", "relu", "--script", "train.py:run", "--alpha", "2"), "alpha"),
        (("gelu", "relu", "--script", "train.py:run", "-o", "x.txt"), "x.txt"),
    ],
)
def test_mistakes_train_nothing(
    arguments: tuple[str, ...], named: str, folder: Path, run_here: Callable[..., Any]
) -> None:
    done = run_here("compare", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert {file.name for file in folder.iterdir()} <= {"train.py", "__pycache__"}


def test_only_failures_exit_with_1(folder: Path, run_here: Callable[..., Any]) -> None:
    (folder / "fails.py").write_text(
        "def run(activation, seed, report):\n    raise KeyError('x')\n"
    )
    done = run_here("compare", "gelu", "relu", "--script", "fails.py:run", "--on", "here")
    assert done.returncode == 1
    assert "KeyError" in done.stderr


def test_a_plan_trains_nothing(folder: Path, run_here: Callable[..., Any]) -> None:
    done = run_here(
        "compare", *NAMES, "--script", "train.py:run", "--seeds", "8", "--rates", "1e-2,1e-1",
        "--dry-run", "--json",
    )  # fmt: skip
    assert done.returncode == 0
    check_golden("compare-plan", done.stdout, measured=MEASURED)
    assert not (folder / "trained").exists()


def test_a_task_trains_the_same_weights_again(run_here: Callable[..., Any], folder: Path) -> None:
    arguments = (
        "compare", "gelu", "relu", "--task", "digits", "--seeds", "2", "--lr", "1e-3", "--on",
        "here", "--set", "epochs=1", "--set", "layers=2", "--set", "width=16", "--no-store",
        "--json",
    )  # fmt: skip
    first, second = (json.loads(run_here(*arguments).stdout) for _ in range(2))
    check_golden(
        "compare-digits",
        first,
        measured=(*MEASURED, "step_ratio", "differences"),
        # the last bits of matrix products differ from CPU to CPU
        close=dict.fromkeys(("measured", "summaries", "choices"), 0.05),
    )
    for one, other in zip(first["outcomes"], second["outcomes"], strict=True):
        assert one["measured"] == other["measured"]
