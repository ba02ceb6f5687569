"""What is trained: how a process that runs trials gets at the function that runs one.

A subject travels: to a child process, to another machine. So it is data, and `work` makes the
function from it on the far side. Each kind has a module of its own: `tasks` for those that come
with softgate, `own` for a user's `build` and data, `scripts` for a user's `train.py:run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .outcome import Measured
from .trial import Trial


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
