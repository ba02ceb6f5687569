"""The report's section on training."""

from __future__ import annotations

import math

import pytest
import report_records
from compare_outcomes import DIVERGED, RAISED, comparison

from softgate.plotting import vega
from softgate.reporting import RECORDS, Missing, Results
from softgate.reporting.sections import build_section, training
from softgate.reporting.sections.answer import answers

HOSTILE = "</script><b>"
GELU = (0.90, 0.91, 0.92, 0.93)
RELU = (0.89, DIVERGED, 0.95, RAISED)


def section(record):
    return build_section("training", Results({"training": record}))


@pytest.mark.parametrize(("relu", "said"), [(0.01, "Some"), (0, "No")])
def test_the_answer_says_what_training_shows(relu, said):
    scores = tuple(0.90 + 0.001 * seed for seed in range(6))
    record = comparison({"gelu": scores, "relu": tuple(score - relu for score in scores)})
    which, *_ = answers(report_records.found(training=record))
    runs = f"6 runs of {record.task} with each of gelu and relu"
    assert f"{said} differences in quality were detected in {runs}" in which


def values(spec):
    """Return all rows of data in a specification."""
    if isinstance(spec, dict):
        own = spec["values"] if isinstance(spec.get("values"), list) else []
        return [row for row in own if isinstance(row, dict)] + [
            row for part in spec.values() for row in values(part)
        ]
    return [row for part in spec for row in values(part)] if isinstance(spec, list) else []


@pytest.mark.parametrize(
    "scores",
    [{"gelu": GELU, "relu": RELU}, {"gelu": GELU}, {"gelu": (0.5,), "relu": (RAISED,)},
     {("a", "gelu"): GELU, ("a", "relu"): RELU, ("b", "gelu"): GELU, ("b", "relu"): GELU}],
)  # fmt: skip
def test_charts_compile_and_all_is_said(scores):
    record = comparison(scores, about="Digits")
    found = section(record)
    assert not found.failed
    for id, spec in found.charts.items():
        assert f'id="{id}"' in found.body_html
        assert vega.compile_for_page(spec)["marks"]
        numbers = [x for row in values(spec) for x in row.values() if isinstance(x, float)]
        assert all(math.isfinite(x) for x in numbers)
    kinds = {"learning", "runs"} | ({"differences"} if record.differences else set())
    assert {id.rsplit("-", 1)[1] for id in found.charts} == kinds
    for line in record.summary:
        assert line.replace("'", "&#x27;").replace(">", "&gt;") in found.body_html


def test_runs_that_diverged_are_in_the_charts():
    found = section(comparison({"gelu": GELU, "relu": RELU}))
    runs = values(found.charts["training-0-runs"])
    assert sum(row.get("failed") == "diverged" for row in runs) == 1
    assert sum(row.get("failed") == "no score" for row in runs) == 1
    crosses = [row for row in values(found.charts["training-0-differences"]) if "count" in row]
    mark, number = ((row["arm"], row["count"]) for row in crosses)
    assert mark == number == ("relu", 1)
    assert 'aria-label="Mean test accuracy in %: gelu 91.5, relu 92.0 (2 of 4' in found.body_html


def test_words_that_are_not_ours_are_escaped():
    scores = {"gelu": GELU, HOSTILE: RELU}
    found = section(comparison(scores, about=HOSTILE, notes=[HOSTILE]))
    assert not found.failed
    assert HOSTILE not in found.body_html


def test_a_study_that_failed_says_why():
    found = section(Missing("training", "pip install 'softgate[compare]'"))
    assert found.failed
    assert "softgate[compare]" in found.body_html


def test_the_study_compares_five_seeds(monkeypatch):
    pytest.importorskip("torch", reason="the study trains")
    pytest.importorskip("sklearn", reason="digits come from scikit-learn")
    from softgate.studies.compare.run import Study

    told = []

    def run(self, progress):
        assert self.plan.counts == (0, 20)
        assert [arm.label for arm in self.plan.arms] == list(training.ARMS)
        return comparison(dict.fromkeys(training.ARMS, GELU))

    monkeypatch.setattr(Study, "run", run)
    found = training.training(lambda *news: told.append(news))
    assert isinstance(found, RECORDS["training"])
    assert found.arms == training.ARMS
