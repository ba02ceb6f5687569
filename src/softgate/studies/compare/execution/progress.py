"""Progress of a run: finished and running trials, losses, and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from time import perf_counter
from typing import Any

from softgate.records.record import plain

from ..trial import Outcome, ProgressCallback, Trial


@dataclass(frozen=True)
class RunningTrial:
    """A running trial: its step, the number of steps, and the last loss."""

    trial: Trial
    step: int = 0
    steps: int = 0
    loss: float | None = None


@dataclass(frozen=True)
class Event:
    """A change in the progress of a run.

    Attributes
    ----------
    done, total : int
        Number of trials with an outcome, stored ones included, and of all trials.
    stored : int
        Number of outcomes that were stored already or came from another command.
    running : tuple of RunningTrial
        Trials that this command is running.
    ended : Outcome or None
        The trial that has just ended, if that is the change.
    eta_s : float or None
        Estimated seconds until all are done; None if unknown.
    message : str
        A message for the user: an unreadable file, a process that died.
    """

    done: int
    total: int
    stored: int
    running: tuple[RunningTrial, ...]
    ended: Outcome | None = None
    eta_s: float | None = None
    message: str = ""


Progress = Callable[[Event], None]


def throttled(report: Callable[[int, int, Any], object], interval_s: float) -> ProgressCallback:
    """Return a progress callback that calls `report` at most once per interval."""
    last_s = -interval_s

    def progress(step: int, steps: int, loss: float) -> None:
        nonlocal last_s
        now_s = perf_counter()
        if now_s - last_s >= interval_s:
            last_s = now_s
            report(int(step), int(steps), plain(float(loss)))

    return progress


class ProgressBoard:
    """Collects outcomes as they arrive; calls the progress callback with each change."""

    def __init__(
        self, outcomes: Iterable[Outcome], total: int, width: int, progress: Progress | None
    ) -> None:
        self.outcomes = {outcome.trial.key: outcome for outcome in outcomes}
        self.total, self.width = total, max(1, width)
        self.stored = len(self.outcomes)
        self._progress = progress
        self._running: dict[str, tuple[RunningTrial, float]] = {}
        self._seconds: dict[str, list[float]] = {}
        self._notify()

    @property
    def watched(self) -> bool:
        """Whether there is a progress callback."""
        return self._progress is not None

    def started(self, trial: Trial) -> None:
        """Record that a trial is running."""
        self._running[trial.key] = (RunningTrial(trial), perf_counter())
        self._notify()

    def progress(self, key: str, step: int, steps: int, loss: float | None) -> None:
        """Record the step and loss of a running trial."""
        if key in self._running:
            running, since = self._running[key]
            self._running[key] = (RunningTrial(running.trial, step, steps, loss), since)
            self._notify()

    def dropped(self, trial: Trial, message: str = "") -> None:
        """Record that a trial stopped without an outcome."""
        self._running.pop(trial.key, None)
        self._notify(message=message)

    def returned(self, trial: Trial) -> None:
        """Record that a trial stopped; its outcome follows."""
        self._running.pop(trial.key, None)

    def ended(self, outcome: Outcome, ran: bool = True) -> None:
        """Record an outcome: of a trial run here, or one stored by another process."""
        self._running.pop(outcome.trial.key, None)
        self.outcomes[outcome.trial.key] = outcome
        if ran:
            self._seconds.setdefault(outcome.trial.condition, []).append(outcome.seconds)
        else:
            self.stored += 1
        self._notify(ended=outcome)

    def show_message(self, message: str) -> None:
        """Pass a message to the user."""
        self._notify(message=message)

    def _notify(self, ended: Outcome | None = None, message: str = "") -> None:
        if self._progress is None:
            return
        running = tuple(running for running, _ in self._running.values())
        done = len(self.outcomes)
        self._progress(Event(done, self.total, self.stored, running, ended, self._eta_s(), message))

    def _eta_s(self) -> float | None:
        now = perf_counter()
        remaining = []
        for running, since in self._running.values():
            share = running.step / running.steps if running.steps else 0.0
            if share > 0.02:
                remaining.append((now - since) * (1 - share) / share)
            elif (mean := self._mean_s(running.trial.condition)) is not None:
                remaining.append(max(0.0, mean - (now - since)))
            else:
                return None
        waiting = self.total - len(self.outcomes) - len(self._running)
        mean = self._mean_s(None)
        if mean is None and waiting and remaining:
            starts = (since for _, since in self._running.values())
            mean = fmean(left + now - since for left, since in zip(remaining, starts, strict=True))
        if mean is None and waiting:
            return None
        total = sum(remaining) + waiting * (mean or 0.0)
        return max([total / self.width, *remaining])

    def _mean_s(self, condition: str | None) -> float | None:
        """Return the mean time of trials under a condition, or of all if there are none."""
        seconds = self._seconds.get(condition or "") or [*chain(*self._seconds.values())]
        return fmean(seconds) if seconds else None
