"""`diagnose`, `watch` and `what_if`: dead units, gradients and NaN, in records and exit codes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_models
import torch
from golden import check_csv, check_golden

import softgate.torch as st

ROUNDED = dict.fromkeys(("sites", "gradient_ratio"), 1e-05)
"""Means of elements that torch adds in vectors, which differ in length from CPU to CPU."""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.py").write_text("from small_models import *\n", encoding="utf-8")
    return "made.py"


def squares(output: Any, batch: Any) -> Any:
    return output.square().mean()


def test_the_record_of_a_model_with_a_dead_unit() -> None:
    model, x = small_models.dead(), next(small_models.batches())
    before = model(x)
    record = st.diagnose(model, small_models.batches(), loss=squares)
    small_models.check_unchanged(model, before, x)
    check_golden("diagnose-dead", record.to_json(), close=ROUNDED)
    relu = json.loads(record.to_json())["sites"][0]
    assert relu["unit"]["dead"] == [3]
    assert "dead" in str(record)


def test_the_command_and_its_exit_code(code: str, run_here: Callable[..., Any]) -> None:
    arguments = ("diagnose", f"{code}:dead", "--data", f"{code}:batches")
    done = run_here(*arguments, "--json", "-o", "page.html", "-o", "sites.csv", "-o", "chart.svg")
    assert done.returncode == 0
    sites = json.loads(done.stdout)["sites"]
    assert sites[0]["unit"]["dead"] == [3]
    assert Path("chart.svg").read_text(encoding="utf-8").startswith("<svg")
    check_csv("sites.csv", sites)
    with Path("sites.csv").open(encoding="utf-8", newline="") as text:
        lines = list(csv.DictReader(text))
    assert [float(line["dead"]) for line in lines] == [1 / 8, 0]
    assert [float(line["recently_dead"]) for line in lines] == [1 / 8, 0]
    assert "relu" in Path("page.html").read_text(encoding="utf-8")
    for limit, expected in (("dead>13%", 0), ("dead>12%", 1)):  # one unit of eight
        assert run_here(*arguments, "--fail-on", limit).returncode == expected


def test_another_activation(code: str, run_here: Callable[..., Any]) -> None:
    arguments = ("diagnose", f"{code}:dead", "--data", f"{code}:batches", "--only", "relu")
    done = run_here(*arguments, "--what-if", "leaky_relu", "--json")
    assert done.returncode == 0
    check_golden("diagnose-what-if", done.stdout, close=dict.fromkeys(("sites",), 1e-5))


def test_a_watched_training_names_the_first_step_with_nan() -> None:
    model = small_models.dead()
    with st.watch(model) as watch:
        for step, x in enumerate(small_models.batches(6)):
            if step == 4:
                with torch.no_grad():
                    model[2].weight[0, 0] = float("nan")
            model.zero_grad()
            model(x).square().mean().backward()
    record = json.loads(watch.report().to_json())
    assert record["steps"] == 6
    gelu = next(site for site in record["sites"] if site["function"] == "gelu")
    assert {item["first_step"] for item in gelu["not_finite"]} == {4}
    assert "not finite" in str(watch.report())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("made.py:nothing", "--data", "made.py:batches"), "nothing"),
        (("made.py:dead", "--data", "nowhere.npz"), "nowhere.npz"),
        (("made.py:dead", "--data", "made.py:batches", "--fail-on", "dread>1%"), "dread"),
        (("made.py:dead", "--data", "made.py:batches", "--what-if", "relv"), "relv"),
    ],
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], named: str, code: str, run_here: Callable[..., Any]
) -> None:
    done = run_here("diagnose", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stdout == ""
