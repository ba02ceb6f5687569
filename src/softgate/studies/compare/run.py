"""A planned comparison and how it is run: tuning trials, reported trials, record."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from softgate.records.record import plain

from .. import counted
from .execution import Event, Executor
from .fingerprint import same_code
from .plan import ComparisonPlan
from .published_experiments import PublishedExperiment
from .record import Comparison, Pairs
from .statistics import MinimumPValue, library
from .store import Store, stored_outcomes
from .trial import Outcome


class NothingTrainedError(ValueError):
    """Every tuning trial raised, so no learning rate can be chosen."""


@dataclass(frozen=True)
class Update:
    """Progress of a comparison, passed to the `progress` callback.

    Attributes
    ----------
    stage : {"tuning", "training"}
        Whether tuning or reported trials are running.
    plan : ComparisonPlan
        The trials; `plan.counts` are the numbers of tuning and of reported trials.
    event : Event
        Progress of the trials of this stage.
    """

    stage: Literal["tuning", "training"]
    plan: ComparisonPlan
    event: Event


Progress = Callable[[Update], None]


@dataclass(frozen=True)
class PlannedComparison:
    """A planned comparison, and the least p-value possible with its seeds."""

    plan: ComparisonPlan
    attainable_p: MinimumPValue
    baseline: str | None
    pairs: Pairs
    preset: PublishedExperiment | None = None

    @property
    def notes(self) -> list[str]:
        """Sentences on the task and the compared activations."""
        return self.plan.trainable.notes([arm.activation for arm in self.plan.arms])

    def outdated(self, store: str | os.PathLike[str] | None) -> list[str]:
        """Return a sentence on stored trials of this study that other code computed, or nothing.

        A trial's key contains a hash of softgate's code, so such trials are not reused. Those that
        this version has computed as well are not counted.
        """
        if store is None or not Path(store).is_dir():
            return []
        current = self.plan.trainable.fingerprint
        plan = self.plan
        cells = [(condition.label, arm.label) for condition in plan.conditions for arm in plan.arms]
        # The identity of a reported trial has no learning rate: any will do.
        trials = [*plan.tuning(), *plan.reported(dict.fromkeys(cells, 0.0))]
        planned = {_identity(plain(trial)) for trial in trials}
        computed, outdated = set(), set()
        for outcome in stored_outcomes(store):
            identity = _identity(plain(outcome.trial))
            fingerprint = outcome.trial.fingerprint
            if fingerprint == current:
                computed.add(identity)
            elif outcome.status == "finished" and not same_code(fingerprint, current):
                outdated.add(identity)
        count = len(planned & outdated - computed)
        if not count:
            return []
        were, are = ("was", "is") if count == 1 else ("were", "are")
        return [
            f"store: {counted(count, 'trial')} {were} computed by another version of softgate's "
            f"code and {are} not reused"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan in JSON types."""
        plan, (tuning, reported) = self.plan, self.plan.counts
        return {
            "task": plan.trainable.name,
            "about": plan.trainable.describe(),
            "activations": [arm.label for arm in plan.arms],
            "conditions": [condition.label for condition in plan.conditions],
            "rates": list(plan.rates),
            "tuning_seeds": list(plan.tuning_seeds) if plan.tuned else [],
            "seeds": list(plan.seeds),
            "tuning_trials": tuning,
            "reported_trials": reported,
            "baseline": self.baseline,
            "pairs": self.pairs,
            "attainable_p": plain(self.attainable_p),
            "notes": self.notes,
        }

    def run(
        self,
        store: str | os.PathLike[str] | None = None,
        on: str = "local",
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        """Run the trials that the store does not hold, and return the record of all."""
        plan = self.plan
        for package in ("scipy", "statsmodels"):  # checked before training, not after
            library(package)
        outdated = self.outdated(store)

        def watch(stage: Literal["tuning", "training"]) -> Callable[[Event], None] | None:
            if progress is None:
                return None
            return lambda event: progress(Update(stage, plan, event))

        with Executor(plan.trainable, Store(store), on, jobs) as executor:
            tuning = executor.run(plan.tuning(), watch("tuning")) if plan.tuned else []
            if tuning and all(outcome.status == "raised" for outcome in tuning):
                raise NothingTrainedError(
                    f"no trial could be trained; the first: {tuning[0].message}"
                )
            reported = executor.run(plan.reported(plan.choose(tuning)), watch("training"))
        return self.record([*tuning, *reported], outdated)

    def record(self, outcomes: Sequence[Outcome], notes: Sequence[str] = ()) -> Comparison:
        """Return the comparison of outcomes, with further notes."""
        plan = self.plan
        published = [] if self.preset is None else self.preset.against_paper(outcomes)
        return Comparison.of(
            outcomes,
            measure=plan.trainable.measure,
            arms=[arm.label for arm in plan.arms],
            conditions=[condition.label for condition in plan.conditions],
            baseline=self.baseline,
            pairs=self.pairs,
            alpha=self.attainable_p.alpha,
            about=plan.trainable.describe(),
            notes=[*self.notes, *published, *notes],
        )


def _identity(trial: dict[str, Any]) -> str:
    """Return a trial without code and, if reported, without the tuned learning rate."""
    ignored = {"fingerprint", "lr"} if trial["role"] == "reported" else {"fingerprint"}
    return repr(sorted((name, _sorted(v)) for name, v in trial.items() if name not in ignored))


def _sorted(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value
