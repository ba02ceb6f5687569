"""Which learning rate an arm is reported with: the best on validation data, and how it was found.

A rate that failed with fewer tuning seeds is the better one, then that of the better mean, then the
smaller. So a rate that once diverged is chosen only where every rate did, and nothing is averaged
over the seeds that happened to survive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .outcome import Outcome, Status
from .trainable import Measure


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
