"""Presets: their settings exist, and their findings are compared with results."""

from __future__ import annotations

from typing import Any

import pytest
from compare_trials import small, trial

from softgate.runtime.registry import activations
from softgate.studies.compare.published_experiments import PRESETS, preset
from softgate.studies.compare.tasks import tasks
from softgate.studies.compare.tasks.task import expand_conditions, read_options
from softgate.studies.compare.trial import (
    CurvePoint,
    Outcome,
    Status,
    TrainingResult,
    TrialEnvironment,
)

HERE = TrialEnvironment("here", "cpu", 1, "3", "2", "0")


def outcome(
    arm: str, seed: int, loss: float, status: Status = "finished", **changed: Any
) -> Outcome:
    requests = trial(small("digits"), arm, seed, **changed)
    measured = TrainingResult(
        curve=(CurvePoint(1, 9.0, None, None), CurvePoint(2, loss, None, None))
    )
    return Outcome(requests, status, "", measured, None, 1.0, HERE)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_name_tasks_settings_and_activations_that_exist(name: str) -> None:
    chosen = preset(name)
    for task in chosen.tasks:
        known = tasks()[task]
        read = read_options(task, known.options, chosen.settings)
        assert {key: read[key] for key in chosen.settings} == dict(chosen.settings)
        assert len(expand_conditions(known.options, read)) == 2
    assert set(chosen.activations) <= set(activations())


def test_unknown_presets() -> None:
    with pytest.raises(ValueError, match="did you mean 'gelu-paper-mnist'"):
        preset("gelu-paper-mnst")


def test_findings_are_medians_and_compared_with_the_paper() -> None:
    losses = {"gelu": [0.1, 0.2, 9.0], "relu": [0.3, 0.3, 0.3], "elu": [0.4, 0.1, 0.5]}
    results = [outcome(arm, i, x) for arm, some in losses.items() for i, x in enumerate(some)]
    paper, ours = preset("gelu-paper-mnist").against_paper(results)
    assert "arXiv:1606.08415" in paper
    assert "of 3 runs: gelu 0.2, relu 0.3, elu 0.4; lowest for gelu, as in the paper" in ours
    failed = [outcome("gelu", i, 0.0, "diverged") for i in range(2)] + results[2:]
    assert (
        "lowest for relu, unlike in the paper"
        in preset("gelu-paper-mnist").against_paper(failed)[1]
    )
    tuning = [outcome("relu", 9, 0.0, role="tuning")]
    assert preset("gelu-paper-mnist").against_paper([*results, *tuning])[1] == ours
