"""The interface of backends, and the backend that runs trials one by one in this process.

The latter is for models that cannot be pickled, and for debuggers.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import sleep
from typing import Any, Protocol

from ..store import Store, StoreError
from ..trial import ProgressCallback, Trainable, Trial, TrialFunction
from .progress import ProgressBoard
from .run_trial import run_classified
from .scheduler import TICK_S, Scheduler
from .serialization import load_trainable


class Backend(Protocol):
    """Interface of the backends, which run trials concurrently."""

    @property
    def width(self) -> int:
        """Number of concurrent trials."""

    def run(self, missing: Sequence[Trial], store: Store, board: ProgressBoard) -> None:
        """Run trials, write their outcomes to the store and report them to the board."""

    def close(self) -> None:
        """Stop all workers."""


def run_locked(
    trial: Trial, run: TrialFunction, store: Store, progress: ProgressCallback
) -> dict[str, Any]:
    """Lock a trial, run it and save its outcome; return a message for the scheduler.

    Keys of the message: "elsewhere" if another process holds the lock; "outcome", "ran" (false if
    it was stored before) and "lasts" (false if a retry may succeed); "unsaved" for a store error.
    """
    try:
        lock = store.lock(trial)
        if lock is None:
            return {"elsewhere": True}
        with lock:
            saved = store.read(trial)
            if saved is not None:  # another process finished it before the lock was taken
                return {"outcome": saved.to_json(), "ran": False, "lasts": True}
            outcome, lasts = run_classified(trial, run, progress)
            answer = {"outcome": outcome.to_json(), "ran": True, "lasts": lasts}
            if not lasts:
                return answer
            try:
                lock.save(outcome.to_json())
            except StoreError as error:
                return answer | {"unsaved": str(error)}
            return answer
    except StoreError as error:
        return {"unsaved": str(error)}


class InProcessBackend:
    """Runs trials one by one in this process."""

    width = 1

    def __init__(self, trainable: Trainable) -> None:
        self._run = load_trainable(trainable)

    def run(self, missing: Sequence[Trial], store: Store, board: ProgressBoard) -> None:
        """Run trials one by one, and wait for those that another process runs."""
        scheduler = Scheduler(missing, store, board)
        with _frozen_objects():
            while scheduler.unfinished:
                if (trial := scheduler.next()) is None:
                    sleep(TICK_S)
                else:
                    scheduler.answer(trial, self._answer(trial, store, board))
        scheduler.finish()

    def _answer(self, trial: Trial, store: Store, board: ProgressBoard) -> dict[str, Any]:
        """Run a trial; return the message of `run_locked`."""
        failed: list[Exception] = []

        def progress(step: int, steps: int, loss: float) -> None:
            if failed:
                return
            try:
                board.progress(trial.key, int(step), int(steps), float(loss))
            except Exception as error:  # an error of the display, raised after the trial
                failed.append(error)

        answer = run_locked(trial, self._run, store, progress)
        if failed:
            raise failed[0]
        return answer

    def close(self) -> None:
        """Do nothing: there are no workers."""


@contextmanager
def _frozen_objects() -> Iterator[None]:
    """Exclude existing objects from the garbage collection before every trial."""
    frozen_before = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not frozen_before:
            gc.unfreeze()
