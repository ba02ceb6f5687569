"""The arguments of `compare`, checked and turned into a study before anything is trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from softgate.records.packages import require
from softgate.records.text import a_type
from softgate.runtime.registry import functions

from ..subjects import resolved, user_code
from .plan import FIRST_TUNING_SEED, Arm, ComparisonPlan, Condition, read_seeds
from .published_experiments import PublishedExperiment, preset
from .record import Pairs, check_pairs
from .run import PlannedComparison
from .scripts import UserTrainingLoop, is_function, is_loop, source
from .statistics import MinimumPValue, attainable_p, count_comparisons
from .tasks import task
from .trial import Trainable
from .trial_functions import PicklableFormula, TrainableWithFormulas, shown, trial_name
from .user_model import UserModel

SEEDS, TUNING_SEEDS, ALPHA = 8, 2, 0.05
"""Eight seeds can show a difference at 0.05 in six comparisons at once, five in none at all."""

FunctionLike = str | Callable[..., Any]


@dataclass(frozen=True)
class ComparisonRequest:
    """The arguments of `softgate.compare`, where they are documented."""

    what: str | os.PathLike[str] | Callable[..., Any]
    data: Any = None
    activations: FunctionLike | Iterable[FunctionLike] | None = None
    seeds: int | Iterable[int] | None = None
    tuning_seeds: int | Iterable[int] | None = None
    lr: float | None = None
    rates: Iterable[float] | None = None
    baseline: FunctionLike | None = None
    pairs: Pairs = "baseline"
    alpha: float | None = None
    data_dir: str | os.PathLike[str] | None = None
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def plan(self) -> PlannedComparison:
        """Return the planned comparison; raise an error if the request cannot be run."""
        if self.preset is None:
            return self._study(None)
        published = preset(self.preset)
        return self._with_preset(published)._study(published)

    def _with_preset(self, published: PublishedExperiment) -> ComparisonRequest:
        """Return the request with a preset's values for all arguments that were not given."""
        if self.what not in published.tasks:
            raise ValueError(
                f"the preset {published.name} is for {' and '.join(published.tasks)}, not "
                f"{self.what!r}"
            )
        changes: dict[str, Any] = {"settings": {**published.settings, **self.settings}}
        for name in ("activations", "seeds", "tuning_seeds"):
            if getattr(self, name) is None:
                changes[name] = getattr(published, name)
        if self.lr is None and self.rates is None:
            changes["rates"] = published.rates
        return replace(self, **changes)

    def _study(self, published: PublishedExperiment | None) -> PlannedComparison:
        trainable, names = self._trainable()
        rates = self._rates(trainable)
        tuning = TUNING_SEEDS if self.tuning_seeds is None else self.tuning_seeds
        plan = ComparisonPlan(
            trainable=trainable,
            arms=tuple(Arm(*arm) for arm in trainable.arms(names)),
            conditions=tuple(Condition(*condition) for condition in trainable.conditions),
            seeds=read_seeds("seeds", SEEDS if self.seeds is None else self.seeds, 0, minimum=1),
            tuning_seeds=()
            if len(rates) <= 1
            else read_seeds("tuning_seeds", tuning, FIRST_TUNING_SEED, minimum=0),
            rates=rates,
        )
        baseline = self._baseline(plan)
        return PlannedComparison(plan, self._attainable_p(plan), baseline, self.pairs, published)

    def _trainable(self) -> tuple[Trainable, list[str]]:
        """Return the trainable, and its activations as trials name them."""
        trainable = find_trainable(self.what, self.data, self.data_dir, self.settings)
        if self.activations is None:
            activations: list[FunctionLike] = list(trainable.default_activations)
        else:
            activations = resolved.several(self.activations)
        named = [trial_name(activation) for activation in activations]
        names = [name for name, _ in named]
        formulas = {formula.key: formula for _, formula in named if formula is not None}
        if not formulas:
            return trainable, names
        _check_names(formulas.values())
        return cast(Trainable, TrainableWithFormulas(trainable, tuple(formulas.values()))), names

    def _rates(self, trainable: Trainable) -> tuple[float, ...]:
        """Return the learning rates to tune over; one if nothing is tuned."""
        if self.lr is not None and self.rates is not None:
            raise ValueError(
                "lr and rates were given: lr is one rate for all, rates are tuned over; give one"
            )
        if self.rates is not None:
            rates = tuple(map(float, self.rates))
        elif self.lr is not None:
            rates = (float(self.lr),)
        else:
            return trainable.rates
        if not rates:
            raise ValueError("rates is empty: expected learning rates, such as [1e-3, 1e-4]")
        if not trainable.rates:
            raise ValueError(
                f"{trainable.name} has no learning rate that could be set: give its function a "
                "parameter for it, run(activation, seed, report, lr)"
            )
        return rates

    def _baseline(self, plan: ComparisonPlan) -> str | None:
        labels = [arm.label for arm in plan.arms]
        if self.baseline is None or self.baseline in labels:
            return self.baseline
        baseline = shown(trial_name(self.baseline)[0])
        if baseline not in labels:
            raise ValueError(
                f"baseline {baseline!r} is not trained: expected one of {', '.join(labels)}"
            )
        return baseline

    def _attainable_p(self, plan: ComparisonPlan) -> MinimumPValue:
        """Return the least p-value possible with the seeds of a plan."""
        if len(plan.arms) < 2:
            raise ValueError(
                f"only {plan.arms[0].label} is given: a comparison needs two activations, such as "
                "gelu and relu"
            )
        check_pairs(self.pairs)
        comparisons = count_comparisons(len(plan.arms), len(plan.conditions), self.pairs)
        return attainable_p(
            len(plan.seeds), comparisons, ALPHA if self.alpha is None else self.alpha
        )


def find_trainable(
    what: str | os.PathLike[str] | Callable[..., Any],
    data: Any = None,
    data_dir: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Trainable:
    """Return the trainable for a task's name, a model, or a training loop.

    Parameters
    ----------
    what : str or callable
        A task's name; `build(activation)`, which makes a model; or the text of a `build` or of a
        training loop, as "train.py:run" or "module:run".
    data : optional
        Data for a `build`, or a task's file.
    data_dir : path, optional
        A task's folder.
    settings : mapping, optional
        Settings other than the defaults.

    Raises
    ------
    ValueError, TypeError
        If there is no such task, or the arguments do not fit together.
    """
    chosen = dict(settings or {})
    if isinstance(what, str | os.PathLike) and is_function(os.fspath(what)):
        place = os.fspath(what)
        if is_loop(*source(place)):
            _check_unused("a script reads its data itself", data=data, data_dir=data_dir)
            return UserTrainingLoop(place, **chosen)
        what = user_code.load(*user_code.split(place))
    if callable(what):
        _check_unused("a build function takes its data as (x, y)", data_dir=data_dir)
        if data is None:
            raise ValueError(
                "a build function was given and no data: compare(build, (x, y)), a mapping with "
                "train, validation and test, an .npz file with x and y, or a function that returns "
                "data, as 'file.py:data'"
            )
        require("torch", "sklearn", purpose="a model of yours", extra="compare")
        return UserModel(what, data, **chosen)
    if not isinstance(what, str | os.PathLike):
        raise TypeError(
            f"{what!r} is {a_type(what)}: expected a task such as 'digits', a function "
            "build(activation), or code as 'train.py:run'"
        )
    name = os.fspath(what)
    if isinstance(data, list | tuple):
        raise TypeError(
            f"data = {data!r}: expected a file. For activations, use compare({name!r}, "
            f"activations={data!r})"
        )
    return task(name, data=data, data_dir=data_dir, settings=chosen)


def _check_unused(why: str, **arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} = {value!r} has no use here: {why}")


def _check_names(formulas: Collection[PicklableFormula]) -> None:
    names = [*functions(), *(formula.name for formula in formulas)]
    for formula in formulas:
        if names.count(formula.name) > 1:
            raise ValueError(
                f"the formula {formula.name}: another function has that name; give yours a name of "
                f"its own, as in @softgate.activation(name='my_{formula.name}')"
            )
