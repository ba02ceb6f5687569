"""A worker process that runs trials.

The worker, not its parent, locks a trial and writes its outcome to the store, so that a finished
trial is saved even if the parent has died. The worker exits as soon as the parent dies, even during
a trial: on Linux by a signal, elsewhere because a thread reads end of file on standard input.
"""

from __future__ import annotations

import base64
import os
import threading
from queue import SimpleQueue
from typing import Any

from ...worker import Parent
from ..store import Store
from ..trial import Measured, ProgressCallback, Trial
from .backend import run_locked
from .progress import throttled
from .run_trial import describe_error
from .serialization import freeze_imports, load_trainable, unpack

PROGRESS_INTERVAL_S = 0.25
"""Least time between two reports of training progress."""


def main() -> None:
    """Load the trainable of the first message, then run a trial for each further message."""
    parent = Parent()
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

    def run_once(trial: Trial, progress: ProgressCallback) -> tuple[Measured, list[float]]:
        results = run(trial, progress)
        parent.end_copy()  # one process alone saves the outcome
        return results

    while True:
        trial = Trial(**requests.get())
        parent.send(run_locked(trial, run_once, store, throttled(report, PROGRESS_INTERVAL_S)))


def _read_ahead(parent: Parent) -> SimpleQueue[dict[str, Any]]:
    """Return a queue of requests, read in a thread that ends this process at end of file."""
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        for message in parent.messages():
            requests.put(message)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return requests
