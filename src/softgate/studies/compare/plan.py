"""What is trained: first the trials that choose a learning rate, then those that count.

Every arm gets the same rates and the same tuning seeds, and is judged there on validation data
alone; the reported seeds are others. They begin at 0 whatever their number, so that more seeds only
add trials to those that a store has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from .trial import Measure, Outcome, Role, Setting, Status, Subject, Trial


@dataclass(frozen=True)
class Tuned:
    """A tuning trial in short: how it ended, and the validation figure that counts."""

    lr: float
    seed: int
    status: Status
    value: float | None


@dataclass(frozen=True)
class Rate:
    """A learning rate that was tried: with how many seeds, and how it did.

    `mean` is over the seeds that did not fail, None where all did.
    """

    lr: float
    seeds: int
    failed: int
    mean: float | None


@dataclass(frozen=True)
class Choice:
    """How the learning rate of an arm under a condition was chosen."""

    arm: str
    condition: str
    lr: float
    by: Literal["validation score", "validation loss"]
    rates: tuple[Rate, ...]
    """From the smallest to the largest."""
    trials: tuple[Tuned, ...]

    @classmethod
    def of(cls, arm: str, condition: str, outcomes: Iterable[Outcome], measure: Measure) -> Choice:
        """Return the choice that tuning trials of one arm under one condition lead to.

        Parameters
        ----------
        arm, condition : str
            Whose outcomes these are.
        outcomes : iterable of Outcome
            Tuning trials: every rate with the same seeds.
        measure : Measure
            What a score is, and whether more is better.

        Raises
        ------
        ValueError
            If there are none, one of them is reported or somebody else's, or no trial that
            finished has a validation figure.
        """
        tried = list(outcomes)
        _check(arm, condition, tried)
        done = [one for one in tried if one.status == "finished"]
        scored = all(one.measured.validation_score is not None for one in done)
        trials = tuple(
            Tuned(one.trial.lr, one.trial.seed, one.status, _value(one, scored)) for one in tried
        )
        if done and all(one.value is None for one in trials):
            raise ValueError(
                f"no tuning trial of {arm} has a validation score or loss to choose a learning "
                "rate by: report one, or give the rate (lr)"
            )
        higher = measure.higher if scored else False
        rates = tuple(_rate(lr, trials) for lr in sorted({one.lr for one in trials}))
        best = min(rates, key=lambda rate: _rank(rate, higher))
        return cls(
            arm, condition, best.lr, "validation score" if scored else "validation loss",
            rates, trials,
        )  # fmt: skip

    @property
    def edge(self) -> Literal["smallest", "largest"] | None:
        """Which end of the rates that were tried the chosen one is, if it is one."""
        if len(self.rates) == 1:
            return None
        ends = {self.rates[0].lr: "smallest", self.rates[-1].lr: "largest"}
        return ends.get(self.lr)  # type: ignore[return-value]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds it was chosen with."""
        return tuple(sorted({one.seed for one in self.trials}))


def _check(arm: str, condition: str, tried: list[Outcome]) -> None:
    if not tried:
        raise ValueError(f"{arm} has no tuning trials to choose a learning rate by")
    for one in tried:
        trial = one.trial
        if (trial.arm, trial.condition, trial.role) != (arm, condition, "tuning"):
            raise ValueError(
                f"a {trial.role} trial of {trial.arm!r} under {trial.condition!r}: expected tuning "
                f"trials of {arm!r} under {condition!r}"
            )


def _value(one: Outcome, scored: bool) -> float | None:
    """Return the figure that counts, None where the trial failed or it is no number."""
    found = one.measured.validation_score if scored else one.measured.validation_loss
    usable = one.status == "finished" and found is not None and math.isfinite(found)
    return found if usable else None


def _rate(lr: float, trials: tuple[Tuned, ...]) -> Rate:
    own = [one.value for one in trials if one.lr == lr]
    kept = [value for value in own if value is not None]
    mean = math.fsum(kept) / len(kept) if kept else None
    return Rate(lr, len(own), len(own) - len(kept), mean)


def _rank(rate: Rate, higher: bool) -> tuple[int, float, float]:
    """Return what is least for the best rate."""
    if rate.mean is None:
        return rate.failed, math.inf, rate.lr
    return rate.failed, -rate.mean if higher else rate.mean, rate.lr


FIRST_TUNING_SEED = 1_000_000
"""Far from the reported ones, which begin at 0."""
NO_RATE = 0.0
"""What stands for the learning rate where a user's script keeps it to itself."""

Chosen = Mapping[tuple[str, str], float]
"""Learning rates by condition and arm."""


class Trainable(Subject, Protocol):
    """A subject that says what can be chosen about it."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """All choices with their values."""

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates that are tried by default; none where there is none to choose."""

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """Circumstances under which arms are compared, each a label and settings."""

    @property
    def default_arms(self) -> tuple[str, ...]:
        """The activations that are compared unless others are named."""

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        """Return label, activation and settings of what is compared for these activations."""

    def describe(self) -> str:
        """Say in a line what is trained on what."""

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return what else one should know where these activations are compared, in sentences."""


@dataclass(frozen=True)
class Arm:
    """What is compared: mostly an activation."""

    label: str
    activation: str
    settings: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """Circumstances under which arms are compared with each other."""

    label: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """All that is to be trained."""

    subject: Trainable
    arms: tuple[Arm, ...]
    conditions: tuple[Condition, ...]
    seeds: tuple[int, ...]
    tuning_seeds: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_named("arm", [arm.label for arm in self.arms])
        _check_named("condition", [condition.label for condition in self.conditions])
        _check_seeds(self.seeds, self.tuning_seeds)
        _check_rates(self.rates)
        if len(self.rates) > 1 and not self.tuning_seeds:
            raise ValueError(
                f"{len(self.rates)} learning rates and no tuning seeds: name one rate (lr), or "
                "leave a tuning seed to choose with"
            )

    @property
    def tuned(self) -> bool:
        """Whether learning rates are chosen."""
        return len(self.rates) > 1

    @property
    def counts(self) -> tuple[int, int]:
        """How many trials choose learning rates, and how many are reported."""
        cells = len(self.arms) * len(self.conditions)
        tuning = len(self.rates) * len(self.tuning_seeds) if self.tuned else 0
        return cells * tuning, cells * len(self.seeds)

    def tuning(self) -> list[Trial]:
        """Return the trials that choose learning rates: seed by seed, all arms side by side."""
        if not self.tuned:
            return []
        return [
            self._trial(condition, arm, lr, seed, "tuning")
            for seed in self.tuning_seeds
            for condition in self.conditions
            for arm in self.arms
            for lr in self.rates
        ]

    def choose(self, outcomes: Iterable[Outcome]) -> Chosen:
        """Return the learning rate of each arm under each condition, from its tuning trials."""
        found: dict[tuple[str, str], list[Outcome]] = {}
        for one in outcomes:
            found.setdefault((one.trial.condition, one.trial.arm), []).append(one)
        return {
            (condition.label, arm.label): self._rate(
                condition.label, arm.label, found.get((condition.label, arm.label), [])
            )
            for condition in self.conditions
            for arm in self.arms
        }

    def reported(self, chosen: Chosen) -> list[Trial]:
        """Return the trials that count: seed by seed, all arms side by side."""
        return [
            self._trial(condition, arm, chosen[condition.label, arm.label], seed, "reported")
            for seed in self.seeds
            for condition in self.conditions
            for arm in self.arms
        ]

    def _rate(self, condition: str, arm: str, tried: list[Outcome]) -> float:
        if not self.tuned:
            return self.rates[0] if self.rates else NO_RATE
        return Choice.of(arm, condition, tried, self.subject.measure).lr

    def _trial(self, condition: Condition, arm: Arm, lr: float, seed: int, role: Role) -> Trial:
        return Trial(
            task=self.subject.name,
            arm=arm.label,
            activation=arm.activation,
            condition=condition.label,
            settings={**self.subject.settings, **condition.settings, **arm.settings},
            lr=lr,
            seed=seed,
            role=role,
            fingerprint=self.subject.fingerprint,
        )


def reported_seeds(given: int | Iterable[int]) -> tuple[int, ...]:
    """Return the seeds that count: so many from 0 on, or those given."""
    return _seeds("seeds", given, 0, least=1)


def tuning_seeds(given: int | Iterable[int]) -> tuple[int, ...]:
    """Return the seeds that choose learning rates: so many, far from the others, or those given."""
    return _seeds("tuning_seeds", given, FIRST_TUNING_SEED, least=0)


def _seeds(what: str, given: Any, first: int, least: int) -> tuple[int, ...]:
    if isinstance(given, bool | str) or not isinstance(given, int | Iterable):
        raise TypeError(f"{what} = {given!r}: expected a number of seeds, or a list of them")
    if isinstance(given, int):
        if given < least:
            raise ValueError(f"{what} = {given}: expected at least {least}")
        return tuple(range(first, first + given))
    seeds = tuple(given)
    for seed in seeds:
        if type(seed) is not int or not 0 <= seed < 2**32:
            raise ValueError(f"the seed {seed!r} of {what}: expected an integer in 0 … 2^32 - 1")
    return seeds


def _check_named(what: str, labels: list[str]) -> None:
    if not labels:
        raise ValueError(f"there is no {what} to train")
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise ValueError(f"the {what} {min(twice)!r} is given twice: name each once")


def _check_seeds(seeds: tuple[int, ...], tuning: tuple[int, ...]) -> None:
    if not seeds:
        raise ValueError("there are no seeds: expected at least 1")
    for what, some in (("seeds", seeds), ("tuning seeds", tuning)):
        if len(set(some)) < len(some):
            raise ValueError(f"{what} {some}: one is given twice, and would be the same trial")
    if common := set(seeds) & set(tuning):
        raise ValueError(
            f"seed {min(common)} both chooses learning rates and is reported: expected others for "
            "tuning, or what is chosen for a seed would count on it"
        )


def _check_rates(rates: tuple[float, ...]) -> None:
    for rate in rates:
        if not 0 < rate < math.inf:
            raise ValueError(f"the learning rate {rate!r}: expected a number above 0")
    if len(set(rates)) < len(rates):
        raise ValueError(f"learning rates {rates}: one is given twice")
