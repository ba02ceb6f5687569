"""What was asked for, checked and turned into a study before anything is trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated
from softgate.runtime.registry import functions

from .functions import Carrying, Formula, resolve, shown
from .plan import Arm, Condition, Plan, Trainable, reported_seeds, tuning_seeds
from .presets import Preset, preset
from .record import Pairs
from .run import Study
from .scripts import Script, is_script
from .statistics import BestPossible, best_possible, count_comparisons
from .tasks import task
from .user_model import Own


def trainable(
    what: str | os.PathLike[str] | Callable[..., Any],
    data: Any = None,
    data_dir: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Trainable:
    """Return what is trained.

    Parameters
    ----------
    what : str or callable
        A task's name, `build(activation)`, or "train.py:run".
    data : optional
        What a `build` is trained on, or a task's file.
    data_dir : path, optional
        A task's folder.
    settings : mapping, optional
        What is not as usual.

    Raises
    ------
    ValueError, TypeError
        Where there is no such task, or what is given does not go together.
    """
    chosen = dict(settings or {})
    if callable(what):
        _unused("a build function takes its data as (x, y)", data_dir=data_dir)
        if data is None:
            raise ValueError(
                "a build function was given and no data: compare(build, (x, y)), or a mapping "
                "with train, validation and test"
            )
        return Own(what, data, **chosen)
    if not isinstance(what, str | os.PathLike):
        raise TypeError(
            f"{what!r} is a {type(what).__name__}: expected a task such as 'digits', a function "
            "build(activation), or 'train.py:run'"
        )
    place = os.fspath(what)
    if is_script(place):
        _unused("a script reads its data itself", data=data, data_dir=data_dir)
        return Script(place, **chosen)
    if isinstance(data, list | tuple):
        raise TypeError(
            f"data = {data!r} is no file: were these activations? Then compare({place!r}, "
            f"activations={data!r})"
        )
    return task(place, data=data, data_dir=data_dir, settings=chosen)


def _unused(why: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} = {value!r} has no use here: {why}")


SEEDS, TUNING_SEEDS, ALPHA = 8, 2, 0.05
"""Eight seeds can show a difference at 0.05 in six comparisons at once, five in none at all."""

Named = str | Activation | Gated


@dataclass(frozen=True)
class Asked:
    """What a user wants compared: the arguments of `softgate.compare`, which says what they are."""

    what: str | os.PathLike[str] | Callable[..., Any]
    data: Any = None
    activations: Named | Iterable[Named] | None = None
    seeds: int | Iterable[int] | None = None
    tuning_seeds: int | Iterable[int] | None = None
    lr: float | None = None
    rates: Iterable[float] | None = None
    baseline: Named | None = None
    pairs: Pairs = "baseline"
    alpha: float | None = None
    data_dir: str | os.PathLike[str] | None = None
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def prepared(self) -> Study:
        """Return the study; ValueError, TypeError, OSError or ImportError where there is none."""
        if self.preset is None:
            return self._study(None)
        found = preset(self.preset)
        return self._as(found)._study(found)

    def _as(self, found: Preset) -> Asked:
        """Return the same with a preset's choices where there are none."""
        if self.what not in found.tasks:
            raise ValueError(
                f"the preset {found.name} is for {' and '.join(found.tasks)}, not {self.what!r}"
            )
        free = self.lr is None and self.rates is None
        return replace(
            self,
            activations=found.arms if self.activations is None else self.activations,
            seeds=found.seeds if self.seeds is None else self.seeds,
            tuning_seeds=found.tuning_seeds if self.tuning_seeds is None else self.tuning_seeds,
            rates=found.rates if free else self.rates,
            settings={**found.settings, **self.settings},
        )

    def _study(self, found: Preset | None) -> Study:
        subject, names = self._subject()
        rates = self._rates(subject)
        choosing = TUNING_SEEDS if self.tuning_seeds is None else self.tuning_seeds
        plan = Plan(
            subject=subject,
            arms=tuple(Arm(*arm) for arm in subject.arms(names)),
            conditions=tuple(Condition(*condition) for condition in subject.conditions),
            seeds=reported_seeds(SEEDS if self.seeds is None else self.seeds),
            tuning_seeds=tuning_seeds(choosing) if len(rates) > 1 else (),
            rates=rates,
        )
        baseline = self._baseline(plan)
        return Study(plan, self._possible(plan), baseline, self.pairs, found)

    def _subject(self) -> tuple[Trainable, list[str]]:
        """Return what is trained, and with which activations, as trials name them."""
        subject = trainable(self.what, self.data, self.data_dir, self.settings)
        if self.activations is None:
            given: list[Named] = list(subject.default_arms)
        elif isinstance(self.activations, str | Activation | Gated):
            given = [self.activations]
        else:
            given = list(self.activations)
        found = [resolve(one) for one in given]
        formulas = {formula.key: formula for _, formula in found if formula is not None}
        _check_names(formulas.values())
        texts = [text for text, _ in found]
        return (Carrying(subject, tuple(formulas.values())) if formulas else subject), texts

    def _rates(self, subject: Trainable) -> tuple[float, ...]:
        """Return the learning rates that are tried: one where nothing is tuned."""
        if self.lr is not None and self.rates is not None:
            raise ValueError(
                "lr and rates were given: lr is one rate for all, rates are to choose from"
            )
        if self.rates is not None:
            tried = tuple(map(float, self.rates))
        elif self.lr is not None:
            tried = (float(self.lr),)
        else:
            return subject.rates
        if not tried:
            raise ValueError("rates is empty: expected learning rates, such as [1e-3, 1e-4]")
        if not subject.rates:
            raise ValueError(
                f"{subject.name} has no learning rate that could be set: let its function take "
                "one, run(activation, seed, report, lr)"
            )
        return tried

    def _baseline(self, plan: Plan) -> str | None:
        labels = [arm.label for arm in plan.arms]
        if self.baseline is None or self.baseline in labels:
            return self.baseline
        found = shown(resolve(self.baseline)[0])
        if found not in labels:
            raise ValueError(
                f"baseline {found!r} is not trained: expected one of {', '.join(labels)}"
            )
        return found

    def _possible(self, plan: Plan) -> BestPossible:
        """Return what the seeds can show."""
        if len(plan.arms) < 2:
            raise ValueError(
                f"only {plan.arms[0].label} is there: a comparison needs two, such as gelu and relu"
            )
        if self.pairs not in ("baseline", "all"):
            raise ValueError(f"pairs = {self.pairs!r}: expected 'baseline' or 'all'")
        comparisons = count_comparisons(len(plan.arms), len(plan.conditions), self.pairs)
        alpha = ALPHA if self.alpha is None else self.alpha
        return best_possible(len(plan.seeds), comparisons, alpha)


def _check_names(formulas: Collection[Formula]) -> None:
    taken = [*functions(), *(formula.name for formula in formulas)]
    for formula in formulas:
        if taken.count(formula.name) > 1:
            raise ValueError(
                f"the formula {formula.name}: another one has that name; give yours one of its "
                f"own, as in @softgate.activation(name='my_{formula.name}')"
            )
