"""What all places that run trials have in common, and how often one may die."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import sleep
from typing import Protocol

from ..store import Store, StoreError
from ..trial import Measured, Outcome, Place, Subject, Trial
from .progress import Board
from .serialization import ready
from .worker import run_claimed

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


ASIDE_S = 0.2
"""Seconds until a trial that another process runs is looked for again."""


class Here:
    """The process that asked."""

    width = 1

    def __init__(self, subject: Subject) -> None:
        self._work = ready(subject)

    def run(self, todo: Sequence[Trial], store: Store, board: Board) -> None:
        """Run trials here."""
        waiting = list(todo)
        with _set_aside():
            while waiting:
                waiting = [trial for trial in waiting if not self._ran(trial, store, board)]
                if waiting:
                    sleep(ASIDE_S)

    def _ran(self, trial: Trial, store: Store, board: Board) -> bool:
        watch = Watch(trial, board)
        board.started(trial)
        answer = run_claimed(trial, self._work, store, watch.told)
        if watch.failed is not None:
            raise watch.failed
        if "elsewhere" in answer:
            board.dropped(trial)
            return False
        if "unsaved" in answer:
            raise StoreError(answer["unsaved"])
        board.ended(Outcome.from_json(answer["outcome"]), answer["ran"])
        return True

    def close(self) -> None:
        """Nothing is left to end."""


@contextmanager
def _set_aside() -> Iterator[None]:
    """Keep what this process holds from being looked through for garbage with every trial."""
    others = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not others:
            gc.unfreeze()


class Watch:
    """Hands on how training goes; a mistake of who watches is not the trial's."""

    def __init__(self, trial: Trial, board: Board) -> None:
        self._trial, self._board = trial, board
        self.failed: Exception | None = None

    def told(self, step: int, steps: int, loss: float) -> None:
        """Tell the board."""
        if self.failed is not None:
            return
        try:
            self._board.told(self._trial.key, int(step), int(steps), float(loss))
        except Exception as error:  # the display's, raised again once the trial's outcome is kept
            self.failed = error
