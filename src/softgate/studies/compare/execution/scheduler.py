"""The order of trials in a run, for backends with workers.

Once an outcome cannot be saved, no further trial is started; running ones are waited for, as space
for their outcomes was reserved when they started. Then StoreError is raised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import Any

from ..store import Store, StoreError
from ..trial import Measured, Outcome, Trial
from .progress import ProgressBoard
from .run_trial import current_place

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
        place = current_place()
        outcome = Outcome(trial, "raised", message, Measured(), None, seconds, place)
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
