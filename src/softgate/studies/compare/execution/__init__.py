"""Runs trials: here, in processes of this machine, or on a Ray cluster, with the same results.

`attempt` runs one, `settled` keeps trials apart from each other; `local`, `cluster` and `here` are
where they run. A trial has one thread everywhere, and is run only if the store lacks its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from softgate.runtime.threads import available

from ..store import Store
from ..trial import Outcome, Subject, Trial
from .backend import Lanes
from .progress import Board, Event, Progress, Running
from .run_trial import run_trial
from .serialization import ExecutionError, SubjectError

__all__ = [
    "Event", "ExecutionError", "Executor", "Progress", "Running", "SubjectError", "execute",
    "open_executor", "run_trial",
]  # fmt: skip


class Executor:
    """Runs trials of one subject; processes start with the first that has to be run, and stay."""

    def __init__(self, subject: Subject, store: Store, on: str, jobs: int | None) -> None:
        self.subject, self.store, self.on, self.jobs = subject, store, on, jobs
        self._lanes: Lanes | None = None

    def run(self, trials: Sequence[Trial], progress: Progress | None = None) -> list[Outcome]:
        """Return the outcomes of trials in their order, running those that the store lacks."""
        wanted = {trial.key: trial for trial in trials}
        stored = {key: self.store.read(trial) for key, trial in wanted.items()}
        found = [outcome for outcome in stored.values() if outcome is not None]
        todo = [trial for key, trial in wanted.items() if stored[key] is None]
        if todo and self._lanes is None:
            self.store.check(todo[0])
            self._lanes = _lanes(self.subject, self.on, self.jobs)
        board = Board(found, len(wanted), self._lanes.width if self._lanes else 1, progress)
        for said in self.store.said:
            board.say(said)
        self.store.said.clear()
        if todo and self._lanes is not None:
            self._lanes.run(todo, self.store, board)
        return [board.outcomes[trial.key] for trial in trials]

    def close(self) -> None:
        """End the processes."""
        if self._lanes is not None:
            self._lanes.close()
            self.store.tidy()


@contextmanager
def open_executor(
    subject: Subject, store: Store, on: str = "local", jobs: int | None = None
) -> Iterator[Executor]:
    """Open what runs trials, for more than one call: processes are started once.

    Parameters
    ----------
    subject : Subject
        What is trained.
    store : Store
        Where outcomes are found and kept.
    on : str
        "local": processes of this machine; "ray": a Ray cluster that runs here, else one that is
        started and stopped; "ray://host:port": a cluster elsewhere; "here": this process.
    jobs : int, optional
        How many trials run at a time; as many as there are cores unless given.
    """
    _check(on, jobs)
    executor = Executor(subject, store, on, jobs)
    try:
        yield executor
    finally:
        executor.close()


def execute(
    trials: Sequence[Trial],
    subject: Subject,
    store: Store,
    on: str = "local",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Return the outcomes of trials in their order, running those that the store lacks."""
    with open_executor(subject, store, on, jobs) as executor:
        return executor.run(trials, progress)


def _check(on: str, jobs: int | None) -> None:
    if on not in ("local", "ray", "here") and not on.startswith("ray://"):
        raise ValueError(f'on = {on!r}: expected "local", "ray", "ray://host:port" or "here"')
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs = {jobs!r}: expected a whole number of at least 1")


def _lanes(subject: Subject, on: str, jobs: int | None) -> Lanes:
    if on == "here":
        from .backend import Here

        return Here(subject)
    if on == "local":
        from .local import Local

        return Local(subject, jobs or available())
    from .ray_backend import Cluster

    return Cluster(subject, on, jobs)
