"""Runs trials: in this process, in worker processes, or on a Ray cluster, with the same results.

A trial has one thread everywhere, and is run only if the store does not hold its outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from softgate.runtime.threads import available

from ..store import Store
from ..trial import Outcome, Trainable, Trial
from .backend import Backend, InProcessBackend
from .progress import Event, Progress, ProgressBoard, RunningTrial
from .run_trial import ExecutionError, LoadError

__all__ = ["Event", "ExecutionError", "Executor", "LoadError", "Progress", "RunningTrial"]


class Executor:
    """Runs trials of one trainable; workers start with the first trial and are reused.

    Parameters
    ----------
    trainable : Trainable
        The model and its data.
    store : Store
        Where outcomes are read and written.
    on : str
        "local": worker processes; "ray": a Ray cluster running on this machine, or one that is
        started and stopped; "ray://host:port": a remote cluster; "here": this process.
    jobs : int, optional
        Number of concurrent trials; the number of cores by default.
    """

    def __init__(
        self, trainable: Trainable, store: Store, on: str = "local", jobs: int | None = None
    ) -> None:
        if on not in ("local", "ray", "here") and not on.startswith("ray://"):
            raise ValueError(f'on = {on!r}: expected "local", "ray", "ray://host:port" or "here"')
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs = {jobs!r}: expected a whole number of at least 1")
        self.trainable, self.store, self.on, self.jobs = trainable, store, on, jobs
        self._backend: Backend | None = None

    def run(self, trials: Sequence[Trial], progress: Progress | None = None) -> list[Outcome]:
        """Return the outcomes of trials in their order, running those that the store lacks."""
        by_key = {trial.key: trial for trial in trials}
        stored = {key: self.store.read(trial) for key, trial in by_key.items()}
        outcomes = [outcome for outcome in stored.values() if outcome is not None]
        missing = [trial for key, trial in by_key.items() if stored[key] is None]
        if missing and self._backend is None:
            self.store.check(missing[0])
            self._backend = self._open_backend()
        width = self._backend.width if self._backend else 1
        board = ProgressBoard(outcomes, len(by_key), width, progress)
        for message in self.store.messages:
            board.show_message(message)
        self.store.messages.clear()
        if missing and self._backend is not None:
            self._backend.run(missing, self.store, board)
        return [board.outcomes[trial.key] for trial in trials]

    def _open_backend(self) -> Backend:
        if self.on == "here":
            return InProcessBackend(self.trainable)
        if self.on == "local":
            from .local import LocalBackend

            return LocalBackend(self.trainable, self.jobs or available())
        from .ray_backend import RayBackend

        return RayBackend(self.trainable, self.on, self.jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers."""
        if self._backend is not None:
            self._backend.close()
            self.store.remove_stale_locks()
