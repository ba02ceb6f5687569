"""A comparison that is planned, and how it is run: tuning, then what counts, then the record."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from .execution import Event, open_executor
from .plan import Plan
from .presets import Preset
from .record import Comparison, Pairs
from .statistics import INSTALL, BestPossible
from .store import Store
from .trial import Outcome


class NothingTrainedError(ValueError):
    """Every trial that should choose a learning rate raised: there is nothing to go on with."""


@dataclass(frozen=True)
class Update:
    """How far a comparison is: what those who watch are told.

    Attributes
    ----------
    stage : {"tuning", "training"}
        Whether learning rates are chosen, or trials are run that count.
    plan : Plan
        What is trained; `plan.counts` are how many trials tune and how many are reported.
    event : Event
        How far the trials of this stage are.
    """

    stage: Literal["tuning", "training"]
    plan: Plan
    event: Event


Progress = Callable[[Update], None]


@dataclass(frozen=True)
class Study:
    """A comparison that is planned: what is trained, and what that can show."""

    plan: Plan
    possible: BestPossible
    baseline: str | None
    pairs: Pairs
    preset: Preset | None = None

    @property
    def notes(self) -> list[str]:
        """What one should know about what is compared, in sentences."""
        return self.plan.subject.notes([arm.activation for arm in self.plan.arms])

    def run(
        self,
        store: str | os.PathLike[str] | None = None,
        on: str = "local",
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        """Train what the store does not have, and return the record of all."""
        plan = self.plan
        for package in ("scipy", "statsmodels"):  # not after an hour of training
            if find_spec(package) is None:
                raise ImportError(INSTALL.format(package), name=package)

        def watch(stage: Literal["tuning", "training"]) -> Callable[[Event], None] | None:
            if progress is None:
                return None
            return lambda event: progress(Update(stage, plan, event))

        with open_executor(plan.subject, Store(store), on, jobs) as executor:
            tried = executor.run(plan.tuning(), watch("tuning")) if plan.tuned else []
            if tried and all(one.status == "raised" for one in tried):
                raise NothingTrainedError(f"no trial could be trained; the first: {tried[0].said}")
            done = executor.run(plan.reported(plan.choose(tried)), watch("training"))
        return self.record([*tried, *done])

    def record(self, outcomes: Sequence[Outcome]) -> Comparison:
        """Return what outcomes show."""
        plan, notes = self.plan, self.notes
        if self.preset is not None:
            notes = [*notes, *self.preset.found(outcomes)]
        return Comparison.of(
            outcomes,
            measure=plan.subject.measure,
            arms=[arm.label for arm in plan.arms],
            conditions=[condition.label for condition in plan.conditions],
            baseline=self.baseline,
            pairs=self.pairs,
            alpha=self.possible.alpha,
            about=plan.subject.describe(),
            notes=notes,
        )
