"""What came out of one training run; a run that diverges or raises has an outcome, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from softgate.runtime.records import Cell, Grid, Record

from .trial import Trial

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
