"""Trials as tasks of a Ray cluster, a core for each: one that runs already, or one of our own.

Tasks do not see the driver's disk, so the driver claims trials, and writes what comes back. A task
says nothing to the driver before it ends; how training goes passes through an actor, where somebody
watches.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter, sleep
from typing import Any, NamedTuple

from softgate.runtime.records import SPECIAL

from ..store import Claim, Store, StoreError
from ..trainable import Subject
from ..trial import Trial
from . import ray_tasks
from .progress import Board
from .ray_connection import ClusterError, Connection
from .scheduler import TICK_S, Shift
from .serialization import SubjectError, pack


class Flight(NamedTuple):
    """A trial that was handed to the cluster; the claim is ours until it is back."""

    trial: Trial
    claim: Claim
    since_s: float


class Cluster:
    """Ray."""

    def __init__(self, subject: Subject, on: str, jobs: int | None) -> None:
        packed = pack(subject)
        self._name = subject.name
        self._connection = Connection(on, jobs)
        self._ray: Any = self._connection.ray
        self._notes: Any = None
        self._flying: dict[Any, Flight] = {}
        try:
            self.width = jobs or self._connection.cores
            self._parcel = ray_tasks.Parcel(
                ray_tasks.name(packed), [self._ray.put(packed)], list(sys.path)
            )
            self._task = self._ray.remote(num_cpus=1, max_retries=0)(ray_tasks.run)
        except BaseException:
            self.close()
            raise

    def run(self, todo: Sequence[Trial], store: Store, board: Board) -> None:
        """Run trials as tasks; those that another command runs are waited for."""
        if board.watched and self._notes is None:
            self._notes = self._ray.remote(num_cpus=0)(ray_tasks.Notes).remote()
        shift = Shift(todo, store, board)
        try:
            while shift.unfinished:
                self._fill(shift, store)
                for flown in self._wait(board):
                    flight = self._flying.pop(flown)
                    board.landed(flight.trial)
                    self._fill(shift, store)  # first, so that a core waits no longer than it must
                    self._land(flown, flight, shift)
            shift.settle()
        finally:
            self._abort()

    def _fill(self, shift: Shift, store: Store) -> None:
        while len(self._flying) < self.width and (trial := shift.next()) is not None:
            try:
                claim = store.claim(trial)
            except StoreError as error:
                shift.answer(trial, {"unsaved": str(error)})
                continue
            if claim is None:
                shift.answer(trial, {"elsewhere": True})
                continue
            if (found := store.read(trial)) is not None:  # by somebody faster than our asking
                claim.release()
                shift.answer(trial, {"outcome": found.to_json(), "ran": False})
                continue
            notes = None if self._notes is None else [self._notes]
            task = self._task.remote(self._parcel, ray_tasks.asked(trial), notes)
            self._flying[task] = Flight(trial, claim, perf_counter())

    def _wait(self, board: Board) -> list[Any]:
        if not self._flying:
            sleep(TICK_S)
            return []
        try:
            ready, _ = self._ray.wait(list(self._flying), num_returns=1, timeout=TICK_S)
        except (self._ray.exceptions.RaySystemError, ConnectionError) as error:
            raise ClusterError(f"the Ray cluster is gone: {first_line(error)}") from error
        self._look(board)
        return list(ready)

    def _look(self, board: Board) -> None:
        """Tell the board how training goes."""
        if self._notes is None:
            return
        try:
            notes = self._ray.get(self._notes.read.remote(), timeout=5 * TICK_S)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            return  # only the display lacks it
        for key, (step, steps, loss) in notes.items():
            board.told(key, step, steps, SPECIAL.get(loss, loss))

    def _land(self, task: Any, flight: Flight, shift: Shift) -> None:
        errors = self._ray.exceptions
        with flight.claim:
            try:
                answer: dict[str, Any] = self._ray.get(task)
            except errors.RayTaskError as error:
                raise SubjectError(
                    f"the Ray cluster cannot run trials of {self._name!r}: {first_line(error)}: "
                    "its machines need the same packages as this one"
                ) from error
            except errors.RayError as error:  # the worker, its node or its result were lost
                flight.claim.release()
                how = f"killed ({type(error).__name__} of Ray)"
                shift.died(flight.trial, how, perf_counter() - flight.since_s)
                return
            if "error" in answer:
                raise SubjectError(f"{self._name!r}: {answer['error']}")
            shift.answer(flight.trial, self._kept(answer, flight.claim))

    @staticmethod
    def _kept(answer: dict[str, Any], claim: Claim) -> dict[str, Any]:
        if not answer["lasts"]:
            return answer
        try:
            claim.keep(answer["outcome"])
        except StoreError as error:
            return answer | {"unsaved": str(error)}
        return answer

    def _abort(self) -> None:
        """Give up what is on its way."""
        flying, self._flying = self._flying, {}
        for task, flight in flying.items():
            with suppress(self._ray.exceptions.RayError, ConnectionError):  # a cluster that is gone
                self._ray.cancel(task, force=True)
            flight.claim.release()

    def close(self) -> None:
        """Leave the cluster; stop it where it is ours."""
        self._abort()
        if self._notes is not None:
            with suppress(self._ray.exceptions.RayError, ConnectionError):
                self._ray.kill(self._notes)
        self._connection.close()


def first_line(error: BaseException) -> str:
    """Return what Ray says, without a page of traces: the line that names what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if isinstance(error, Exception) and lines else type(error).__name__)[:300]
