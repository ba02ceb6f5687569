"""What is known while trials run: how many are done, how training goes, how long it will take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean
from time import perf_counter
from typing import Any

from softgate.runtime.records import plain

from ..trial import Outcome, Told, Trial


@dataclass(frozen=True)
class Running:
    """A trial that is being run: how far it is, and its last loss."""

    trial: Trial
    step: int = 0
    steps: int = 0
    loss: float | None = None


@dataclass(frozen=True)
class Event:
    """What has changed.

    Attributes
    ----------
    done, total : int
        Trials that have an outcome, those found in the store included, and all of them.
    found : int
        How many of those done were in the store, or came from another command on it.
    running : tuple of Running
        What is being run by this command.
    ended : Outcome or None
        The trial that has just ended, where that is the news.
    eta_s : float or None
        Seconds until all are done, as far as one can tell.
    said : str
        Something to tell the user: a file that is not believed, a process that died.
    """

    done: int
    total: int
    found: int
    running: tuple[Running, ...]
    ended: Outcome | None = None
    eta_s: float | None = None
    said: str = ""


Progress = Callable[[Event], None]


def seldom(say: Callable[[int, int, Any], object], quiet_s: float) -> Told:
    """Return what a trial is given to tell how it goes, which hands on a word now and then."""
    last_s = -quiet_s

    def told(step: int, steps: int, loss: float) -> None:
        nonlocal last_s
        now_s = perf_counter()
        if now_s - last_s >= quiet_s:
            last_s = now_s
            say(int(step), int(steps), plain(float(loss)))

    return told


class Board:
    """Outcomes as they come in, and who is told of it."""

    def __init__(
        self, found: Iterable[Outcome], total: int, lanes: int, progress: Progress | None
    ) -> None:
        self.outcomes = {outcome.trial.key: outcome for outcome in found}
        self.total, self.lanes = total, max(1, lanes)
        self.found = len(self.outcomes)
        self._progress = progress
        self._running: dict[str, tuple[Running, float]] = {}
        self._took: dict[str, list[float]] = {}
        self._tell()

    @property
    def watched(self) -> bool:
        """Whether anybody wants to know how training goes."""
        return self._progress is not None

    def started(self, trial: Trial) -> None:
        """Note that a trial is being run."""
        self._running[trial.key] = (Running(trial), perf_counter())
        self._tell()

    def told(self, key: str, step: int, steps: int, loss: float | None) -> None:
        """Note how far a trial is."""
        if key in self._running:
            running, since = self._running[key]
            self._running[key] = (Running(running.trial, step, steps, loss), since)
            self._tell()

    def dropped(self, trial: Trial, said: str = "") -> None:
        """Note that a trial is not being run any more, and has no outcome."""
        self._running.pop(trial.key, None)
        self._tell(said=said)

    def landed(self, trial: Trial) -> None:
        """Note that a trial has ended whose outcome will be noted in a moment."""
        self._running.pop(trial.key, None)

    def ended(self, outcome: Outcome, ran: bool = True) -> None:
        """Note an outcome: of a trial that ran, or one that somebody else has put there."""
        self._running.pop(outcome.trial.key, None)
        self.outcomes[outcome.trial.key] = outcome
        if ran:
            self._took.setdefault(outcome.trial.condition, []).append(outcome.seconds)
        else:
            self.found += 1
        self._tell(ended=outcome)

    def say(self, said: str) -> None:
        """Tell the user something."""
        self._tell(said=said)

    def _tell(self, ended: Outcome | None = None, said: str = "") -> None:
        if self._progress is None:
            return
        running = tuple(running for running, _ in self._running.values())
        done = len(self.outcomes)
        self._progress(Event(done, self.total, self.found, running, ended, self._eta_s(), said))

    def _eta_s(self) -> float | None:
        now = perf_counter()
        ahead = []
        for running, since in self._running.values():
            share = running.step / running.steps if running.steps else 0.0
            if share > 0.02:
                ahead.append((now - since) * (1 - share) / share)
            elif (usual := self._usual_s(running.trial.condition)) is not None:
                ahead.append(max(0.0, usual - (now - since)))
            else:
                return None
        waiting = self.total - len(self.outcomes) - len(self._running)
        usual = self._usual_s(None)
        if usual is None and waiting and ahead:
            started = (since for _, since in self._running.values())
            usual = fmean(left + now - since for left, since in zip(ahead, started, strict=True))
        if usual is None and waiting:
            return None
        total = sum(ahead) + waiting * (usual or 0.0)
        return max([total / self.lanes, *ahead])

    def _usual_s(self, condition: str | None) -> float | None:
        took = self._took.get(condition or "") or [
            s for all_s in self._took.values() for s in all_s
        ]
        return fmean(took) if took else None
