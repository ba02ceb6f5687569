"""Trials and their outcomes: the key of a training run, its result, and the protocol it runs by.

A trial holds everything that determines the result of one training run, and nothing else: not the
host, its speed or concurrent trials. Its key is a hash of all fields, so an outcome stored under a
key need not be computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from softgate.records.record import Cell, Grid, Record, plain

Setting = float | int | str | bool | None
Role = Literal["tuning", "reported"]
Status = Literal["finished", "diverged", "raised"]
Arms = list[tuple[str, str, Mapping[str, Setting]]]
"""Label, activation and settings of each arm."""

DEFAULT_ACTIVATIONS = ("gelu", "relu", "silu", "tanh")
"""Compared by default, for tasks without other defaults."""


@dataclass(frozen=True)
class Trial:
    """One training run.

    Attributes
    ----------
    task : str
        The task's name; "build" or "script" for a user's model or training loop.
    arm : str
        Label of the compared variant in tables: usually the activation's name.
    activation : str
        The activation by a name that `softgate.torch.make` or a gated block accepts, with
        parameters, such as "elu:alpha=0.5".
    condition : str
        Settings under which activations are compared with each other, such as "layers=48"; empty
        if there is only one.
    settings : mapping
        All other settings of the task (epochs, batch, width, …), defaults included.
    lr : float
        Learning rate.
    seed : int
        Seed of the initial weights and the data order; activations are paired by it.
    role : {"tuning", "reported"}
        A tuning trial is scored on validation data and never evaluates test data.
    fingerprint : str
        Hash of code, data and package versions; see `fingerprint`.
    """

    task: str
    arm: str
    activation: str
    condition: str
    settings: Mapping[str, Setting]
    lr: float
    seed: int
    role: Role
    fingerprint: str

    @cached_property
    def key(self) -> str:
        """Hash of all fields: the name of the stored outcome."""
        text = json.dumps(plain(self), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class CurvePoint:
    """An evaluation during training; the training loss is the mean since the previous one."""

    step: int
    train_loss: float
    validation_loss: float | None
    validation_score: float | None


@dataclass(frozen=True)
class SiteHealth:
    """One activation of the trained model, on validation data.

    `dead` and `trapped` are fractions of units, `flat` is a fraction of inputs; `gradient` is the
    norm of the gradient with respect to the outputs.
    """

    name: str
    units: int
    dead: float
    trapped: float
    flat: float
    gradient: float | None


@dataclass(frozen=True)
class TrainingResult:
    """Results of training: bit-identical for the same trial on the same kind of CPU.

    Attributes
    ----------
    score, loss : float or None
        On test data, evaluated once, after training; None for a tuning trial.
    validation_score, validation_loss : float or None
        Of the trained model, on validation data.
    curve : tuple of CurvePoint
        Evaluations during training.
    steps, parameters : int
        Number of updates, and of trainable parameters.
    flops : float or None
        Operations of a forward pass of one example; None if not counted.
    sites : tuple of SiteHealth
        State of each activation after training; empty if not diagnosed.
    gradient_ratio : float or None
        Gradient norm at the first activation divided by that at the last.
    extra_metrics : mapping
        Figures specific to the task.
    """

    score: float | None = None
    loss: float | None = None
    validation_score: float | None = None
    validation_loss: float | None = None
    curve: tuple[CurvePoint, ...] = ()
    steps: int = 0
    parameters: int = 0
    flops: float | None = None
    sites: tuple[SiteHealth, ...] = ()
    gradient_ratio: float | None = None
    extra_metrics: Mapping[str, float] | None = None

    @property
    def dead(self) -> float | None:
        """Fraction of dead units over all activations; None if not diagnosed."""
        return dead_fraction(self.sites)


def dead_fraction(sites: Sequence[SiteHealth]) -> float | None:
    """Return the fraction of dead units over all sites, or None if there are no units."""
    units = sum(site.units for site in sites)
    return sum(site.dead * site.units for site in sites) / units if units else None


@dataclass(frozen=True)
class TrialEnvironment:
    """Machine and versions that a trial ran with."""

    host: str
    cpu: str
    threads: int
    python: str
    torch: str
    softgate: str


COLUMNS = (
    "task", "condition", "arm", "seed", "role", "lr", "status", "score", "loss",
    "validation_score", "validation_loss", "steps", "parameters", "dead", "gradient_ratio",
    "step_ms", "seconds", "key",
)  # fmt: skip
"""Columns of a table of outcomes."""


@dataclass(frozen=True)
class Outcome(Record):
    """Result of a trial, also of one that diverged or raised.

    Attributes
    ----------
    status, message : str
        How the trial ended, and a message if it did not finish ("diverged at step 120").
    measured : TrainingResult
        Results; if training did not finish, only the curve up to that point.
    step_ms : float or None
        Median time of an update.
    seconds : float
        Time of the whole trial.
    """

    schema: ClassVar[str] = "softgate.trial"

    trial: Trial
    status: Status
    message: str
    measured: TrainingResult
    step_ms: float | None
    seconds: float
    environment: TrialEnvironment

    def grids(self) -> tuple[Grid, ...]:
        """Return one row."""
        header, rows = self.table()
        cells = tuple(tuple("-" if cell is None else str(cell) for cell in row) for row in rows)
        return (Grid(f"{self.trial.task}: {self.message or self.status}", header, cells),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return one row."""
        parts = (self, self.measured, self.trial)
        named = [next(p for p in parts if hasattr(p, name)) for name in COLUMNS]
        row = tuple(getattr(part, name) for part, name in zip(named, COLUMNS, strict=True))
        return COLUMNS, [row]


class Diverged(Exception):
    """Raised if a loss or score is not finite; the trial's status is then "diverged"."""

    def __init__(
        self, step: int, measured: TrainingResult, why: str = "the loss is not finite"
    ) -> None:
        super().__init__(f"diverged at step {step}: {why}")
        self.step, self.measured = step, measured


ProgressCallback = Callable[[int, int, float], None]
"""Called during training with the step, the number of steps, and the loss."""

TrialFunction = Callable[[Trial, ProgressCallback], tuple[TrainingResult, list[float]]]
"""Runs a trial; returns its results and the time of each update in seconds. Raises Diverged."""


@dataclass(frozen=True)
class Measure:
    """Name and direction of a score.

    `name` is such as "test accuracy"; `higher` is true if higher scores are better; `percent` is
    true for a fraction shown in percent.
    """

    name: str
    higher: bool
    percent: bool = False


class Trainable(Protocol):
    """A model and its data, as a picklable description.

    It is sent to worker processes and other machines; `trial_function` loads data and model there.
    Implementations: `tasks` for bundled tasks, `user_model` for a user's `build` and data,
    `scripts` for a user's `train.py:run`.
    """

    @property
    def name(self) -> str:
        """The task's name."""

    @property
    def measure(self) -> Measure:
        """Name and direction of the score."""

    @property
    def fingerprint(self) -> str:
        """Hash of code, data and versions, part of every trial's key."""

    def trial_function(self) -> TrialFunction:
        """Return the function that runs a trial; called once in each process."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """All settings with their values."""

    @property
    def rates(self) -> tuple[float, ...]:
        """Default learning rates to tune over; empty if the learning rate cannot be set."""

    @property
    def conditions(self) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
        """Label and settings of each condition under which activations are compared."""

    @property
    def default_activations(self) -> tuple[str, ...]:
        """Activations compared by default."""

    def arms(self, names: list[str]) -> Arms:
        """Return label, activation and settings of each arm for these activations."""

    def describe(self) -> str:
        """Return one line on data, model and training."""

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return sentences to print with a comparison of these activations."""
