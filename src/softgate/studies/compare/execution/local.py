"""Trials in worker processes on this machine, one core each; a dead worker is replaced.

A worker, not its parent, locks a trial and writes its outcome to the store, so that a finished
trial is saved even if the parent has died. A worker exits as soon as the parent dies, even during a
trial: on Linux by a signal, elsewhere because a thread reads end of file on standard input.
"""

from __future__ import annotations

import base64
import os
import signal
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

from softgate.records.record import SPECIAL, plain

from ...subjects.worker import Message, ParentConnection, Worker
from ..store import Store
from ..trial import Outcome, ProgressCallback, Trainable, TrainingResult, Trial
from .backend import MAX_TRIES, TICK_S, Scheduler, run_locked
from .progress import ProgressBoard, throttled
from .run_trial import LoadError, describe_error, freeze_imports, load_trainable, pack, unpack

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
     "NUMEXPR_NUM_THREADS"),
    "1",
)  # fmt: skip
"""Environment variables that limit libraries to one thread; read when they are loaded."""
PROGRESS_INTERVAL_S = 0.25
"""Least time between two reports of training progress."""


class TrialWorker:
    """A process that runs one trial after another."""

    def __init__(self, first: Message, inbox: Inbox) -> None:
        self.trial: Trial | None = None
        self.ready, self.since_s = False, perf_counter()
        self.process = Worker(
            __name__,
            environment=ONE_THREAD,
            on_message=lambda message: inbox.put((self, message)),
        )
        self.process.send(first)

    def start(self, trial: Trial) -> None:
        """Start a trial."""
        self.trial, self.since_s = trial, perf_counter()
        self.process.send(plain(trial))


Inbox = SimpleQueue[tuple[TrialWorker, Message | None]]
"""Messages of all workers as they arrive; None if a worker has ended."""


class LocalBackend:
    """Runs trials in worker processes on this machine."""

    def __init__(self, trainable: Trainable, jobs: int) -> None:
        self.width = jobs
        self._name, self._packed = trainable.name, base64.b64encode(pack(trainable)).decode("ascii")
        self._inbox: Inbox = SimpleQueue()
        self._workers: list[TrialWorker] = []
        self._failed_starts = 0

    def run(self, missing: Sequence[Trial], store: Store, board: ProgressBoard) -> None:
        """Run trials in the workers, and wait for those that another command runs."""
        scheduler = Scheduler(missing, store, board)
        while scheduler.unfinished:
            self._assign(scheduler, store)
            try:
                worker, message = self._inbox.get(timeout=TICK_S)
            except Empty:
                self._remove(
                    scheduler, [worker for worker in self._workers if worker.process.exited]
                )
                continue
            if worker not in self._workers:
                continue  # a message of a worker that was removed
            if message is None:
                self._remove(scheduler, [worker])
            else:
                self._handle(worker, message, scheduler)
        scheduler.finish()

    def _assign(self, scheduler: Scheduler, store: Store) -> None:
        """Start a trial in every idle worker; start further workers for the waiting trials."""
        for worker in self._workers:
            if worker.ready and worker.trial is None and (trial := scheduler.next()) is not None:
                worker.start(trial)
        busy = sum(worker.trial is not None for worker in self._workers)
        wanted = min(self.width, busy + scheduler.waiting)
        folder = None if store.folder is None else str(store.folder.resolve())
        while len(self._workers) < wanted:
            first = {"trainable": self._packed, "store": folder}
            self._workers.append(TrialWorker(first, self._inbox))

    def _handle(self, worker: TrialWorker, message: Message, scheduler: Scheduler) -> None:
        if "error" in message:
            raise LoadError(f"{self._name!r} cannot be loaded: {message['error']}")
        if "ready" in message:
            worker.ready, self._failed_starts = True, 0
            return
        assert worker.trial is not None
        if "progress" in message:
            step, steps, loss = message["progress"]
            scheduler.board.progress(worker.trial.key, step, steps, SPECIAL.get(loss, loss))
            return
        trial, worker.trial = worker.trial, None
        if scheduler.store.folder is None and message.get("lasts"):
            scheduler.store.write(Outcome.from_json(message["outcome"]))  # the worker has no folder
        scheduler.answer(trial, message)

    def _remove(self, scheduler: Scheduler, dead: Sequence[TrialWorker]) -> None:
        for worker in dead:
            self._workers.remove(worker)
            code, last_line = worker.process.kill(grace_s=TICK_S)
            how = "killed" if code is None else ended(code)
            if last_line and code is not None and code >= 0:
                how += f" ({last_line})"
            if worker.trial is not None:
                scheduler.died(worker.trial, how, perf_counter() - worker.since_s)
                continue
            self._failed_starts += not worker.ready
            if self._failed_starts >= MAX_TRIES:
                raise LoadError(
                    f"{self._name!r} cannot be loaded: its process was {how} before any trial began"
                )

    def close(self) -> None:
        """Kill the workers; stored outcomes remain, running trials are lost."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.process.kill()


def ended(code: int) -> str:
    """Return how a process ended, as a phrase that follows "was".

    Examples
    --------
    >>> ended(-9), ended(3)
    ('killed (SIGKILL, signal 9; the system does this when memory runs out)', 'ended (exit code 3)')
    """
    if code >= 0:
        return f"ended (exit code {code})"
    try:
        name = f"{signal.Signals(-code).name}, signal {-code}"
    except ValueError:
        name = f"signal {-code}"
    hint = "; the system does this when memory runs out" if name.startswith("SIGKILL") else ""
    return f"killed ({name}{hint})"


def main() -> None:
    """Load the trainable of the first message, then run a trial for each further message."""
    parent = ParentConnection()
    requests = _read_ahead(parent)
    first = requests.get()
    try:
        run = load_trainable(unpack(base64.b64decode(first["trainable"])))
        store = Store(first["store"])
    except (Exception, SystemExit) as error:  # the user's code may raise anything when it is loaded
        parent.send({"error": describe_error(error)})
        return
    freeze_imports()
    parent.send({"ready": True})

    def report(step: int, steps: int, loss: Any) -> None:
        parent.send({"progress": [step, steps, loss]})

    def run_once(trial: Trial, progress: ProgressCallback) -> tuple[TrainingResult, list[float]]:
        results = run(trial, progress)
        parent.end_copy()  # one process alone saves the outcome
        return results

    while True:
        trial = Trial(**requests.get())
        parent.send(run_locked(trial, run_once, store, throttled(report, PROGRESS_INTERVAL_S)))


def _read_ahead(parent: ParentConnection) -> SimpleQueue[dict[str, Any]]:
    """Return a queue of requests, read in a thread that ends this process at end of file."""
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        for message in parent.messages():
            requests.put(message)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return requests
