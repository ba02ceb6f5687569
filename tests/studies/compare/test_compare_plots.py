"""Pictures of comparisons: every run is there, whatever became of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from compare_outcomes import ACCURACY, DIVERGED, LOSS, RAISED, comparison, outcome, reported

from softgate.runtime.records import Record
from softgate.studies.compare import chart_data
from softgate.studies.compare.record import Comparison
from softgate.studies.compare.trial import Measured

pytest.importorskip("matplotlib", reason="pictures need matplotlib")

GELU = (0.90, 0.91, 0.92, 0.93)
RELU = (0.89, DIVERGED, 0.95, RAISED)


def marks(axes, kind):
    """Return the places of all marks of a kind."""
    lines = [line for line in axes.get_lines() if line.get_marker() == kind]
    return [place for line in lines for place in line.get_xydata().tolist()]


def said(figure):
    return " ".join(text.get_text() for axes in figure.axes for text in axes.texts) + " ".join(
        text.get_text() for text in figure.texts
    )


@pytest.mark.parametrize("measure", [ACCURACY, LOSS])
def test_every_run_is_drawn(measure):
    record = comparison({"gelu": GELU, "relu": RELU}, measure)
    figure = record.figure()
    learning, runs, differences = figure.axes
    assert len(marks(runs, "o")) == 6
    ((x, y),) = marks(runs, "x")
    scores = [place[1] for place in marks(runs, "o")]
    assert x == 1
    assert y < min(scores) if measure.higher else y > max(scores)
    assert "?" in said(figure)
    assert len(marks(learning, "x")) == 1
    assert len(marks(differences, "o")) == 2
    ((lost, _),) = marks(differences, "x")
    assert lost < 0 if measure.higher else lost > 0
    low, high = sorted(differences.get_xlim())
    assert low <= lost <= high
    assert "no detectable\ndifference, p = 1" in said(figure)
    assert "×: diverged" in said(figure)


def test_axes_hold_intervals_and_dots():
    record = comparison({"gelu": (0.5, 0.9, 0.91), "relu": (0.6, 0.7, 0.95)})
    span = chart_data.score_range(record, "")
    ends = [100 * end for one in record.summaries for end in (one.interval.low, one.interval.high)]
    assert span.low < min(ends)
    assert max(ends) < span.high
    assert span.edges == (span.low, span.high)


@pytest.mark.parametrize(
    "scores",
    [{"gelu": (0.9,), "relu": (0.8,)}, {"gelu": GELU}, {"gelu": (0.5,) * 3, "relu": (0.5,) * 3},
     {"gelu": (DIVERGED,) * 3, "relu": (RAISED,) * 3},
     {("a", "gelu"): GELU, ("a", "relu"): RELU, ("b", "gelu"): GELU, ("b", "relu"): GELU}],
)  # fmt: skip
def test_little_and_much_is_drawn(scores):
    record = comparison(scores)
    figure = record.figure()
    assert len(figure.axes) == 3 * len(record.conditions)
    assert all(arm in figure._repr_svg_() for arm in record.arms)


def test_a_run_without_a_curve_is_no_crash():
    bare = [replace(outcome(arm, 0.9, seed), measured=Measured(score=0.9))
            for arm in ("gelu", "relu") for seed in (0, 1)]  # fmt: skip
    record = Comparison.of(bare, measure=ACCURACY)
    assert chart_data.learning(record, "") is None
    assert "no run has a curve" in said(record.figure())


def test_a_curve_is_no_better_for_runs_that_are_gone():
    record = comparison({"gelu": (0.9, 0.9, 0.9), "relu": (0.9, DIVERGED, DIVERGED)})
    whole, cut = chart_data.learning(record, "").bands
    assert whole.middle == pytest.approx([2.1 / step + 0.01 for step in (10, 20, 30, 40)])
    assert cut.steps == (10, 20, 30, 40)
    assert math.isfinite(cut.middle[1])
    assert cut.middle[2:] == (math.inf, math.inf)
    assert cut.end == (20.0, cut.middle[1])
    assert [step for step, _ in cut.ends] == [20, 20]


def test_training_loss_stands_in_where_nobody_validated():
    outcomes = reported({"gelu": GELU, "relu": GELU})
    first = outcomes[0]
    curve = tuple(replace(point, validation_loss=None) for point in first.measured.curve)
    outcomes[0] = replace(first, measured=replace(first.measured, curve=curve))
    curves = chart_data.learning(Comparison.of(outcomes, measure=ACCURACY), "")
    assert curves.of == "training loss"
    assert curves.bands[0].middle == pytest.approx([2.0 / step for step in (10, 20, 30, 40)])


def test_arms_that_share_an_activation_are_told_apart():
    outcomes = [
        replace(one, trial=replace(one.trial, activation=one.trial.arm.partition(" ")[0]))
        for one in reported({"relu": GELU, "relu swapped": GELU})
    ]
    one, other = chart_data.styles(Comparison.of(outcomes, measure=ACCURACY)).values()
    assert one.colour == other.colour
    assert one.dash != other.dash


def test_the_same_record_gives_the_same_file(tmp_path):
    record = comparison({"gelu": GELU, "relu": RELU})
    for name in ("a.svg", "b.svg", "a.png", "a.pdf"):
        record.save(tmp_path / name, width=6.0)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "a.pdf").read_bytes()[:4] == b"%PDF"
    with pytest.raises(ValueError, match=r"files end in \.svg"):
        record.save(tmp_path / "a.gif")


def test_a_notebook_shows_pictures_and_tables(monkeypatch):
    record = comparison({"gelu": GELU, "relu": RELU})
    shown = record._repr_html_()
    assert "<svg" in shown
    assert "no detectable difference" in shown

    def undrawn(self):
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")

    monkeypatch.setattr(Comparison, "figure", undrawn)
    assert record._repr_html_() == Record._repr_html_(record)
