"""Pictures of comparisons: every run is there, whatever became of it."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from compare_outcomes import ACCURACY, DIVERGED, LOSS, RAISED, comparison, outcome, reported

from softgate.plotting import vega
from softgate.plotting.vega import CROSS
from softgate.records.record import Record
from softgate.studies.compare import chart_data, plots
from softgate.studies.compare.record import Comparison
from softgate.studies.compare.trial import TrainingResult

pytest.importorskip("vl_convert", reason="pictures need vl-convert-python")

GELU = (0.90, 0.91, 0.92, 0.93)
RELU = (0.89, DIVERGED, 0.95, RAISED)


def values(panel, *, mark, filtered=None):
    """Return the data of the layer of a panel that has a mark and a filter."""
    for layer in panel.spec["layer"]:
        if layer["mark"].get("shape", layer["mark"]["type"]) == mark:
            rows = layer.get("data", panel.spec["data"])["values"]
            (rule,) = layer.get("transform", [None])
            if rule is None and filtered is None:
                return rows
            if rule == {"filter": f"datum.failed === '{filtered}'"}:
                return [row for row in rows if row["failed"] == filtered]
    raise AssertionError(f"there is no layer of {mark}")


def texts(chart):
    root = ElementTree.fromstring(chart.svg())
    lines = [item for item in root.iter() if item.tag.endswith(("}text", "}tspan"))]
    return " ".join(line.text for line in lines if line.text)


@pytest.mark.parametrize("measure", [ACCURACY, LOSS])
def test_every_run_is_drawn(measure):
    record = comparison({"gelu": GELU, "relu": RELU}, measure)
    panels = plots.panels(record, "", printed=True)
    runs, differences = panels["runs"], panels["differences"]
    scores = [row["y"] for row in values(runs, mark="point", filtered="")]
    assert len(scores) == 6
    (diverged,) = values(runs, mark=CROSS, filtered="diverged")
    assert diverged["arm"] == "relu"
    assert diverged["y"] < min(scores) if measure.higher else diverged["y"] > max(scores)
    assert len(values(runs, mark="text", filtered="no score")) == 1
    assert len(values(panels["learning"], mark=CROSS)) == 1
    assert len(values(differences, mark="point")) == 2
    (lost,) = values(differences, mark=CROSS)
    assert lost["x"] < 0 if measure.higher else lost["x"] > 0
    low, high = chart_data.difference_range(record, "").edges
    assert low <= lost["x"] <= high
    shown = texts(record.figure())
    assert "?" in shown
    assert "no detectable difference, p = 1" in shown
    assert "×: diverged" in shown


def test_several_failed_runs_are_counted():
    record = comparison({"gelu": GELU, "relu": (0.9, DIVERGED, DIVERGED, DIVERGED)})
    panels = plots.panels(record, "")
    for name in ("runs", "differences"):
        counts = [
            layer["data"]["values"]
            for layer in panels[name].spec["layer"]
            if layer["encoding"].get("text") == {"field": "count"}
        ]
        assert [[row["count"] for row in rows] for rows in counts] == [[3]]


def test_axes_hold_intervals_and_dots():
    record = comparison({"gelu": (0.5, 0.9, 0.91), "relu": (0.6, 0.7, 0.95)})
    span = chart_data.score_range(record, "")
    ends = [
        100 * end
        for summary in record.summaries
        for end in (summary.interval.low, summary.interval.high)
    ]
    assert span.low < min(ends)
    assert max(ends) < span.high
    assert span.edges == (span.low, span.high)


@pytest.mark.parametrize(
    "scores",
    [{"gelu": (0.9,), "relu": (0.8,)}, {"gelu": GELU}, {"gelu": (0.5,) * 3, "relu": (0.5,) * 3},
     {"gelu": (DIVERGED,) * 3, "relu": (RAISED,) * 3},
     {("a", "gelu"): GELU, ("a", "relu"): RELU, ("b", "gelu"): GELU, ("b", "relu"): GELU}],
)  # fmt: skip
def test_few_and_many_runs_are_drawn(scores):
    record = comparison(scores)
    chart = record.figure()
    assert [len(row["hconcat"]) for row in chart.spec["vconcat"]] == [3] * len(record.conditions)
    shown = texts(chart)
    assert all(arm in shown for arm in record.arms)


def test_a_run_without_a_curve_is_drawn():
    bare = [replace(outcome(arm, 0.9, seed), measured=TrainingResult(score=0.9))
            for arm in ("gelu", "relu") for seed in (0, 1)]  # fmt: skip
    record = Comparison.of(bare, measure=ACCURACY)
    assert chart_data.learning(record, "") is None
    assert "no run has a curve" in texts(record.figure())


def test_diverged_runs_do_not_improve_a_curve():
    record = comparison({"gelu": (0.9, 0.9, 0.9), "relu": (0.9, DIVERGED, DIVERGED)})
    whole, cut = chart_data.learning(record, "").bands
    assert whole.middle == pytest.approx([2.1 / step + 0.01 for step in (10, 20, 30, 40)])
    assert cut.steps == (10, 20, 30, 40)
    assert math.isfinite(cut.middle[1])
    assert cut.middle[2:] == (math.inf, math.inf)
    assert cut.end == (20.0, cut.middle[1])
    assert [step for step, _ in cut.ends] == [20, 20]


def test_training_loss_is_drawn_where_there_is_no_validation_loss():
    outcomes = reported({"gelu": GELU, "relu": GELU})
    first = outcomes[0]
    curve = tuple(replace(point, validation_loss=None) for point in first.measured.curve)
    outcomes[0] = replace(first, measured=replace(first.measured, curve=curve))
    curves = chart_data.learning(Comparison.of(outcomes, measure=ACCURACY), "")
    assert curves.of == "training loss"
    assert curves.bands[0].middle == pytest.approx([2.0 / step for step in (10, 20, 30, 40)])


def test_arms_that_share_an_activation_have_different_dashes():
    outcomes = [
        replace(first, trial=replace(first.trial, activation=first.trial.arm.partition(" ")[0]))
        for first in reported({"relu": GELU, "relu swapped": GELU})
    ]
    first, other = chart_data.styles(Comparison.of(outcomes, measure=ACCURACY)).values()
    assert first.colour == other.colour
    assert first.dash != other.dash


def test_the_same_record_gives_the_same_file(tmp_path):
    record = comparison({"gelu": GELU, "relu": RELU})
    for name in ("a", "b"):
        for kind in ("svg", "png", "pdf"):
            record.save(tmp_path / f"{name}.{kind}", width=6.0)
    for kind in ("svg", "png", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.get("width") == "576"
    assert "Mean differences: relu to gelu" in root[0].text
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "a.pdf").read_bytes()[:4] == b"%PDF"
    with pytest.raises(ValueError, match=r"expected \.html"):
        record.save(tmp_path / "a.gif")


def test_a_notebook_shows_pictures_and_tables(monkeypatch):
    record = comparison({"gelu": GELU, "relu": RELU})
    shown = record._repr_html_()
    assert "<svg" in shown
    assert "no detectable difference" in shown

    vega.library.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert record._repr_html_() == Record._repr_html_(record)
    with pytest.raises(ImportError, match=r'pip install "softgate\[plot\]"'):
        record.figure().svg()
