"""Training of one model, its evaluation during training, and its final measurements.

Adam with a constant learning rate; the order of examples and dropout come from the seed. Test data
is evaluated once, after the last update, and not at all for a tuning trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softgate.torch import diagnose

from .models import operations, parameters
from .splits import Data, DataSplit
from .trial import CurvePoint, Diverged, ProgressCallback, SiteHealth, TrainingResult, Trial

EVALUATED_AT_ONCE = 8192
"""Positions per batch of an evaluation."""
DIAGNOSED = 4096
"""Maximum number of validation positions in the final diagnosis."""
ORDER, DROPOUT = 1 << 32, 2 << 32
"""Added to the seed, so that weights, order and dropout use different random numbers."""
PROGRESS_S = 0.2
"""Seconds between two calls of the progress callback."""


@dataclass(frozen=True)
class Objective:
    """Training loss and reported score.

    Attributes
    ----------
    loss : callable
        loss(output, y): the mean over a batch.
    score : callable or None
        score(output, y) of all examples of a part at once.
    of_loss : callable or None
        The score as a function of the loss; then outputs are not collected.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    score: Callable[[Tensor, Tensor], float] | None = None
    of_loss: Callable[[float], float] | None = None


def cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    """Return the mean of -log p of the true class; classes are the last axis."""
    return F.cross_entropy(output.flatten(0, -2), y.flatten())


def accuracy(output: Tensor, y: Tensor) -> float:
    """Return the fraction of examples for which the true class has the largest output."""
    return int((output.argmax(-1) == y).sum()) / y.numel()


def r_squared(output: Tensor, y: Tensor) -> float:
    """Return the fraction of the targets' variance that the outputs explain."""
    y = y.double()
    residual = (output.double().reshape(y.shape) - y).square().sum()
    return float(1 - residual / (y - y.mean(0)).square().sum())


def mean_squared_error(output: Tensor, y: Tensor) -> Tensor:
    """Return the mean of squared differences."""
    return F.mse_loss(output.reshape(y.shape), y)


def roc_auc(output: Tensor, y: Tensor) -> float:
    """Return the area under the ROC curve of two classes, from the difference of their outputs."""
    from sklearn.metrics import roc_auc_score

    with torch.no_grad():
        return float(roc_auc_score(y.numpy(), (output[:, 1] - output[:, 0]).double().numpy()))


CLASSIFICATION = Objective(cross_entropy, accuracy)
BINARY = Objective(cross_entropy, roc_auc)
CHARACTERS = Objective(cross_entropy, of_loss=lambda loss: loss / math.log(2))
REGRESSION = Objective(mean_squared_error, r_squared)


class Evaluation(NamedTuple):
    """Loss and score on a part of the data."""

    loss: float
    score: float


@dataclass
class TrainingRun:
    """A model in training, and its measurements so far.

    `train` may be called again, with a new optimizer: a task can change the model in between.
    `times` are the seconds of each update: forward, backward and Adam, without evaluation.
    """

    model: nn.Module
    data: Data
    trial: Trial
    progress: ProgressCallback
    objective: Objective = CLASSIFICATION
    step: int = 0
    curve: list[CurvePoint] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        batch: Any = self.trial.settings["batch"]
        self.batches = _batches(self.data.train, batch, self.trial.seed)
        self.steps_per_epoch = math.ceil(len(self.data.train) / batch)

    def train(
        self, epochs: float, lr: float, evaluations: int, seconds: float | None = None
    ) -> None:
        """Train for a number of epochs, or if `seconds` is given until updates took that long."""
        steps = max(1, round(epochs * self.steps_per_epoch))
        first, spent_s, evaluated = self.step, 0.0, 0
        adam, losses, reported_s = self._adam(lr), list[float](), perf_counter()
        self.model.train()
        while evaluated < evaluations:
            loss, took_s = self._update(adam)
            losses.append(loss)
            spent_s += took_s
            share = min(1.0, spent_s / seconds if seconds else (self.step - first) / steps)
            if perf_counter() - reported_s > PROGRESS_S:
                reported_s = perf_counter()
                self.progress(self.step, first + round((self.step - first) / share), loss)
            if share * evaluations >= evaluated + 1:
                evaluated = int(share * evaluations)
                self._add_point(losses)
                losses = []

    def _adam(self, lr: float) -> torch.optim.Adam:
        trained = [p for p in self.model.parameters() if p.requires_grad]
        # The fused kernel does not support complex parameters.
        return torch.optim.Adam(trained, lr=lr, fused=all(p.is_floating_point() for p in trained))

    def _update(self, adam: torch.optim.Adam) -> tuple[float, float]:
        """Make an update; return the loss before it and its time in seconds."""
        x, y = next(self.batches)
        start_s = perf_counter()
        adam.zero_grad()
        loss = self.objective.loss(self.model(x), y)
        loss.backward()
        adam.step()
        value = loss.item()
        took_s = perf_counter() - start_s
        self.times.append(took_s)
        self.step += 1
        if not math.isfinite(value):
            raise Diverged(self.step, self._unfinished())
        return value, took_s

    def _add_point(self, losses: list[float]) -> None:
        mean = math.fsum(losses) / len(losses)
        validation = self.evaluate(self.data.validation)
        self.curve.append(CurvePoint(self.step, mean, validation.loss, validation.score))
        if not math.isfinite(validation.loss):
            raise Diverged(
                self.step, self._unfinished(), "the loss on validation data is not finite"
            )

    def evaluate(self, part: DataSplit) -> Evaluation:
        """Return loss and score of the model in its present state."""
        return evaluate(self.model, part, self.objective)

    def _unfinished(self) -> TrainingResult:
        return TrainingResult(
            curve=tuple(self.curve), steps=self.step, parameters=parameters(self.model)
        )

    def measured(self, more: dict[str, float] | None = None) -> TrainingResult:
        """Return the measurements of the trained model; the only evaluation of test data."""
        last = self.curve[-1]  # after the last update: `train` ends with an evaluation
        test = self.evaluate(self.data.test) if self.trial.role == "reported" else None
        if test is not None and not math.isfinite(test.loss):
            raise Diverged(self.step, self._unfinished(), "the loss on test data is not finite")
        sites, ratio = health(self.model, self.data.validation, self.objective)
        return TrainingResult(
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
            extra_metrics=more,
        )


def train(
    model: nn.Module,
    data: Data,
    trial: Trial,
    progress: ProgressCallback,
    objective: Objective = CLASSIFICATION,
) -> tuple[TrainingResult, list[float]]:
    """Train a model in place by a trial's settings, and measure it.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    data : Data
        Training, validation and test data.
    trial : Trial
        Learning rate, seed, role, and the settings `epochs`, `batch`, `evaluations`, `same` and
        `seconds`.
    progress : callable
        Called with step, number of steps and loss a few times a second.
    objective : Objective
        Loss and score; cross entropy and accuracy by default.

    Returns
    -------
    TrainingResult, list of float
        Measurements, and the time of every update in seconds.
    """
    settings: Any = trial.settings
    seconds = settings["seconds"] if settings["same"] == "time" else None
    with seeded(trial.seed):
        run = TrainingRun(model, data, trial, progress, objective)
        run.train(settings["epochs"], trial.lr, settings["evaluations"], seconds)
        return run.measured(), run.times


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator, which dropout uses; restore its state at the end."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(DROPOUT + seed)
        yield


def _batches(part: DataSplit, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches forever, each epoch in another order."""
    generator = torch.Generator().manual_seed(ORDER + seed)
    while True:
        for rows in torch.randperm(len(part), generator=generator).split(batch):
            yield part.x[rows], part.y[rows]


def evaluate(model: nn.Module, part: DataSplit, objective: Objective) -> Evaluation:
    """Return loss and score of a model on a part of the data."""
    batch = max(1, EVALUATED_AT_ONCE // _positions(part))
    total, outputs = 0.0, []
    model.eval()
    with torch.no_grad():
        for x, y in zip(part.x.split(batch), part.y.split(batch), strict=True):
            output = model(x)
            total += objective.loss(output, y).item() * len(y)
            if objective.score is not None:
                outputs.append(output)
    model.train()
    loss = total / len(part)
    if objective.score is None:
        return Evaluation(loss, loss if objective.of_loss is None else objective.of_loss(loss))
    if not math.isfinite(loss):
        return Evaluation(loss, math.nan)
    return Evaluation(loss, objective.score(torch.cat(outputs), part.y))


def _positions(part: DataSplit) -> int:
    """Return the number of predictions per example: the characters of a text, else 1."""
    return max(1, part.y[:1].numel())


def health(
    model: nn.Module, part: DataSplit, objective: Objective
) -> tuple[tuple[SiteHealth, ...], float | None]:
    """Return the state of each activation on a part of the data, and the gradient ratio."""
    count = min(len(part), max(1, DIAGNOSED // _positions(part)))
    rows = torch.linspace(0, len(part) - 1, count).long()
    x, y = part.x[rows], part.y[rows]
    diagnosis = diagnose(model, [x], loss=lambda output, _: objective.loss(output, y))
    sites = tuple(
        SiteHealth(
            name=site.name,
            units=site.units,
            dead=site.dead,
            trapped=site.trapped,
            flat=site.flat,
            gradient=site.gradient_output,
        )
        for site in diagnosis.sites
    )
    return sites, diagnosis.gradient_ratio
