"""Outcomes made by hand, with scores that have known results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from softgate.studies.compare.record import Comparison
from softgate.studies.compare.trial import (
    CurvePoint,
    Measure,
    Outcome,
    SiteHealth,
    TrainingResult,
    Trial,
    TrialEnvironment,
)

ACCURACY = Measure("test accuracy", higher=True, percent=True)
LOSS = Measure("test loss", higher=False)
PLACE = TrialEnvironment("here", "a processor", 1, "3.12", "2.9", "0.1")
DIVERGED, RAISED = -math.inf, math.nan
"""In place of a score."""

Scores = Mapping[str | tuple[str, str], Sequence[float]]
"""By the arm, or by condition and arm: a score for each seed from 0 on."""


def trial(arm: str, seed: int = 0, condition: str = "", **changed: Any) -> Trial:
    usual = Trial(
        "digits", arm, arm, condition, {"epochs": 3, "width": 8, "bias": True}, 1e-3, seed,
        "reported", "print",
    )  # fmt: skip
    return replace(usual, **changed)


def outcome(arm: str, score: float, seed: int = 0, condition: str = "", **of: Any) -> Outcome:
    """Return a reported outcome; the score may be DIVERGED or RAISED."""
    curve = tuple(
        CurvePoint(step, 2.0 / step, 2.1 / step + 0.01 * seed, 0.9) for step in (10, 20, 30, 40)
    )
    usual: dict[str, Any] = {
        "trial": trial(arm, seed, condition), "status": "finished", "message": "", "step_ms": 2.0,
        "seconds": 3.0, "environment": PLACE,
        "measured": TrainingResult(
            score=score, loss=0.1, validation_score=0.9, validation_loss=0.2, curve=curve, steps=40,
            parameters=100, flops=200.0, sites=(SiteHealth("0", 8, 0.25, 0.0, 0.5, 0.1),),
            gradient_ratio=0.5,
        ),
    }  # fmt: skip
    if score == DIVERGED:
        usual |= {"status": "diverged", "message": "diverged at step 20: the loss is not finite",
                  "measured": TrainingResult(curve=curve[:2], steps=20)}  # fmt: skip
    elif math.isnan(score):
        usual |= {"status": "raised", "message": "ValueError: no", "measured": TrainingResult()}
    return Outcome(**(usual | of))


def reported(scores: Scores) -> list[Outcome]:
    """Return the outcomes of all arms."""
    results = []
    for cell, each in scores.items():
        condition, arm = ("", cell) if isinstance(cell, str) else cell
        results += [outcome(arm, score, seed, condition) for seed, score in enumerate(each)]
    return results


def tuning(arm: str, values: Mapping[float, Sequence[float]], condition: str = "") -> list[Outcome]:
    """Return tuning trials: validation scores by learning rate, one for each seed from 100 on."""
    results = []
    for lr, scores in values.items():
        for k, value in enumerate(scores):
            trial_outcome = outcome(arm, value)
            measured = replace(trial_outcome.measured, score=None, validation_score=value)
            if trial_outcome.status != "finished":
                measured = TrainingResult()
            trial_ = trial(arm, 100 + k, condition, lr=lr, role="tuning")
            results.append(replace(trial_outcome, trial=trial_, measured=measured))
    return results


def comparison(scores: Scores, measure: Measure = ACCURACY, **of: Any) -> Comparison:
    """Return the record of scores."""
    return Comparison.of(reported(scores), measure=measure, **of)


def trained() -> Comparison:
    """Return the comparison of the report's section on training; one run diverged."""
    scores = {
        "gelu": (0.95, 0.96, 0.97, 0.95, 0.96),
        "relu": (0.94, 0.96, DIVERGED, 0.95, 0.95),
        "tanh": (0.96, 0.97, 0.97, 0.96, 0.97),
    }
    return comparison(scores, about="1,797 images of 8×8 pixels, 10 classes")
