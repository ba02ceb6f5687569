"""The trials of one run, whoever runs them: what is ahead, what is others', what cannot be kept.

Once an outcome cannot be kept, no trial is begun any more; those that run are waited for, because
room for their outcomes was reserved when they began. Then it is said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import Any

from ..store import Store, StoreError
from ..trial import Outcome, Trial
from .backend import TRIES, killed
from .progress import Board
from .run_trial import place

TICK_S = 0.5
"""Seconds between two looks at what nobody tells of: dead processes, other commands' trials."""


class Shift:
    """The trials of one run: which are ahead, which somebody else runs, which cannot be kept."""

    def __init__(self, todo: Sequence[Trial], store: Store, board: Board) -> None:
        self.store, self.board = store, board
        self._ahead = deque(todo)
        self._aside: deque[tuple[float, Trial]] = deque()
        self._missing = {trial.key for trial in todo}
        self._tries: dict[str, int] = {}
        self._running = 0
        self._unsaved: list[Outcome] = []
        self._trouble = ""

    @property
    def unfinished(self) -> bool:
        """Whether there is something to wait for; not for more than runs once nothing is kept."""
        return self._running > 0 if self._trouble else bool(self._missing)

    @property
    def ahead(self) -> int:
        """How many trials could be given to somebody."""
        return 0 if self._trouble else len(self._ahead) + len(self._aside)

    def next(self) -> Trial | None:
        """Return a trial to be run now."""
        if self._trouble:
            return None
        if not self._ahead:
            self._look_again()
        if not self._ahead:
            return None
        self._running += 1
        trial = self._ahead.popleft()
        self.board.started(trial)
        return trial

    def _look_again(self) -> None:
        """See what others have done with the trials that they run."""
        now_s = monotonic()
        while self._aside and self._aside[0][0] <= now_s:
            trial = self._aside.popleft()[1]
            found = self.store.read(trial)
            if found is None:
                self._ahead.append(trial)
            else:
                self._end(found, ran=False)

    def answer(self, trial: Trial, message: dict[str, Any]) -> None:
        """Take what a process answered."""
        self._running -= 1
        if "elsewhere" in message:
            self._aside.append((monotonic() + TICK_S, trial))
            self.board.dropped(trial)
            return
        if "unsaved" in message:
            self._trouble = message["unsaved"]
            self.board.dropped(trial, self._trouble)
        if "outcome" not in message:
            return
        outcome = Outcome.from_json(message["outcome"])
        if "unsaved" in message:
            self._unsaved.append(outcome)
            return
        self._end(outcome, message["ran"])

    def died(self, trial: Trial, how: str, seconds: float) -> None:
        """Try a trial again whose process died, a few times."""
        self._running -= 1
        tries = self._tries[trial.key] = self._tries.get(trial.key, 0) + 1
        if tries < TRIES:
            self._ahead.append(trial)  # last: what killed it may have passed by then
            self.board.dropped(trial, f"the process of {trial.arm}, seed {trial.seed} was {how}")
        else:
            self._end(killed(trial, how, tries, seconds, place()), ran=True)

    def _end(self, outcome: Outcome, ran: bool) -> None:
        self._missing.discard(outcome.trial.key)
        self.board.ended(outcome, ran)

    def settle(self) -> None:
        """Try once more to keep what could not be kept; StoreError where there was trouble."""
        for outcome in self._unsaved:
            self.store.write(outcome)
        if self._trouble:
            raise StoreError(self._trouble)
