"""The trials of a comparison: first those that choose learning rates, then the reported ones.

Every activation gets the same learning rates and tuning seeds, scored on validation data; the
reported seeds are different ones. Reported seeds start at 0, so that a larger number of seeds
reuses the stored trials.

Of two rates the one that failed with fewer tuning seeds is better, then the one with the better
mean, then the smaller. A rate that diverged once is thus chosen only if all rates did, and no mean
is taken over surviving seeds alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .trial import Measure, Outcome, Role, Setting, Status, Trainable, Trial

FIRST_TUNING_SEED = 1_000_000
"""Far from the reported seeds, which start at 0."""
NO_RATE = 0.0
"""Recorded as the learning rate of a script without an `lr` parameter."""

Rates = Mapping[tuple[str, str], float]
"""Learning rates by condition and arm."""


@dataclass(frozen=True)
class TuningResult:
    """Status and validation figure of a tuning trial."""

    lr: float
    seed: int
    status: Status
    value: float | None


@dataclass(frozen=True)
class RateResult:
    """Results of one learning rate; `mean` is over the seeds that finished, None if all failed."""

    lr: float
    seeds: int
    failed: int
    mean: float | None


@dataclass(frozen=True)
class ChosenRate:
    """The learning rate chosen for an activation under a condition, and what it is based on.

    `rates` are in increasing order.
    """

    arm: str
    condition: str
    lr: float
    by: Literal["validation score", "validation loss"]
    rates: tuple[RateResult, ...]
    trials: tuple[TuningResult, ...]

    @classmethod
    def of(
        cls, arm: str, condition: str, outcomes: Iterable[Outcome], measure: Measure
    ) -> ChosenRate:
        """Return the choice based on tuning trials of one activation under one condition.

        Parameters
        ----------
        arm, condition : str
            The activation's label and the condition.
        outcomes : iterable of Outcome
            Tuning trials: every rate with the same seeds.
        measure : Measure
            Name and direction of the score.

        Raises
        ------
        ValueError
            If there are no outcomes, one belongs to another role, activation or condition, or no
            finished trial has a validation figure.
        """
        tuning = list(outcomes)
        _check_tuning(arm, condition, tuning)
        finished = [outcome for outcome in tuning if outcome.status == "finished"]
        scored = all(outcome.measured.validation_score is not None for outcome in finished)
        trials = tuple(
            TuningResult(o.trial.lr, o.trial.seed, o.status, _value(o, scored)) for o in tuning
        )
        if finished and all(trial.value is None for trial in trials):
            raise ValueError(
                f"no tuning trial of {arm} has a validation score or loss to choose a learning "
                "rate by: report one, or give the rate (lr)"
            )
        rates = tuple(_rate(lr, trials) for lr in sorted({trial.lr for trial in trials}))
        best = min(rates, key=lambda rate: _rank(rate, scored and measure.higher))
        by: Any = "validation score" if scored else "validation loss"
        return cls(arm, condition, best.lr, by, rates, trials)

    @property
    def edge(self) -> Literal["smallest", "largest"] | None:
        """Whether the chosen rate is the smallest or largest of several."""
        if len(self.rates) == 1:
            return None
        return (
            "smallest" if self.lr == self.rates[0].lr
            else "largest" if self.lr == self.rates[-1].lr
            else None
        )  # fmt: skip

    @property
    def seeds(self) -> tuple[int, ...]:
        """The tuning seeds."""
        return tuple(sorted({trial.seed for trial in self.trials}))


def _check_tuning(arm: str, condition: str, outcomes: list[Outcome]) -> None:
    if not outcomes:
        raise ValueError(f"{arm} has no tuning trials to choose a learning rate by")
    for outcome in outcomes:
        trial = outcome.trial
        if (trial.arm, trial.condition, trial.role) != (arm, condition, "tuning"):
            raise ValueError(
                f"a {trial.role} trial of {trial.arm!r} under {trial.condition!r}: expected tuning "
                f"trials of {arm!r} under {condition!r}"
            )


def _value(outcome: Outcome, scored: bool) -> float | None:
    """Return the validation score or loss, None if the trial failed or the figure is not finite."""
    measured = outcome.measured
    value = measured.validation_score if scored else measured.validation_loss
    usable = outcome.status == "finished" and value is not None and math.isfinite(value)
    return value if usable else None


def _rate(lr: float, trials: tuple[TuningResult, ...]) -> RateResult:
    values = [trial.value for trial in trials if trial.lr == lr]
    finite = [value for value in values if value is not None]
    mean = math.fsum(finite) / len(finite) if finite else None
    return RateResult(lr, len(values), len(values) - len(finite), mean)


def _rank(rate: RateResult, higher: bool) -> tuple[int, float, float]:
    """Return a sort key that is least for the best rate."""
    if rate.mean is None:
        return rate.failed, math.inf, rate.lr
    return rate.failed, -rate.mean if higher else rate.mean, rate.lr


@dataclass(frozen=True)
class Arm:
    """One compared variant: usually just an activation, labelled by its name."""

    label: str
    activation: str
    settings: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """Settings under which activations are compared with each other."""

    label: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class ComparisonPlan:
    """All trials of a comparison."""

    trainable: Trainable
    arms: tuple[Arm, ...]
    conditions: tuple[Condition, ...]
    seeds: tuple[int, ...]
    tuning_seeds: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_labels("activation", [arm.label for arm in self.arms])
        _check_labels("condition", [condition.label for condition in self.conditions])
        _check_seeds(self.seeds, self.tuning_seeds)
        _check_rates(self.rates)
        if len(self.rates) > 1 and not self.tuning_seeds:
            raise ValueError(
                f"{len(self.rates)} learning rates and no tuning seeds: give one rate (lr), or "
                "at least one tuning seed"
            )

    @property
    def tuned(self) -> bool:
        """Whether learning rates are tuned."""
        return len(self.rates) > 1

    @property
    def counts(self) -> tuple[int, int]:
        """Number of tuning and of reported trials."""
        cells = len(self.arms) * len(self.conditions)
        tuning = len(self.rates) * len(self.tuning_seeds) if self.tuned else 0
        return cells * tuning, cells * len(self.seeds)

    def tuning(self) -> list[Trial]:
        """Return the tuning trials, ordered by seed."""
        if not self.tuned:
            return []
        return [
            self._trial(condition, arm, lr, seed, "tuning")
            for seed in self.tuning_seeds
            for condition in self.conditions
            for arm in self.arms
            for lr in self.rates
        ]

    def choose(self, outcomes: Iterable[Outcome]) -> Rates:
        """Return the learning rate of each arm under each condition, from its tuning trials."""
        cells: dict[tuple[str, str], list[Outcome]] = {}
        for outcome in outcomes:
            cells.setdefault((outcome.trial.condition, outcome.trial.arm), []).append(outcome)
        return {
            (condition.label, arm.label): self._rate(
                condition.label, arm.label, cells.get((condition.label, arm.label), [])
            )
            for condition in self.conditions
            for arm in self.arms
        }

    def reported(self, rates: Rates) -> list[Trial]:
        """Return the reported trials, ordered by seed."""
        return [
            self._trial(condition, arm, rates[condition.label, arm.label], seed, "reported")
            for seed in self.seeds
            for condition in self.conditions
            for arm in self.arms
        ]

    def _rate(self, condition: str, arm: str, tuning: list[Outcome]) -> float:
        if not self.tuned:
            return self.rates[0] if self.rates else NO_RATE
        return ChosenRate.of(arm, condition, tuning, self.trainable.measure).lr

    def _trial(self, condition: Condition, arm: Arm, lr: float, seed: int, role: Role) -> Trial:
        return Trial(
            task=self.trainable.name,
            arm=arm.label,
            activation=arm.activation,
            condition=condition.label,
            settings={**self.trainable.settings, **condition.settings, **arm.settings},
            lr=lr,
            seed=seed,
            role=role,
            fingerprint=self.trainable.fingerprint,
        )


def read_seeds(name: str, value: Any, first: int, minimum: int) -> tuple[int, ...]:
    """Return the given seeds, or consecutive ones from `first` for a number of seeds."""
    if isinstance(value, bool | str) or not isinstance(value, int | Iterable):
        raise TypeError(f"{name} = {value!r}: expected a number of seeds, or a list of them")
    if isinstance(value, int):
        if value < minimum:
            raise ValueError(f"{name} = {value}: expected at least {minimum}")
        return tuple(range(first, first + value))
    seeds = tuple(value)
    for seed in seeds:
        if type(seed) is not int or not 0 <= seed < 2**32:
            raise ValueError(f"seed {seed!r} in {name}: expected an integer in 0 … 2^32 - 1")
    return seeds


def _check_labels(kind: str, labels: list[str]) -> None:
    if not labels:
        raise ValueError(f"no {kind} to train: give at least one")
    duplicates = {label for label in labels if labels.count(label) > 1}
    if duplicates:
        raise ValueError(f"the {kind} {min(duplicates)!r} is given twice: give each once")


def _check_seeds(seeds: tuple[int, ...], tuning: tuple[int, ...]) -> None:
    if not seeds:
        raise ValueError("no seeds: expected at least 1")
    for name, values in (("seeds", seeds), ("tuning seeds", tuning)):
        if len(set(values)) < len(values):
            raise ValueError(f"{name} {values}: a seed is given twice and would repeat a trial")
    if common := set(seeds) & set(tuning):
        raise ValueError(
            f"seed {min(common)} is both a tuning and a reported seed: expected different ones, "
            "or the rate would be chosen on reported trials"
        )


def _check_rates(rates: tuple[float, ...]) -> None:
    for rate in rates:
        if not 0 < rate < math.inf:
            raise ValueError(f"learning rate {rate!r}: expected a finite number above 0")
    if len(set(rates)) < len(rates):
        raise ValueError(f"learning rates {rates}: a rate is given twice")
