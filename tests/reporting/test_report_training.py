"""The report's section on training."""

from __future__ import annotations

import math

import pytest
from compare_outcomes import DIVERGED, RAISED, comparison

from softgate.plotting import vega
from softgate.reporting import RECORDS, MissingRecord, Results
from softgate.reporting.sections import build_section, training

HOSTILE = "</script><b>"
GELU = (0.90, 0.91, 0.92, 0.93)
RELU = (0.89, DIVERGED, 0.95, RAISED)


def section(record):
    return build_section("training", Results({"training": record}))


def values(spec):
    """Return all rows of data in a specification."""
    if isinstance(spec, dict):
        inline_values = spec["values"] if isinstance(spec.get("values"), list) else []
        return [row for row in inline_values if isinstance(row, dict)] + [
            row for part in spec.values() for row in values(part)
        ]
    return [row for part in spec for row in values(part)] if isinstance(spec, list) else []


@pytest.mark.parametrize(
    "scores",
    [{"gelu": GELU, "relu": RELU}, {"gelu": GELU}, {"gelu": (0.5,), "relu": (RAISED,)},
     {("a", "gelu"): GELU, ("a", "relu"): RELU, ("b", "gelu"): GELU, ("b", "relu"): GELU}],
)  # fmt: skip
def test_charts_compile_and_the_summary_is_shown(scores):
    record = comparison(scores, about="Digits")
    made = section(record)
    assert not made.failed
    for id, spec in made.charts.items():
        assert f'id="{id}"' in made.body_html
        assert vega.compile_for_page(spec)["marks"]
        numbers = [x for row in values(spec) for x in row.values() if isinstance(x, float)]
        assert all(math.isfinite(x) for x in numbers)
    kinds = {"learning", "runs"} | ({"differences"} if record.differences else set())
    assert {id.rsplit("-", 1)[1] for id in made.charts} == kinds
    for line in record.summary:
        assert line.replace("'", "&#x27;").replace(">", "&gt;") in made.body_html


def test_runs_that_diverged_are_in_the_charts():
    made = section(comparison({"gelu": GELU, "relu": RELU}))
    runs = values(made.charts["training-0-runs"])
    assert sum(row.get("failed") == "diverged" for row in runs) == 1
    assert sum(row.get("failed") == "no score" for row in runs) == 1
    crosses = [row for row in values(made.charts["training-0-differences"]) if "count" in row]
    (mark,) = ((row["arm"], row["count"]) for row in crosses)
    assert mark == ("relu", 1)
    assert 'aria-label="Mean test accuracy in %: gelu 91.5, relu 92.0 (2 of 4' in made.body_html


def test_text_of_the_record_is_escaped():
    scores = {"gelu": GELU, HOSTILE: RELU}
    made = section(comparison(scores, about=HOSTILE, notes=[HOSTILE]))
    assert not made.failed
    assert HOSTILE not in made.body_html


def test_failed_study_shows_its_reason():
    made = section(MissingRecord("training", "pip install 'softgate[compare]'"))
    assert made.failed
    assert "softgate[compare]" in made.body_html


def test_study_compares_five_seeds(monkeypatch):
    pytest.importorskip("torch", reason="the study trains")
    pytest.importorskip("sklearn", reason="digits come from scikit-learn")
    from softgate.studies.compare.run import PlannedComparison

    def run(self, progress):
        assert self.plan.counts == (0, 20)
        assert [arm.label for arm in self.plan.arms] == list(training.ARMS)
        return comparison(dict.fromkeys(training.ARMS, GELU))

    monkeypatch.setattr(PlannedComparison, "run", run)
    made = training.training(lambda *step: None)
    assert isinstance(made, RECORDS["training"])
    assert made.arms == training.ARMS
