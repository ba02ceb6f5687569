"""A user's own model and data: `build(activation)` makes the one, we split the other and train."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fingerprint import codeprint
from .outcome import Measured
from .tasks import options
from .tasks.fingerprint import fingerprint
from .tasks.task import TRAINING, gated_among
from .trainable import USUAL_ARMS, Measure, Told, Work
from .trial import Setting, Trial
from .user_data import Examples, examples

if TYPE_CHECKING:
    from torch import nn

    from .data import Data
    from .goals import Goal

Build = Callable[[Any], "nn.Module"]


@dataclass(frozen=True, init=False)
class Own:
    """A model of a user's, trained by us.

    Parameters
    ----------
    build : callable
        build(activation) returns an `nn.Module`. What it is given is a module itself, which may
        stand in several places of the model; for a gated function it is the function, for
        `softgate.torch.GatedFeedForward`. Torch's generators are seeded before each call, so all
        activations begin with the same weights.
    data : tuple or mapping
        (x, y), or a mapping with train, validation and test. y of whole numbers, bools or text are
        classes, floats are numbers to be predicted. Parts that are missing are taken from train.
    loss : callable, optional
        loss(output, y), a mean over the batch; cross entropy for classes, squares for numbers.
    score : callable, optional
        score(output, y) of all test examples; the share of right classes, or R², and the loss
        itself where that is one's own.
    higher : bool
        Whether more is better; for a `score` of one's own.
    **settings
        epochs, batch, same, seconds, evaluations.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> def build(activation):
    ...     return nn.Sequential(nn.Linear(4, 8), activation, nn.Linear(8, 2))
    >>> x = np.random.default_rng(0).normal(size=(50, 4))
    >>> Own(build, (x, x[:, 0] > 0)).describe()
    'build: 30 to learn from, 10 to choose by, 10 to test; 2 classes; Adam, 30 epochs in ...'
    """

    name = "build"
    rates = (3e-4, 1e-3, 3e-3)
    default_arms = USUAL_ARMS

    build: Build
    examples: Examples
    loss: Callable[..., Any] | None
    score: Callable[..., float] | None
    measure: Measure
    settings: Mapping[str, Setting] = field(hash=False)

    def __init__(
        self,
        build: Build,
        data: Any,
        *,
        loss: Callable[..., Any] | None = None,
        score: Callable[..., float] | None = None,
        higher: bool = True,
        **settings: Any,
    ) -> None:
        for what, given in (("build", build), ("loss", loss), ("score", score)):
            if given is not None and not callable(given):
                raise TypeError(f"{what} is a {type(given).__name__}: expected a function")
        found = examples(data)
        values = {
            "build": build,
            "examples": found,
            "loss": loss,
            "score": score,
            "measure": _measure(found, loss, score, higher),
            "settings": options.read(self.name, TRAINING, settings),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if "time" in str(self.settings["same"]).split(",") and self.settings["seconds"] is None:
            raise ValueError(
                "same = 'time' needs seconds, the time of a trial's updates: seconds=5"
            )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the user's code, of the data, of ours and of versions."""
        functions = [codeprint(part) for part in (self.build, self.loss, self.score)]
        ours = [Path(__file__), Path(__file__).with_name("user_data.py")]
        said = [*functions, str(self.measure), platform.python_version()]
        code = [*map(str.encode, said), *(file.read_bytes() for file in ours)]
        return fingerprint((), *code, *self.examples.sources)

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """Circumstances under which arms are compared, each a label and settings."""
        return options.conditions(TRAINING, self.settings)

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        """Return label, activation and settings of what is compared for these activations."""
        return [(name, name, {}) for name in names]

    def describe(self) -> str:
        """Say in a line what is trained on what."""
        chosen, classes = self.settings, self.examples.classes
        what = f"{len(classes)} classes" if classes else "numbers to be predicted"
        long = "1 epoch" if chosen["epochs"] == 1 else f"{chosen['epochs']} epochs"
        if chosen["same"] == "time":
            long = f"{chosen['seconds']} s"
        name = getattr(self.build, "__name__", type(self.build).__name__)
        return (
            f"{name}: {self.examples.sizes}; {what}; Adam, {long} in batches of {chosen['batch']}"
        )

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return what was done to the data, and what gated activations are to `build`."""
        gates = gated_among(names)
        if not gates:
            return list(self.examples.notes)
        gated = (
            f"{', '.join(gates)}: gated, so build is given the function, for "
            "softgate.torch.GatedFeedForward; how large the model is then is up to build."
        )
        return [*self.examples.notes, gated]

    def work(self) -> Work:
        """Return the function that runs a trial."""
        from .training import train

        data, goal = self.examples.tensors(), self._goal()

        def work(trial: Trial, told: Told) -> tuple[Measured, list[float]]:
            return train(self._model(trial, data), data, trial, told, goal)

        return work

    def _goal(self) -> Goal:
        from .goals import CLASSES, NUMBERS, Goal

        if self.loss is not None:
            return Goal(self.loss, self.score)
        usual = CLASSES if self.examples.classes else NUMBERS
        return Goal(usual.loss, self.score or usual.score)

    def _model(self, trial: Trial, data: Data) -> nn.Module:
        import torch
        from torch import nn

        from softgate.runtime.activation import Activation
        from softgate.torch import make

        from .functions import function

        found = function(trial.activation)
        given = make(found) if isinstance(found, Activation) else found
        torch.manual_seed(trial.seed)
        model = self.build(given)
        if not isinstance(model, nn.Module):
            raise TypeError(f"build returned a {type(model).__name__}: expected an nn.Module")
        self._check(model, data)
        return model

    def _check(self, model: nn.Module, data: Data) -> None:
        """Raise where the outputs cannot be what the data asks for; a loss might not notice."""
        import torch

        if self.loss is not None:
            return
        model.eval()
        with torch.no_grad():
            shape = tuple(model(data.train.x[:2]).shape)
        model.train()
        y = tuple(data.train.y[:2].shape)
        if self.examples.classes and (shape[:-1] != y or shape[-1] != data.outputs):
            raise ValueError(
                f"the model gives outputs of shape {shape} for 2 examples: expected "
                f"{(*y, data.outputs)}, a number for each class, or a loss= of your own"
            )
        if not self.examples.classes and shape not in (y, (*y, 1)):
            raise ValueError(
                f"the model gives outputs of shape {shape} for 2 examples: expected {y}, the shape "
                "of y, or a loss= of your own"
            )


def _measure(found: Examples, loss: Any, score: Any, higher: bool) -> Measure:
    if score is not None:
        return Measure(f"test {getattr(score, '__name__', 'score')}", higher)
    if loss is not None:
        return Measure("test loss", higher=False)
    if found.classes:
        return Measure("test accuracy", higher=True, percent=True)
    return Measure("test R²", higher=True)
