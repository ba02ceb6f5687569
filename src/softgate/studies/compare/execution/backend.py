"""The order of trials in a run, the interface of backends, and the backend of this process.

Trials are run one by one in this process for models that cannot be pickled, and for debuggers.

Once an outcome cannot be saved, no further trial is started; running ones are waited for, as space
for their outcomes was reserved when they started. Then StoreError is raised.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, Protocol

from ..store import Store, StoreError
from ..trial import Outcome, ProgressCallback, Trainable, TrainingResult, Trial, TrialFunction
from .progress import ProgressBoard
from .run_trial import current_environment, load_trainable, run_classified

TICK_S = 0.5
"""Seconds between two checks for dead processes and for trials of other commands."""
MAX_TRIES = 3
"""Number of attempts for a trial if its process dies; the trial may not be the cause."""
TIMES = {1: "once", 2: "twice", 3: "three times"}


class Scheduler:
    """The trials of one run: waiting, running, locked by other processes, or unsaved."""

    def __init__(self, missing: Sequence[Trial], store: Store, board: ProgressBoard) -> None:
        self.store, self.board = store, board
        self._waiting = deque(missing)
        self._elsewhere: deque[tuple[float, Trial]] = deque()
        self._missing = {trial.key for trial in missing}
        self._tries: dict[str, int] = {}
        self._running = 0
        self._unsaved: list[Outcome] = []
        self._error = ""

    @property
    def unfinished(self) -> bool:
        """Whether outcomes are missing; after a store error, whether trials are running."""
        return self._running > 0 if self._error else bool(self._missing)

    @property
    def waiting(self) -> int:
        """Number of trials that could be started."""
        return 0 if self._error else len(self._waiting) + len(self._elsewhere)

    def next(self) -> Trial | None:
        """Return the next trial, which counts as running, or None if there is none."""
        if self._error:
            return None
        if not self._waiting:
            self._recheck()
        if not self._waiting:
            return None
        self._running += 1
        trial = self._waiting.popleft()
        self.board.started(trial)
        return trial

    def _recheck(self) -> None:
        """Read the outcomes of trials locked by other processes; queue those without one."""
        now_s = monotonic()
        while self._elsewhere and self._elsewhere[0][0] <= now_s:
            trial = self._elsewhere.popleft()[1]
            outcome = self.store.read(trial)
            if outcome is None:
                self._waiting.append(trial)
            else:
                self._end(outcome, ran=False)

    def answer(self, trial: Trial, message: dict[str, Any]) -> None:
        """Handle a worker's message on a trial; see `run_locked`."""
        self._running -= 1
        if "elsewhere" in message:
            self._elsewhere.append((monotonic() + TICK_S, trial))
            self.board.dropped(trial)
            return
        if "unsaved" in message:
            self._error = message["unsaved"]
            self.board.dropped(trial, self._error)
        if "outcome" not in message:
            return
        outcome = Outcome.from_json(message["outcome"])
        if "unsaved" in message:
            self._unsaved.append(outcome)
            return
        self._end(outcome, message["ran"])

    def died(self, trial: Trial, how: str, seconds: float) -> None:
        """Queue a trial again after its process died; after MAX_TRIES, record that it raised."""
        self._running -= 1
        tries = self._tries[trial.key] = self._tries.get(trial.key, 0) + 1
        if tries < MAX_TRIES:
            self._waiting.append(trial)  # at the end: the cause may be gone by then
            self.board.dropped(trial, f"the process of {trial.arm}, seed {trial.seed} was {how}")
            return
        message = f"its process was {how} {TIMES.get(tries, f'{tries} times')}"
        environment = current_environment()
        outcome = Outcome(trial, "raised", message, TrainingResult(), None, seconds, environment)
        self._end(outcome, ran=True)  # not saved: another run may succeed

    def _end(self, outcome: Outcome, ran: bool) -> None:
        self._missing.discard(outcome.trial.key)
        self.board.ended(outcome, ran)

    def finish(self) -> None:
        """Try to save unsaved outcomes once more; raise StoreError if there was a store error."""
        for outcome in self._unsaved:
            self.store.write(outcome)
        if self._error:
            raise StoreError(self._error)


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
