"""Trials of a task, small enough for tests, and how they are run in this process."""

from __future__ import annotations

from typing import Any

import torch

from softgate.studies.compare.tasks import Task, task
from softgate.studies.compare.trial import Role, TrainingResult, Trial

SMALL: dict[str, dict[str, Any]] = {
    "digits": {"layers": 2, "width": 16, "epochs": 2, "evaluations": 2},
    "mnist1d": {"layers": 1, "width": 16, "epochs": 1, "evaluations": 2},
    "deep": {"layers": "2,4", "width": 16, "epochs": 1, "evaluations": 1},
    "churn": {"layers": 1, "width": 8, "epochs": 2, "evaluations": 2},
    "text": {
        "characters": 4000, "length": 16, "layers": 1, "width": 8, "heads": 2, "hidden": 16,
        "epochs": 1, "evaluations": 2,
    },
    "swap": {
        "layers": 1, "width": 8, "heads": 2, "hidden": 16, "epochs": 2, "tune_epochs": 1,
        "evaluations": 2,
    },
}  # fmt: skip
"""Every task that needs no files, by settings that make it quick."""


def small(name: str, **settings: Any) -> Task:
    return task(name, settings={**SMALL[name], **settings})


def trial(
    of: Task,
    arm: str | None = None,
    seed: int = 0,
    lr: float = 1e-2,
    role: Role = "reported",
    **settings: Any,
) -> Trial:
    """Return a trial of a task's last arm, or of the one named, under its first condition."""
    arms = {label: (name, chosen) for label, name, chosen in of.arms(list(of.default_activations))}
    if arm is not None and arm not in arms:
        arms = {arm: of.arms([arm])[0][1:]}
    name, chosen = arms[arm or list(arms)[-1]]
    label, condition = of.conditions[0]
    return Trial(
        task=of.name,
        arm=arm or list(arms)[-1],
        activation=str(name),
        condition=label,
        settings={**of.settings, **condition, **chosen, **settings},
        lr=lr,
        seed=seed,
        role=role,
        fingerprint=of.fingerprint,
    )


def run(of: Task, *args: Any, **kwargs: Any) -> TrainingResult:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as trials have; two wait for each other where cores are busy
    try:
        return of.trial_function()(trial(of, *args, **kwargs), lambda step, steps, loss: None)[0]
    finally:
        torch.set_num_threads(threads)
