"""One model trained, looked at on the way, and measured at the end.

Adam at one rate; the order of examples and what dropout drops come from the seed. Test data is
looked at once, after the last update, and not at all where a trial only chooses a rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softgate.torch import diagnose

from .data import Data, Part
from .models import operations, parameters
from .trial import Diverged, Measured, Point, SiteHealth, Told, Trial

Of = Callable[[Tensor, Tensor], Tensor]
"""A function of a model's outputs and of what they should be."""


@dataclass(frozen=True)
class Goal:
    """A loss, and what is made of outputs or of the loss for people to read.

    Attributes
    ----------
    loss : callable
        loss(output, y): the mean over a batch.
    score : callable or None
        score(output, y) of all examples of a part at once.
    of_loss : callable or None
        The score where it is only the loss in another unit; then no outputs are kept.
    """

    loss: Of
    score: Callable[[Tensor, Tensor], float] | None = None
    of_loss: Callable[[float], float] | None = None


def cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    """Return the mean of -log p of the right class; classes are the last axis."""
    return F.cross_entropy(output.flatten(0, -2), y.flatten())


def accuracy(output: Tensor, y: Tensor) -> float:
    """Return the share of examples whose right class has the largest output."""
    return int((output.argmax(-1) == y).sum()) / y.numel()


def r_squared(output: Tensor, y: Tensor) -> float:
    """Return the share of the targets' variance that outputs explain."""
    y = y.double()
    left = (output.double().reshape(y.shape) - y).square().sum()
    return float(1 - left / (y - y.mean(0)).square().sum())


def squares(output: Tensor, y: Tensor) -> Tensor:
    """Return the mean of squared differences."""
    return F.mse_loss(output.reshape(y.shape), y)


CLASSES = Goal(cross_entropy, accuracy)
CHARACTERS = Goal(cross_entropy, of_loss=lambda loss: loss / math.log(2))
NUMBERS = Goal(squares, r_squared)


def area(output: Tensor, y: Tensor) -> float:
    """Return the area under the ROC curve of two classes, from their difference of outputs."""
    from sklearn.metrics import roc_auc_score

    with torch.no_grad():
        return float(roc_auc_score(y.numpy(), (output[:, 1] - output[:, 0]).double().numpy()))


TWO_CLASSES = Goal(cross_entropy, area)


AT_ONCE = 8192
"""So many positions are evaluated together."""
LOOKED_AT = 4096
"""So many positions of validation data, at most, does the diagnosis at the end see."""
ORDER, DROPPED = 1 << 32, 2 << 32
"""What is added to a seed, so that weights, order and dropout are not made of the same numbers."""
QUIET = 0.2
"""Seconds between two words to those who watch."""


class Seen(NamedTuple):
    """Loss and score on a part of the data."""

    loss: float
    score: float


@dataclass
class Run:
    """A model in training, and what was seen of it until now.

    `go` may be called again, with a new optimizer: a task can change the model in between.
    """

    model: nn.Module
    data: Data
    trial: Trial
    told: Told
    goal: Goal = CLASSES
    step: int = 0
    curve: list[Point] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """Of each update, in seconds: forward, backward and Adam; evaluation is not in it."""

    def __post_init__(self) -> None:
        batch: Any = self.trial.settings["batch"]
        self.batches = _batches(self.data.train, batch, self.trial.seed)
        self.an_epoch = math.ceil(len(self.data.train) / batch)
        """Updates in it."""

    def go(self, epochs: float, lr: float, looks: int, seconds: float | None = None) -> None:
        """Train for so many epochs, or where `seconds` is given until updates took so long."""
        steps = max(1, round(epochs * self.an_epoch))
        before, spent, looked = self.step, 0.0, 0
        adam, losses, word = self._adam(lr), list[float](), perf_counter()
        self.model.train()
        while looked < looks:
            value, took = self._update(adam)
            losses.append(value)
            spent += took
            share = min(1.0, spent / seconds if seconds else (self.step - before) / steps)
            if perf_counter() - word > QUIET:
                word = perf_counter()
                self.told(self.step, before + round((self.step - before) / share), value)
            if share * looks >= looked + 1:
                looked = int(share * looks)
                self._look(losses)
                losses = []

    def _adam(self, lr: float) -> torch.optim.Adam:
        learnt = [p for p in self.model.parameters() if p.requires_grad]
        # One kernel for all parameters; it takes no complex ones.
        return torch.optim.Adam(learnt, lr=lr, fused=all(p.is_floating_point() for p in learnt))

    def _update(self, adam: torch.optim.Adam) -> tuple[float, float]:
        """Return the loss before an update, and how long it took."""
        x, y = next(self.batches)
        began = perf_counter()
        adam.zero_grad()
        loss = self.goal.loss(self.model(x), y)
        loss.backward()
        adam.step()
        value = loss.item()
        took = perf_counter() - began
        self.times.append(took)
        self.step += 1
        if not math.isfinite(value):
            raise Diverged(self.step, self._so_far())
        return value, took

    def _look(self, losses: list[float]) -> None:
        mean = math.fsum(losses) / len(losses)
        seen = self.see(self.data.validation)
        self.curve.append(Point(self.step, mean, seen.loss, seen.score))
        if not math.isfinite(seen.loss):
            raise Diverged(self.step, self._so_far(), "the loss on validation data is not finite")

    def see(self, part: Part) -> Seen:
        """Return loss and score of the model as it is."""
        return evaluate(self.model, part, self.goal)

    def _so_far(self) -> Measured:
        return Measured(curve=tuple(self.curve), steps=self.step, parameters=parameters(self.model))

    def measured(self, more: dict[str, float] | None = None) -> Measured:
        """Return what the trained model is like; this is where test data is looked at."""
        last = self.curve[-1]  # made after the last update: `go` ends with a look
        test = self.see(self.data.test) if self.trial.role == "reported" else None
        if test is not None and not math.isfinite(test.loss):
            raise Diverged(self.step, self._so_far(), "the loss on test data is not finite")
        sites, ratio = health(self.model, self.data.validation, self.goal)
        return Measured(
            score=None if test is None else test.score,
            loss=None if test is None else test.loss,
            validation_score=last.validation_score,
            validation_loss=last.validation_loss,
            curve=tuple(self.curve),
            steps=self.step,
            parameters=parameters(self.model),
            flops=operations(self.model, self.data.validation.x[0]),
            sites=sites,
            gradient_ratio=ratio,
            more=more,
        )


def train(
    model: nn.Module, data: Data, trial: Trial, told: Told, goal: Goal = CLASSES
) -> tuple[Measured, list[float]]:
    """Train a model as a trial says and measure it.

    Parameters
    ----------
    model : torch.nn.Module
        It is trained in place.
    data : Data
        What is learnt from, chosen by and tested on.
    trial : Trial
        Its rate, its seed, its role, and of its settings `epochs`, `batch`, `evaluations`, `same`
        and `seconds`.
    told : callable
        Is told step, steps and loss a few times a second.
    goal : Goal
        Loss and score; cross entropy and accuracy by default.

    Returns
    -------
    Measured, list of float
        What it gave, and the time of every update in seconds.
    """
    settings: Any = trial.settings
    seconds = settings["seconds"] if settings["same"] == "time" else None
    with seeded(trial.seed):
        run = Run(model, data, trial, told, goal)
        run.go(settings["epochs"], trial.lr, settings["evaluations"], seconds)
        return run.measured(), run.times


class seeded:  # noqa: N801 - read as a word: with seeded(seed)
    """Within it, torch's own random numbers (those of dropout) come from a seed; then as before."""

    def __init__(self, seed: int) -> None:
        self.seed, self.fork = seed, torch.random.fork_rng(devices=[])

    def __enter__(self) -> None:
        self.fork.__enter__()
        torch.manual_seed(DROPPED + self.seed)

    def __exit__(self, *error: Any) -> None:
        self.fork.__exit__(*error)


def _batches(part: Part, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches for ever, each pass over the examples in another order."""
    generator = torch.Generator().manual_seed(ORDER + seed)
    while True:
        for rows in torch.randperm(len(part), generator=generator).split(batch):
            yield part.x[rows], part.y[rows]


def evaluate(model: nn.Module, part: Part, goal: Goal) -> Seen:
    """Return loss and score of a model on a part of the data."""
    portion = max(1, AT_ONCE // _positions(part))
    total, outputs = 0.0, []
    model.eval()
    with torch.no_grad():
        for x, y in zip(part.x.split(portion), part.y.split(portion), strict=True):
            output = model(x)
            total += goal.loss(output, y).item() * len(y)
            if goal.score is not None:
                outputs.append(output)
    model.train()
    loss = total / len(part)
    if goal.score is None:
        return Seen(loss, loss if goal.of_loss is None else goal.of_loss(loss))
    if not math.isfinite(loss):
        return Seen(loss, math.nan)
    return Seen(loss, goal.score(torch.cat(outputs), part.y))


def _positions(part: Part) -> int:
    """Return how many things there are to tell of an example: the characters of a text, else 1."""
    return max(1, part.y[:1].numel())


def health(model: nn.Module, part: Part, goal: Goal) -> tuple[tuple[SiteHealth, ...], float | None]:
    """Return what activations do on a part of the data, and the gradient's first over last norm."""
    some = min(len(part), max(1, LOOKED_AT // _positions(part)))
    rows = torch.linspace(0, len(part) - 1, some).long()
    x, y = part.x[rows], part.y[rows]
    found = diagnose(model, [x], loss=lambda output, _: goal.loss(output, y))
    sites = tuple(
        SiteHealth(
            name=site.name,
            units=site.units,
            dead=site.dead,
            trapped=site.trapped,
            flat=site.flat,
            gradient=site.gradient_output,
        )
        for site in found.sites
    )
    return sites, found.gradient_ratio
