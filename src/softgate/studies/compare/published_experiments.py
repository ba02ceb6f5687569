"""Published experiments as described in their papers, with the papers' findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from softgate.frameworks.block_arguments import unknown

from .trial import Outcome


@dataclass(frozen=True)
class PublishedExperiment:
    """Arguments of a published comparison.

    Attributes
    ----------
    tasks : tuple of str
        Tasks that it can be run on; the first is the paper's.
    activations : tuple of str
        The activations, the one proposed by the paper first.
    settings : mapping
        Settings that differ from the task's defaults.
    rates : tuple of float
        Learning rates to tune over.
    seeds, tuning_seeds : int
        Number of reported and of tuning seeds.
    paper, finding : str
        Reference and finding.
    """

    name: str
    tasks: tuple[str, ...]
    activations: tuple[str, ...]
    settings: Mapping[str, Any] = field(hash=False)
    rates: tuple[float, ...]
    seeds: int
    tuning_seeds: int
    paper: str
    finding: str

    def against_paper(self, outcomes: Iterable[Outcome]) -> list[str]:
        """Return the paper's finding and, for each condition, the result in the same terms.

        That is the median over runs of the last training loss of the curve: a mean over the last
        updates, dropout included. A run that did not finish counts as the worst.
        """
        losses: dict[str, dict[str, list[float]]] = {}
        for outcome in outcomes:
            if outcome.trial.role == "reported":
                arms = losses.setdefault(outcome.trial.condition, {})
                arms.setdefault(outcome.trial.arm, []).append(_last_loss(outcome))
        sentences = [f"The paper ({self.paper}): {self.finding}"]
        for condition, arms in losses.items():
            medians = sorted((median(values), name) for name, values in arms.items())
            runs = min(len(values) for values in arms.values())
            listed = ", ".join(f"{name} {value:.4g}" for value, name in medians)
            under = f" with {condition}" if condition else ""
            agrees = (
                "as in the paper" if medians[0][1] == self.activations[0] else "unlike in the paper"
            )
            sentences.append(
                f"Here{under}: median training log loss of {runs} runs: {listed}; lowest for "
                f"{medians[0][1]}, {agrees}."
            )
        return sentences


def _last_loss(outcome: Outcome) -> float:
    if outcome.status != "finished" or not outcome.measured.curve:
        return math.inf
    return outcome.measured.curve[-1].train_loss


GELU_PAPER = PublishedExperiment(
    name="gelu-paper-mnist",
    tasks=("mnist", "fashion-mnist"),
    activations=("gelu", "relu", "elu"),
    settings={
        "layers": 8,
        "width": 128,
        "batch": 128,
        "epochs": 50,
        "dropout": "0,0.5",
        "init": "rows",
    },
    rates=(1e-3, 1e-4, 1e-5),
    seeds=5,
    tuning_seeds=1,
    paper="Hendrycks & Gimpel 2016, arXiv:1606.08415, section 3.1, on MNIST",
    finding="the median training log loss of five runs tends to be lowest for GELU, with dropout "
    "and without, ELU's and ReLU's above it.",
)

PRESETS = {preset.name: preset for preset in (GELU_PAPER,)}


def preset(name: str) -> PublishedExperiment:
    """Return a preset by name; raise ValueError with the nearest name if there is none.

    Examples
    --------
    >>> preset("gelu-paper-mnist").rates
    (0.001, 0.0001, 1e-05)
    """
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name]
