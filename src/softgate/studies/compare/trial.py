"""A trial: everything that decides how one training run ends, and nothing that does not.

Its key is a hash of all of it, so what is found under a key need not be run again, and a trial that
differs in anything is another one. How fast it runs, where, and beside what others, is no part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from softgate.runtime.records import Cell, Grid, Record, plain

Setting = float | int | str | bool | None
Role = Literal["tuning", "reported"]


@dataclass(frozen=True)
class Trial:
    """One training run.

    Attributes
    ----------
    task : str
        The task's name; "build" or "script" for a user's own.
    arm : str
        What is compared, by the name that tables show: mostly the activation's own.
    activation : str
        The activation by a name that `softgate.torch.make` or a gated block understands, with its
        parameters, as in "elu:alpha=0.5".
    condition : str
        The circumstances under which arms are compared with each other, such as "layers=48"; empty
        where there are no others.
    settings : mapping
        All else that the task lets one choose (epochs, batch, width, …), also where it is as usual.
    lr : float
        The learning rate.
    seed : int
        Of the initial weights and the order of the data, so that arms are paired by it.
    role : {"tuning", "reported"}
        A tuning trial is scored on validation data alone and never sees test data.
    fingerprint : str
        A hash of code, data and versions: of the task, of a user's functions, of torch.
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
        """A hash of all that decides the outcome: the name that it is kept under."""
        text = json.dumps(plain(self), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


Status = Literal["finished", "diverged", "raised"]


@dataclass(frozen=True)
class Point:
    """A step at which the model was evaluated; the training loss is the mean since the last one."""

    step: int
    train_loss: float
    validation_loss: float | None
    validation_score: float | None


@dataclass(frozen=True)
class SiteHealth:
    """One activation of the trained model, on validation data.

    Shares are of units (dead, trapped) and of inputs (flat); gradients are norms, by the outputs.
    """

    name: str
    units: int
    dead: float
    trapped: float
    flat: float
    gradient: float | None


@dataclass(frozen=True)
class Measured:
    """What training gives: the same bits for the same trial on the same kind of CPU.

    Attributes
    ----------
    score, loss : float or None
        On test data, looked at once, after training; None for a tuning trial. The task says what
        the score is and whether more is better.
    validation_score, validation_loss : float or None
        Of the trained model, on validation data.
    curve : tuple of Point
        How it went.
    steps, parameters : int
        Updates made, and numbers learnt.
    flops : float or None
        Operations of a forward pass of one example; None where nobody counted.
    sites : tuple of SiteHealth
        What the activations do after training; empty where nobody looked.
    gradient_ratio : float or None
        The gradient's norm at the first activation over that at the last.
    more : mapping
        Figures that only this task has.
    """

    score: float | None = None
    loss: float | None = None
    validation_score: float | None = None
    validation_loss: float | None = None
    curve: tuple[Point, ...] = ()
    steps: int = 0
    parameters: int = 0
    flops: float | None = None
    sites: tuple[SiteHealth, ...] = ()
    gradient_ratio: float | None = None
    more: Mapping[str, float] | None = None

    @property
    def dead(self) -> float | None:
        """The share of all units that are dead."""
        units = sum(site.units for site in self.sites)
        return sum(site.dead * site.units for site in self.sites) / units if units else None


@dataclass(frozen=True)
class Place:
    """Where a trial ran."""

    host: str
    cpu: str
    threads: int
    python: str
    torch: str
    softgate: str


@dataclass(frozen=True)
class Outcome(Record):
    """What came out of a trial.

    Attributes
    ----------
    status, said : str
        How it ended, and in words where that is not as it should be ("diverged at step 120").
    measured : Measured
        Empty but for the curve until then where it did not finish.
    step_ms : float or None
        The median time of an update.
    seconds, peak_bytes : float, int or None
        The time of the whole trial, and how far the memory of its process rose in it.
    """

    schema: ClassVar[str] = "softgate.trial"

    trial: Trial
    status: Status
    said: str
    measured: Measured
    step_ms: float | None
    seconds: float
    peak_bytes: int | None
    place: Place

    def grids(self) -> tuple[Grid, ...]:
        """Return one row."""
        header, rows = self.table()
        shown = tuple(tuple("-" if cell is None else str(cell) for cell in row) for row in rows)
        return (Grid(f"{self.trial.task}: {self.said or self.status}", header, shown),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return one row."""
        trial, found = self.trial, self.measured
        header = (
            "task", "condition", "arm", "seed", "role", "lr", "status", "score", "loss",
            "validation_score", "validation_loss", "steps", "parameters", "dead",
            "gradient_ratio", "step_ms", "seconds", "peak_bytes", "key",
        )  # fmt: skip
        row: tuple[Cell, ...] = (
            trial.task, trial.condition, trial.arm, trial.seed, trial.role, trial.lr, self.status,
            found.score, found.loss, found.validation_score, found.validation_loss, found.steps,
            found.parameters, found.dead, found.gradient_ratio, self.step_ms, self.seconds,
            self.peak_bytes, trial.key,
        )  # fmt: skip
        return header, [row]


class Diverged(Exception):
    """Training that left the numbers: a result, not a failure."""

    def __init__(self, step: int, measured: Measured, why: str = "the loss is not finite") -> None:
        super().__init__(f"diverged at step {step}: {why}")
        self.step, self.measured = step, measured


USUAL_ARMS = ("gelu", "relu", "silu", "tanh")
"""What is compared where nobody says, and the task is about none in particular."""

Told = Callable[[int, int, float], None]
"""Called now and then with a step, how many there will be, and the loss: for those who watch."""

Work = Callable[[Trial, Told], tuple[Measured, list[float]]]
"""Run a trial; return what it gave and the times of its updates in seconds. Raises Diverged."""


@dataclass(frozen=True)
class Measure:
    """What a score is."""

    name: str
    """Such as "test accuracy", "test loss in bits per character"."""
    higher: bool
    """Whether more is better."""
    percent: bool = False
    """Whether it is a share, shown in percent."""


class Subject(Protocol):
    """What is trained, as data that can be pickled."""

    @property
    def name(self) -> str:
        """The task's name."""

    @property
    def measure(self) -> Measure:
        """What a score is."""

    @property
    def fingerprint(self) -> str:
        """A hash of code, data and versions, a part of every trial's key."""

    def work(self) -> Work:
        """Return the function that runs a trial: called once in each process."""
