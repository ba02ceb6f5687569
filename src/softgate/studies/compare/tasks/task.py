"""Tasks: data, model and score of a bundled experiment, with settings for size and duration.

A task is a picklable description: it can be listed without a framework, and loads its data where
trials run. Most tasks train a multilayer perceptron as a classifier, which is the default here.

A setting may be a list, "8,48": activations are then compared under each value, as one condition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from softgate.frameworks.block_arguments import is_gated, unknown
from softgate.records.packages import require

from ..fingerprint import fingerprint
from ..trial import (
    DEFAULT_ACTIVATIONS,
    Arms,
    Measure,
    ProgressCallback,
    Setting,
    TrainingResult,
    Trial,
    TrialFunction,
)

if TYPE_CHECKING:
    from torch import nn

    from ..splits import Data
    from ..training import Objective


@dataclass(frozen=True)
class Option:
    """A setting of a task.

    Attributes
    ----------
    default : int, float, str, bool or None
        Value if none is given.
    about : str
        Short description.
    kind : type, optional
        Type of the values; that of the default if not given.
    minimum, maximum : float, optional
        Bounds.
    choices : tuple of str
        Accepted words; any if empty.
    listable : bool
        Whether a list makes conditions; if not, a comma is part of the text.
    """

    default: Setting
    about: str
    kind: type | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    listable: bool = True

    def read(self, name: str, value: Any) -> Setting:
        """Return a value, or the text "8,48" for a list; raise ValueError if it is invalid."""
        items: list[Any] = [value]
        if self.listable and isinstance(value, str):
            items = value.split(",")
        elif self.listable and isinstance(value, list | tuple):
            items = list(value)
        values = [self._read_item(name, item) for item in items]
        if len(set(values)) < len(values) or not values:
            raise ValueError(f"{name} = {value!r}: expected one value, or several different ones")
        return values[0] if len(values) == 1 else ",".join(map(shown, values))

    def _read_item(self, name: str, item: Any) -> Setting:
        kind = self.kind or type(self.default)
        text = item.strip() if isinstance(item, str) else item
        if self.default is None and text in (None, "", "None", "none"):
            return None
        try:
            value: Any = _READERS[kind](text)
        except (TypeError, ValueError, OverflowError):
            expected = _EXPECTED[kind]
            raise ValueError(f"{name} = {item!r}: expected {expected} ({self.about})") from None
        if self.choices and value not in self.choices:
            raise unknown(f"value of {name}", str(value), self.choices)
        if self.minimum is not None and not value >= self.minimum:
            raise ValueError(f"{name} = {value}: expected at least {self.minimum:g} ({self.about})")
        if self.maximum is not None and not value <= self.maximum:
            raise ValueError(f"{name} = {value}: expected at most {self.maximum:g} ({self.about})")
        return value


def shown(value: Setting) -> str:
    """Return a value as it is written in a list and in a condition's label."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or (not isinstance(value, str) and int(value) != value):
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not abs(number := float(value)) < float("inf"):
        raise ValueError
    return number


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


_READERS: dict[type, Any] = {int: _integer, float: _number, str: _word}
_EXPECTED = {int: "a whole number", float: "a number", str: "text"}


def read_options(
    task: str, options: Mapping[str, Option], values: Mapping[str, Any]
) -> dict[str, Setting]:
    """Return the values of all options, defaults where none is given; raise for unknown names."""
    for name in values:
        if name not in options:
            raise unknown(f"setting of {task}", name, options)
    return {
        name: option.read(name, values[name]) if name in values else option.default
        for name, option in options.items()
    }


def expand_conditions(
    options: Mapping[str, Option], settings: Mapping[str, Setting]
) -> tuple[tuple[str, dict[str, Setting]], ...]:
    """Return all combinations of settings that are lists; without any, one unnamed condition.

    Examples
    --------
    >>> options = {"layers": Option(8, "how many"), "width": Option(128, "how wide")}
    >>> expand_conditions(options, read_options("deep", options, {"layers": "8,48"}))
    (('layers=8', {'layers': 8}), ('layers=48', {'layers': 48}))
    """
    lists = {
        name: [option.read("", item) for item in str(settings[name]).split(",")]
        for name, option in options.items()
        if option.listable and isinstance(settings[name], str) and "," in str(settings[name])
    }
    conditions = []
    for values in product(*lists.values()):
        pairs = dict(zip(lists, values, strict=True))
        conditions.append((", ".join(f"{n}={shown(v)}" for n, v in pairs.items()), pairs))
    return tuple(conditions)


AUTO = "auto"
"""All layers have a norm, or none has: otherwise the norm would be part of the difference."""
ACCURACY = Measure("test accuracy", higher=True, percent=True)
INITIALISATIONS = {
    "he": "He initialisation",
    "fitted": "initialisation by the activation's gain",
    "rows": "weights of norm 1 per unit",
}

TRAINING = {
    "epochs": Option(30, "passes over the training data", minimum=1),
    "batch": Option(64, "examples per update", minimum=1),
    "same": Option(
        "steps", "the same number of steps for all, or the same time", choices=("steps", "time")
    ),
    "seconds": Option(None, "time of a trial's updates, for same=time", float, minimum=1e-3),
    "evaluations": Option(20, "evaluations on validation data during training", minimum=1),
}
"""Duration and batch size."""

MODEL = {
    "layers": Option(8, "hidden layers", minimum=1, maximum=1000),
    "width": Option(128, "units per hidden layer", minimum=1),
    "dropout": Option(
        0.0, "fraction of hidden units set to 0 in training", minimum=0, maximum=0.99
    ),
    "init": Option(
        "he",
        "initial weights: He's factor for all; fitted to the activation's gain; rows of norm 1",
        choices=tuple(INITIALISATIONS),
    ),
    "norm": Option(
        AUTO,
        "hidden layers that scale their inputs to a mean square of 1: gated ones, which overflow "
        "without it, all, or none; auto: all if a gated activation is compared, else none",
        choices=(AUTO, "gated", "all", "none"),
    ),
    "match": Option(
        "parameters",
        "quantity in which a gated model matches a plain one",
        choices=("parameters", "flops"),
    ),
}
"""Size and initial weights."""


def perceptron_options(without: tuple[str, ...] = (), **defaults: Setting) -> dict[str, Option]:
    """Return the options of a perceptron with other defaults, or without some."""
    return {
        name: replace(
            option,
            default=defaults.get(name, option.default),
            kind=option.kind or type(option.default),
        )
        for name, option in {**MODEL, **TRAINING}.items()
        if name not in without
    }


def gated_among(names: Iterable[str]) -> list[str]:
    """Return the names of gated activations."""
    return [name for name in names if is_gated(name.partition(":")[0])]


def check_seconds(settings: Mapping[str, Setting]) -> None:
    """Raise ValueError if same="time" and no time is given."""
    if "time" in str(settings.get("same")).split(",") and settings["seconds"] is None:
        raise ValueError(
            "same = 'time' needs seconds, the time of a trial's updates: seconds=5, or --seconds 5"
        )


def describe_training(settings: Mapping[str, Setting]) -> str:
    """Return optimizer, duration and batch size as text."""
    duration = "1 epoch" if settings["epochs"] == 1 else f"{settings['epochs']} epochs"
    if settings.get("same") == "time":
        duration = f"{settings['seconds']} s"
    return f"Adam, {duration}, batch size {settings['batch']}"


@dataclass(frozen=True)
class Task(ABC):
    """A bundled model with its data; created by `task`.

    Attributes
    ----------
    settings : mapping
        All settings with their values; a list, as "8,48", makes conditions.
    data : str or None
        A file given by the user.
    data_dir : str or None
        A folder given by the user.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    """The data and its split."""
    options: ClassVar[Mapping[str, Option]]
    rates: ClassVar[tuple[float, ...]] = (3e-4, 1e-3, 3e-3, 1e-2)
    """On digits, activations are best at 1e-3 or 3e-3; neither should be the end of the list."""
    default_activations: ClassVar[tuple[str, ...]] = DEFAULT_ACTIVATIONS
    needs: ClassVar[tuple[str, ...]] = ("torch", "sklearn")
    """Required packages."""
    takes: ClassVar[tuple[str, ...]] = ()
    """Which of "data" (a file) and "data_dir" (a folder) can be given."""

    settings: Mapping[str, Setting]
    data: str | None = None
    data_dir: str | None = None

    @property
    def measure(self) -> Measure:
        """Name and direction of the score."""
        return ACCURACY

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """Label and settings of each condition."""
        return expand_conditions(self.options, self.settings)

    def arms(self, names: list[str]) -> Arms:
        """Return label, activation and settings of each arm for these activations."""
        settings: dict[str, Setting] = {}
        if self.settings.get("norm") == AUTO:
            settings["norm"] = "all" if gated_among(names) else "none"
        return [(name, name, settings) for name in names]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of code, data and versions."""
        return fingerprint(self.needs, *self.content())

    def content(self) -> list[bytes]:
        """Return the data as bytes, unless a package's version determines it."""
        return []

    def describe(self) -> str:
        """Return one line on data, model and training."""
        return f"{self.about}; {self.describe_model()}; {self.describe_training()}"

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return sentences to print with a comparison of these activations."""
        gates, norm = gated_among(names), self.settings.get("norm")
        if not gates or norm not in (AUTO, "gated"):
            return []
        effect = (
            "all layers scale their inputs to a mean square of 1 here (norm=all); without a gated "
            "activation none does."
            if norm == AUTO
            else "gated layers scale their inputs to a mean square of 1 and others do not "
            "(norm=gated): a difference may be due to the norm."
        )
        return [
            f"{', '.join(gates)}: a stack of gated layers overflows without a norm, so {effect} "
            "Gated layers start close to their activation alone."
        ]

    def describe_model(self) -> str:
        """Return the model as text."""
        settings = self.settings
        dropout = "" if settings["dropout"] == 0 else f", dropout {settings['dropout']}"
        init = str(settings["init"])
        return (
            f"a perceptron of {settings['layers']} hidden layers of {settings['width']}{dropout}, "
            f"{INITIALISATIONS.get(init, f'initialisation {init}')}"
        )

    def describe_training(self) -> str:
        """Return optimizer, duration and batch size as text."""
        return describe_training(self.settings)

    def check(self) -> None:
        """Raise ValueError for contradictory settings, ImportError for a missing package."""
        require(*self.needs, purpose=f"the task {self.name}", extra="compare")
        norms = str(self.settings.get("norm")).split(",")
        if AUTO in norms and len(norms) > 1:
            raise ValueError(
                f"norm = {self.settings['norm']!r}: auto cannot be part of a list; list gated, all "
                "or none"
            )
        check_seconds(self.settings)

    @abstractmethod
    def load(self) -> Data:
        """Return the data, read or generated."""

    def objective(self) -> Objective:
        """Return loss and score."""
        from ..training import CLASSIFICATION

        return CLASSIFICATION

    def model(self, data: Data, trial: Trial) -> nn.Module:
        """Return the model of a trial, its weights drawn from the seed."""
        from ..models import perceptron

        return perceptron(data.inputs, data.outputs, trial)

    def run(
        self, data: Data, trial: Trial, progress: ProgressCallback
    ) -> tuple[TrainingResult, list[float]]:
        """Train and measure one model."""
        from ..training import train

        return train(self.model(data, trial), data, trial, progress, self.objective())

    def trial_function(self) -> TrialFunction:
        """Return the function that runs a trial, with the data loaded."""
        data = self.load()

        def run(trial: Trial, progress: ProgressCallback) -> tuple[TrainingResult, list[float]]:
            return self.run(data, trial, progress)

        return run
