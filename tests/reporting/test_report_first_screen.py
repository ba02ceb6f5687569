"""Each sentence of the first screen is carried by its study: saved records, read by the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import diagnosed
import pytest
import report_records
from click.testing import CliRunner
from compare_outcomes import comparison

import softgate as sg
from softgate.cli import softgate
from softgate.records.record import Record
from softgate.reporting import Report
from softgate.studies.models.record import Scan


@pytest.fixture
def first_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Save records, with some replaced; return the lines that `softgate report` prints of them."""
    monkeypatch.chdir(tmp_path)

    def lines(**changed: Any) -> list[str]:
        results = report_records.results(**changed)
        (tmp_path / "records.json").write_text(Report(results).to_json())
        words = ["report", "--records", "records.json", "-o", "page.html"]
        outcome = CliRunner().invoke(softgate, words, standalone_mode=False)
        assert outcome.exception is None, outcome.exception
        texts = " ".join(outcome.stdout.split()).split(" 2. ")
        return [texts[0], *" 2. ".join(texts[1:]).split(" 4. ")]

    return lines


def scores(seeds: int, shift: float) -> dict[str, tuple[float, ...]]:
    gelu = tuple(0.9 + 0.001 * (seed % 5) for seed in range(seeds))
    return {"gelu": gelu, "tanh": tuple(score + shift for score in gelu)}


@pytest.mark.parametrize("shift", [0.0, 0.05])
def test_too_few_seeds_are_stated_and_no_verdict(first_screen: Any, shift: float) -> None:
    which, *_ = first_screen(training=comparison(scores(5, shift)))
    assert "5 seeds" in which
    assert "6 seeds can" in which  # p = 2^-5 <= 0.05 for one comparison
    assert "No difference" not in which
    assert "better" not in which


def test_enough_seeds_name_the_difference(first_screen: Any) -> None:
    which, *_ = first_screen(training=comparison(scores(7, 0.05)))
    assert "7 seeds" in which
    assert "tanh was better than gelu" in which


def test_enough_seeds_without_a_difference_state_its_largest_size(first_screen: Any) -> None:
    gelu = (0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97)
    tanh = (0.92, 0.91, 0.94, 0.93, 0.96, 0.95, 0.97)
    record = comparison({"gelu": gelu, "tanh": tanh})
    which, *_ = first_screen(training=record)
    (difference,) = record.differences
    assert difference.interval is not None
    largest = max(abs(difference.interval.low), abs(difference.interval.high))
    assert "No difference in quality was detected in 7 seeds" in which
    assert record.score_format.size(largest) in which


def test_seeds_that_failed_are_no_comparison(first_screen: Any) -> None:
    record = comparison({"gelu": (0.9,) * 7, "tanh": (float("nan"),) * 7})
    which, *_ = first_screen(training=record)
    assert "not compared" in which


def speed(ratio: float, uncertainty: float, own: float) -> Record:
    """Return times with an uncertainty, that of gelu and gelu_tanh in softgate small by chance."""
    times = report_records.NS | {("gelu_tanh", "softgate"): ratio * 0.5}
    record = report_records.speed(times)
    pair = {("gelu", "softgate"), ("gelu_tanh", "softgate")}
    rows = [
        row
        if row.relative_uncertainty is None
        else replace(
            row,
            relative_uncertainty=own if (row.function, row.implementation) in pair else uncertainty,
        )
        for row in record
    ]
    return replace(record, rows=tuple(rows))


@pytest.mark.parametrize(
    ("ratio", "uncertainty", "expected"),
    [
        (0.97, 0.02, "is not measurably faster"),
        (0.97, 0.001, "is faster only in softgate"),
        (0.5, 0.02, "is faster only in softgate"),
    ],
)
def test_a_time_is_shorter_if_the_noise_of_all_times_is_smaller(
    first_screen: Any, ratio: float, uncertainty: float, expected: str
) -> None:
    *_, rest = first_screen(speed=speed(ratio, uncertainty, own=0.0))
    assert f"The tanh form of gelu {expected}" in rest
    assert f"{ratio:.2f} × in softgate" in rest
    assert ("noise" in rest) == (ratio == 0.97 and uncertainty == 0.02)


def test_the_largest_gain_includes_the_uncertainty(first_screen: Any) -> None:
    layer = report_records.layer({"relu": 0.02, "gelu": 0.02}, relative_uncertainty=0.5)
    _, context, *_ = first_screen(layer=layer)
    assert "at most 1.0 % faster" in context  # half of 2 %


def with_model(scan: Scan | None) -> dict[str, Any]:
    about = replace(report_records.records()["about"], model="my-bert")
    seen = diagnosed.diagnosis(diagnosed.site("layer.0.act", dead=3), model="my-bert")
    network = diagnosed.NetworkDiagnosis("my-bert", seen)
    units = diagnosed.UnitStudy("my-bert on x.npz", (network,), (diagnosed.what_if(),), (), scan)
    return {"about": about, "units": units}


def test_with_a_model_the_answer_is_about_that_model(first_screen: Any) -> None:
    torch = pytest.importorskip("torch")
    scan = sg.scan(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU()))
    which, context, *_ = first_screen(**with_model(scan))
    assert "my-bert: it computes gelu (1 ×)" in which
    assert "1 problem, first: layer.0.act has 3 dead units" in which
    assert "outputs change by 10 %" in which
    assert "digits" not in which  # the training section is about another network
    assert "not a layer of my-bert" in context
    page = Path("page.html").read_text()
    assert "What does my-bert compute" in page


def test_with_a_model_that_failed_the_reason_is_the_answer(first_screen: Any) -> None:
    changed = with_model(None)
    del changed["units"]
    missing = report_records.MissingRecord("units", "ValueError: no inputs")
    results = report_records.results(**changed, units=missing)
    first = str(Report(results)).splitlines()[0]
    assert "Unknown: units: ValueError: no inputs" in first
    assert "cheapest" not in first


def test_without_a_model_no_model_is_named(first_screen: Any) -> None:
    which, context, *_ = first_screen()
    assert "silu and gelu are the cheapest" in which
    assert "not a layer of" not in context
    assert json.loads(Path("records.json").read_text())["about"]["model"] == ""
