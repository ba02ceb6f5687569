"""Experiments of papers as they were described, and what the paper found, to see beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from softgate.frameworks.block_arguments import unknown

from .trial import Outcome


@dataclass(frozen=True)
class Preset:
    """A comparison with all its choices made.

    Attributes
    ----------
    tasks : tuple of str
        The tasks that it can be run on; the first is the paper's.
    arms : tuple of str
        The activations, the paper's own first.
    settings : mapping
        What is not as the task usually has it.
    rates : tuple of float
        The learning rates that are tried for each activation.
    seeds, tuning_seeds : int
        How many runs are reported, and how many choose a rate.
    paper, finding : str
        Where it is from, and what was found there.
    """

    name: str
    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    settings: Mapping[str, Any] = field(hash=False)
    rates: tuple[float, ...]
    seeds: int
    tuning_seeds: int
    paper: str
    finding: str

    def found(self, outcomes: Iterable[Outcome]) -> list[str]:
        """Return the paper's finding and, for each condition, ours in the same terms.

        That is the median over runs of the training loss at the end of the curve: a mean over the
        last updates, as they saw it, dropout included. A run that did not finish counts as the
        worst.
        """
        losses: dict[str, dict[str, list[float]]] = {}
        for one in outcomes:
            if one.trial.role == "reported":
                arms = losses.setdefault(one.trial.condition, {})
                arms.setdefault(one.trial.arm, []).append(_last(one))
        sentences = [f"The paper ({self.paper}): {self.finding}"]
        for condition, arms in losses.items():
            middle = sorted((median(values), name) for name, values in arms.items())
            runs = min(len(values) for values in arms.values())
            listed = ", ".join(f"{name} {value:.4g}" for value, name in middle)
            under = f" with {condition}" if condition else ""
            agrees = "as in the paper" if middle[0][1] == self.arms[0] else "unlike in the paper"
            sentences.append(
                f"Here{under}: median training log loss of {runs} runs: {listed}; lowest for "
                f"{middle[0][1]}, {agrees}."
            )
        return sentences


def _last(outcome: Outcome) -> float:
    if outcome.status != "finished" or not outcome.measured.curve:
        return math.inf
    return outcome.measured.curve[-1].train_loss


GELU_PAPER = Preset(
    name="gelu-paper-mnist",
    tasks=("mnist", "fashion-mnist"),
    arms=("gelu", "relu", "elu"),
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

PRESETS = (GELU_PAPER,)


def presets() -> dict[str, Preset]:
    """Return every preset by its name.

    Examples
    --------
    >>> presets()["gelu-paper-mnist"].rates
    (0.001, 0.0001, 1e-05)
    """
    return {one.name: one for one in PRESETS}


def preset(name: str) -> Preset:
    """Return a preset by its name, or raise and name the nearest.

    Examples
    --------
    >>> preset("gelu-paper-mnist").tasks[0]
    'mnist'
    """
    known = presets()
    if name not in known:
        raise unknown("preset", name, known)
    return known[name]
