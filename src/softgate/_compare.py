"""`compare`: train the same model with each activation, and say honestly what differs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._activation import Activation
from ._gated import Gated
from ._names import functions
from .comparison.execution import Event, open_executor
from .comparison.functions import Carrying, Formula, resolve, shown
from .comparison.outcome import Outcome
from .comparison.plan import Arm, Condition, Plan, Trainable, reported_seeds
from .comparison.plan import tuning_seeds as choosing_seeds
from .comparison.record import Comparison
from .comparison.sources import trainable
from .comparison.statistics import BestPossible, best_possible, count_comparisons
from .comparison.store import Store

SEEDS, TUNING_SEEDS, ALPHA = 8, 2, 0.05
"""Eight seeds can show a difference at 0.05 in six comparisons at once, five in none at all."""

Pairs = Literal["baseline", "all"]
Build = Callable[[Any], Any]
Folder = str | os.PathLike[str]
Names = str | Activation | Gated | Iterable[str | Activation | Gated]


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


def compare(  # noqa: PLR0913  (settings of one study, by keyword)
    what: str | Build,
    data: Any = None,
    activations: Names | None = None,
    *,
    seeds: int | Iterable[int] = SEEDS,
    lr: float | None = None,
    rates: Iterable[float] | None = None,
    tuning_seeds: int | Iterable[int] = TUNING_SEEDS,
    baseline: str | Activation | Gated | None = None,
    pairs: Pairs = "baseline",
    alpha: float = ALPHA,
    data_dir: Folder | None = None,
    store: Folder | None = None,
    on: str = "local",
    jobs: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Comparison:
    """Train the same model with each activation, several times, and compare what comes out.

    For each seed all activations start from the same weights and see the same data in the same
    order. The learning rate is chosen for each on validation data, with seeds of its own; test data
    is looked at once, after training. The verdict is that of an exact sign-flip test of the paired
    differences with Holm's correction, and "no detectable difference" is one.

    Parameters
    ----------
    what : str or callable
        A task that comes with softgate: "digits", "mnist1d", "text", "deep", "swap", "churn", and
        with `data_dir` "mnist", "fashion-mnist" and "cifar10"; or `build(activation)`, which
        returns a torch module; or "train.py:run", a function `run(activation, seed, report)` in a
        file of yours.
    data : optional
        For a `build`: (x, y), or a mapping with train, validation and test. For text and churn: a
        file.
    activations : names or activations, optional
        What is compared: "gelu", "elu:alpha=0.5", "swiglu", a formula of your own. By default what
        the task is about.
    seeds, tuning_seeds : int or iterable of int
        How many seeds are reported, and how many choose learning rates; or which.
    lr : float, optional
        One learning rate for all: nothing is tuned.
    rates : iterable of float, optional
        The learning rates to choose from, instead of the task's.
    baseline : str or activation, optional
        What the others are compared with: the first by default.
    pairs : {"baseline", "all"}
        Compare with the baseline, or each with each.
    alpha : float
        The chance of finding a difference where there is none, over all comparisons.
    data_dir : path, optional
        Where the files of mnist, fashion-mnist or cifar10 are.
    store : path, optional
        A folder that keeps each trial in a file. What is there already is not trained again, so the
        same call goes on where one was interrupted, and more seeds only add.
    on : str
        "local" processes, "ray", or "ray://host:port".
    jobs : int, optional
        How many trials run at a time: as many as there are cores by default.
    progress : callable, optional
        Called with an `Update` now and then.
    **settings
        What the task lets one choose, such as epochs=5, width=64, match="flops", init="fitted",
        same="time".

    Returns
    -------
    Comparison
        A record: printed it is a summary, `save` draws it, `table` has a row for each trial.

    Notes
    -----
    Needs torch and more: pip install 'softgate[compare]'. Trials run in other processes, one thread
    each, and give the same bits wherever they run on the same kind of CPU.

    Examples
    --------
    >>> import softgate as sg
    >>> found = sg.compare(
    ...     "digits", activations=["gelu", "relu"], seeds=2, lr=1e-3, epochs=1, jobs=1, alpha=0.5
    ... )
    >>> found.differences[0].verdict
    'no detectable difference'
    """
    study = prepare(
        what, data, activations, seeds=seeds, lr=lr, rates=rates, tuned_with=tuning_seeds,
        baseline=baseline, pairs=pairs, alpha=alpha, data_dir=data_dir, settings=settings,
    )  # fmt: skip
    if not study.possible.enough:
        warnings.warn(str(study.possible), UserWarning, stacklevel=2)
    return study.run(store, on, jobs, progress)


@dataclass(frozen=True)
class Study:
    """A comparison that is planned: what is trained, and what that can show."""

    plan: Plan
    possible: BestPossible
    baseline: str | None
    pairs: Pairs

    def run(
        self,
        store: Folder | None = None,
        on: str = "local",
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        """Train what the store does not have, and return the record of all."""
        plan = self.plan

        def watch(stage: Literal["tuning", "training"]) -> Callable[[Event], None] | None:
            if progress is None:
                return None
            return lambda event: progress(Update(stage, plan, event))

        with open_executor(plan.subject, Store(store), on, jobs) as executor:
            tried = executor.run(plan.tuning(), watch("tuning")) if plan.tuned else []
            if tried and all(one.status == "raised" for one in tried):
                raise ValueError(f"no trial could be trained; the first: {tried[0].said}")
            done = executor.run(plan.reported(plan.choose(tried)), watch("training"))
        return self.record([*tried, *done])

    def record(self, outcomes: Iterable[Outcome]) -> Comparison:
        """Return what outcomes show."""
        plan = self.plan
        return Comparison.of(
            outcomes,
            measure=plan.subject.measure,
            arms=[arm.label for arm in plan.arms],
            conditions=[condition.label for condition in plan.conditions],
            baseline=self.baseline,
            pairs=self.pairs,
            alpha=self.possible.alpha,
            about=plan.subject.describe(),
            notes=plan.subject.notes(),
        )


def prepare(  # noqa: PLR0913  (settings of one study, by keyword)
    what: str | Build,
    data: Any,
    activations: Names | None,
    *,
    seeds: int | Iterable[int],
    tuned_with: int | Iterable[int],
    lr: float | None,
    rates: Iterable[float] | None,
    baseline: str | Activation | Gated | None,
    pairs: Pairs,
    alpha: float,
    data_dir: Folder | None,
    settings: Mapping[str, Any],
) -> Study:
    """Return the study that `compare` runs; arguments as there."""
    subject, names = _subject(what, data, activations, data_dir, settings)
    tried = _rates(subject, lr, rates)
    plan = Plan(
        subject=subject,
        arms=tuple(Arm(*arm) for arm in subject.arms(names)),
        conditions=tuple(Condition(*condition) for condition in subject.conditions),
        seeds=reported_seeds(seeds),
        tuning_seeds=choosing_seeds(tuned_with) if len(tried) > 1 else (),
        rates=tried,
    )
    against = None if baseline is None else shown(resolve(baseline)[0])
    return Study(plan, _possible(plan, against, pairs, alpha), against, pairs)


def _subject(
    what: str | Build,
    data: Any,
    activations: Names | None,
    data_dir: Folder | None,
    settings: Mapping[str, Any],
) -> tuple[Trainable, list[str]]:
    """Return what is trained, and with which activations, as trials name them."""
    subject = trainable(what, data, data_dir, settings)
    if activations is None:
        given: list[str | Activation | Gated] = list(subject.default_arms)
    elif isinstance(activations, str | Activation | Gated):
        given = [activations]
    else:
        given = list(activations)
    found = [resolve(one) for one in given]
    formulas = {formula.key: formula for _, formula in found if formula is not None}
    _check_names(formulas.values())
    texts = [text for text, _ in found]
    return (Carrying(subject, tuple(formulas.values())) if formulas else subject), texts


def _check_names(formulas: Collection[Formula]) -> None:
    taken = [*functions(), *(formula.name for formula in formulas)]
    for formula in formulas:
        if taken.count(formula.name) > 1:
            raise ValueError(
                f"the formula {formula.name}: another one has that name; give yours one of its "
                f"own, as in @softgate.activation(name='my_{formula.name}')"
            )


def _rates(
    subject: Trainable, lr: float | None, rates: Iterable[float] | None
) -> tuple[float, ...]:
    """Return the learning rates that are tried: one where nothing is tuned."""
    if lr is not None and rates is not None:
        raise ValueError(
            "lr and rates were given: lr is one rate for all, rates are to choose from"
        )
    if rates is not None:
        tried = tuple(map(float, rates))
    elif lr is not None:
        tried = (float(lr),)
    else:
        return subject.rates
    if not subject.rates:
        raise ValueError(
            f"{subject.name} has no learning rate that could be set: let its function take one, "
            "run(activation, seed, report, lr)"
        )
    return tried


def _possible(plan: Plan, baseline: str | None, pairs: Pairs, alpha: float) -> BestPossible:
    """Return what the seeds can show; ValueError where what is asked for makes no sense."""
    labels = [arm.label for arm in plan.arms]
    if len(labels) < 2:
        raise ValueError(
            f"only {labels[0]} is there: a comparison needs two, such as gelu and relu"
        )
    if baseline is not None and baseline not in labels:
        raise ValueError(f"baseline {baseline!r} is not trained: expected one of {labels}")
    comparisons = count_comparisons(len(labels), len(plan.conditions), pairs)
    return best_possible(len(plan.seeds), comparisons, alpha)
