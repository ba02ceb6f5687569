"""What all places that run trials have in common, and how often one may die."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..outcome import Measured, Outcome, Place
from ..store import Store
from ..trial import Trial
from .progress import Board

TRIES = 3
"""So often a trial is begun whose process dies; it may not have been the trial's fault."""
TIMES = {1: "once", 2: "twice", 3: "three times"}


class Lanes(Protocol):
    """Where trials run side by side."""

    @property
    def width(self) -> int:
        """How many run at a time."""

    def run(self, todo: Sequence[Trial], store: Store, board: Board) -> None:
        """Run trials, keep their outcomes in the store and note them on the board."""

    def close(self) -> None:
        """End what runs."""


def killed(trial: Trial, how: str, tries: int, seconds: float, place: Place) -> Outcome:
    """Return the outcome of a trial that no process survives; it is not kept."""
    said = f"its process was {how} {TIMES.get(tries, f'{tries} times')}"
    return Outcome(trial, "raised", said, Measured(), None, seconds, None, place)
