"""A task: data, a model, and what is measured; settings say how large and how long.

A task is data about data: it can be pickled, says what it is without a framework, and loads what
it needs where trials are run. Each one has a module of its own; what most have in common, a
multilayer perceptron that tells classes apart, is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from softgate.frameworks.block_arguments import is_gated, unknown

from ..fingerprint import fingerprint
from ..trial import USUAL_ARMS, Measure, Measured, Setting, Told, Trial, Work

if TYPE_CHECKING:
    from torch import nn

    from ..data import Data
    from ..training import Goal


@dataclass(frozen=True)
class Option:
    """One choice.

    Attributes
    ----------
    usual : int, float, str, bool or None
        What is taken unless something else is given.
    about : str
        What it is, in a few words.
    kind : type, optional
        What values are; that of the usual one by default.
    least : float, optional
        Values below are refused.
    most : float, optional
        Values above are refused.
    among : tuple of str
        The words that are accepted; all where it is empty.
    several : bool
        Whether a list makes conditions; where not, a comma is a part of the text.
    """

    usual: Setting
    about: str
    kind: type | None = None
    least: float | None = None
    most: float | None = None
    among: tuple[str, ...] = ()
    several: bool = True

    def read(self, name: str, given: Any) -> Setting:
        """Return a value, or of several their text, "8,48"; raise where it is none."""
        several: list[Any] = [given]
        if self.several and isinstance(given, str):
            several = given.split(",")
        elif self.several and isinstance(given, list | tuple):
            several = list(given)
        values = [self._one(name, value) for value in several]
        if len(set(values)) < len(values) or not values:
            raise ValueError(f"{name} = {given!r}: expected one value, or several that differ")
        return values[0] if len(values) == 1 else ",".join(map(shown, values))

    def _one(self, name: str, given: Any) -> Setting:
        kind = self.kind or type(self.usual)
        value = given.strip() if isinstance(given, str) else given
        if self.usual is None and value in (None, "", "None", "none"):
            return None
        try:
            found: Setting = _READERS[kind](value)
        except (TypeError, ValueError, OverflowError):
            expected = _EXPECTED[kind]
            raise ValueError(f"{name} = {given!r}: expected {expected} ({self.about})") from None
        if self.among and found not in self.among:
            raise unknown(f"value of {name}", str(found), self.among)
        self._check_range(name, found)
        return found

    def _check_range(self, name: str, value: Any) -> None:
        if self.least is not None and not value >= self.least:
            raise ValueError(f"{name} = {value}: expected at least {self.least:g} ({self.about})")
        if self.most is not None and not value <= self.most:
            raise ValueError(f"{name} = {value}: expected at most {self.most:g} ({self.about})")


def shown(value: Setting) -> str:
    """Return a value as it is written in a list and in a condition's label."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (not isinstance(value, str) and int(value) != value):
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not abs(found := float(value)) < float("inf"):
        raise ValueError
    return found


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


_READERS: dict[type, Any] = {int: _whole, float: _number, str: _word}
_EXPECTED = {int: "a whole number", float: "a number", str: "text"}


def read_options(
    task: str, options: Mapping[str, Option], given: Mapping[str, Any]
) -> dict[str, Setting]:
    """Return the values of all options, the usual ones where none is given; raise for others."""
    for name in given:
        if name not in options:
            raise unknown(f"setting of {task}", name, options)
    return {
        name: option.read(name, given[name]) if name in given else option.usual
        for name, option in options.items()
    }


def expand_conditions(
    options: Mapping[str, Option], settings: Mapping[str, Setting]
) -> tuple[tuple[str, dict[str, Setting]], ...]:
    """Return all combinations of the values of settings that are lists; without any, one unnamed.

    Examples
    --------
    >>> options = {"layers": Option(8, "how many"), "width": Option(128, "how wide")}
    >>> expand_conditions(options, read_options("deep", options, {"layers": "8,48"}))
    (('layers=8', {'layers': 8}), ('layers=48', {'layers': 48}))
    """
    listed = [
        (name, _values(option, settings[name]))
        for name, option in options.items()
        if option.several and isinstance(settings[name], str) and "," in str(settings[name])
    ]
    found = []
    for values in product(*(values for _, values in listed)):
        pairs = dict(zip((name for name, _ in listed), values, strict=True))
        found.append((", ".join(f"{n}={shown(v)}" for n, v in pairs.items()), pairs))
    return tuple(found)


def _values(option: Option, text: Setting) -> Iterable[Setting]:
    return [option.read("", one) for one in str(text).split(",")]


AUTO = "auto"
"""All arms have a norm, or none has: it would be a difference that no activation makes."""
ACCURACY = Measure("test accuracy", higher=True, percent=True)

TRAINING = {
    "epochs": Option(30, "how often all examples are seen", least=1),
    "batch": Option(64, "examples in an update", least=1),
    "same": Option(
        "steps", "what arms have in common: as many steps, or as much time", among=("steps", "time")
    ),
    "seconds": Option(None, "the time of all updates of a trial, for same=time", float, least=1e-3),
    "evaluations": Option(20, "how often the model is looked at on the way", least=1),
}
"""How long and in what portions."""

MODEL = {
    "layers": Option(8, "hidden layers", least=1, most=1000),
    "width": Option(128, "units in a hidden layer", least=1),
    "dropout": Option(
        0.0, "share of hidden units that is set to 0 in training", least=0, most=0.99
    ),
    "init": Option(
        "he",
        "initial weights: He's for all; fitted to the activation's own gain; rows of norm 1",
        among=("he", "fitted", "rows"),
    ),
    "norm": Option(
        AUTO,
        "which hidden layers bring their inputs to a mean square of 1 first: gated ones, which "
        "overflow without it, all, or none; auto: all where a gated arm is compared, else none",
        among=(AUTO, "gated", "all", "none"),
    ),
    "match": Option(
        "parameters",
        "what a gated model has as many of as a plain one",
        among=("parameters", "flops"),
    ),
}
"""How large, and with what weights it begins."""


def usual(without: tuple[str, ...] = (), **changed: Setting) -> dict[str, Option]:
    """Return the options of a perceptron with other usual values, or without some."""
    return {
        name: replace(
            option,
            usual=changed.get(name, option.usual),
            kind=option.kind or type(option.usual),
        )
        for name, option in {**MODEL, **TRAINING}.items()
        if name not in without
    }


def gated_among(names: Iterable[str]) -> list[str]:
    """Return those that are gated."""
    return [name for name in names if is_gated(name.partition(":")[0])]


@dataclass(frozen=True)
class Task(ABC):
    """What is trained on what; see `task`.

    Attributes
    ----------
    settings : mapping
        All choices with their values; a list, as "8,48", makes conditions.
    data : str or None
        A file given by the user.
    data_dir : str or None
        A folder given by the user.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    """The data in a few words, and how it is split."""
    options: ClassVar[Mapping[str, Option]]
    rates: ClassVar[tuple[float, ...]] = (3e-4, 1e-3, 3e-3, 1e-2)
    default_arms: ClassVar[tuple[str, ...]] = USUAL_ARMS
    needs: ClassVar[tuple[str, ...]] = ("torch", "sklearn")
    """Packages that must be installed."""
    takes: ClassVar[tuple[str, ...]] = ()
    """Whether a file ("data") or a folder ("data_dir") can be given."""

    settings: Mapping[str, Setting]
    data: str | None = None
    data_dir: str | None = None

    @property
    def measure(self) -> Measure:
        """What a score is."""
        return ACCURACY

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """Circumstances under which arms are compared, each a label and settings."""
        return expand_conditions(self.options, self.settings)

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        """Return label, activation and settings of what is compared for these activations."""
        settled: dict[str, Setting] = {}
        if self.settings.get("norm") == AUTO:
            settled["norm"] = "all" if gated_among(names) else "none"
        return [(name, name, settled) for name in names]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of code, data and versions."""
        return fingerprint(self.needs, *self.sources())

    def sources(self) -> list[bytes]:
        """Return what the data is made of, as far as no package's version says it."""
        return []

    def describe(self) -> str:
        """Say in a line what is trained on what."""
        return f"{self.about}; {self.architecture()}; {self.course()}"

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return what else one should know when these activations are compared, in sentences."""
        gates, norm = gated_among(names), self.settings.get("norm")
        if not gates or norm not in (AUTO, "gated"):
            return []
        lead = f"{', '.join(gates)}: a stack of gated layers overflows without a norm, so "
        if norm == AUTO:
            return [
                f"{lead}the layers of all arms bring what they read to a mean square of 1 here "
                "(norm=all); without a gated arm none does. Gated layers begin near their "
                "activation alone."
            ]
        return [
            f"{lead}these bring what they read to a mean square of 1, and layers of the others do "
            "not (norm=gated): a difference may be the norm's. Gated layers begin near their "
            "activation alone."
        ]

    def architecture(self) -> str:
        """Say what the model is."""
        chosen = self.settings
        dropout = "" if chosen["dropout"] == 0 else f", dropout {chosen['dropout']}"
        return (
            f"a perceptron of {chosen['layers']} hidden layers of {chosen['width']}{dropout}, "
            f"weights {chosen['init']}"
        )

    def course(self) -> str:
        """Say how it is trained."""
        chosen = self.settings
        long = "1 epoch" if chosen["epochs"] == 1 else f"{chosen['epochs']} epochs"
        if chosen.get("same") == "time":
            long = f"{chosen['seconds']} s"
        return f"Adam, {long} in batches of {chosen['batch']}"

    def check(self) -> None:
        """Raise where settings contradict each other or something is missing."""
        packages = [package for package in self.needs if find_spec(package) is None]
        if packages:
            raise ImportError(
                f'the task {self.name} needs {", ".join(packages)}: pip install "softgate[compare]"'
            )
        norms = str(self.settings.get("norm")).split(",")
        if AUTO in norms and len(norms) > 1:
            raise ValueError(
                f"norm = {self.settings['norm']!r}: auto stands alone; list gated, all or none"
            )
        timed = "time" in str(self.settings.get("same")).split(",")
        if timed and self.settings["seconds"] is None:
            raise ValueError(
                "same = 'time' needs seconds, the time of a trial's updates: seconds=5, or "
                "--seconds 5"
            )

    def each(self, name: str) -> list[Any]:
        """Return the values of a setting under all conditions."""
        return [chosen.get(name, self.settings[name]) for _, chosen in self.conditions]

    @abstractmethod
    def load(self) -> Data:
        """Return the data, read or made."""

    def goal(self) -> Goal:
        """Return the loss and the score."""
        from ..training import CLASSES

        return CLASSES

    def model(self, data: Data, trial: Trial) -> nn.Module:
        """Return the model of a trial, its weights drawn from the seed."""
        from ..models import perceptron

        return perceptron(data.inputs, data.outputs, trial)

    def run(self, data: Data, trial: Trial, told: Told) -> tuple[Measured, list[float]]:
        """Train and measure one model."""
        from ..training import train

        return train(self.model(data, trial), data, trial, told, self.goal())

    def work(self) -> Work:
        """Return the function that runs a trial: it has the data loaded."""
        data = self.load()

        def work(trial: Trial, told: Told) -> tuple[Measured, list[float]]:
            return self.run(data, trial, told)

        return work
