"""A worker process that runs trials.

It locks a trial and writes the outcome to the store itself, so that a finished trial survives the
parent. When the parent dies it ends at once, in the middle of a trial too: Linux kills it, or a
thread ends it that sees end of file on standard input.
"""

from __future__ import annotations

import base64
import os
import threading
from queue import SimpleQueue
from typing import Any

from ...worker import Parent
from ..store import Store, StoreError
from ..trial import Told, Trial, Work
from .progress import seldom
from .run_trial import attempt, words
from .serialization import ready, settle_down, unpack

PROGRESS_INTERVAL_S = 0.25
"""Least time between two reports of training progress."""


def main() -> None:
    """Run the trials of the parent's messages until it has gone."""
    parent = Parent()
    requests = _read_ahead(parent)
    first = requests.get()
    try:
        work = ready(unpack(base64.b64decode(first["subject"])))
        store = Store(first["store"])
    except (Exception, SystemExit) as error:  # the user's code may raise anything when it is loaded
        parent.send({"error": words(error)})
        return
    settle_down()
    parent.send({"ready": True})
    while True:
        trial = Trial(**requests.get())
        parent.send(run_claimed(trial, work, store, _progress_to(parent)))


def run_claimed(trial: Trial, work: Work, store: Store, told: Told) -> dict[str, Any]:
    """Run a trial and save its outcome, unless another process does; return the answer."""
    try:
        claim = store.claim(trial)
        if claim is None:
            return {"elsewhere": True}
        with claim:
            saved = store.read(trial)
            if saved is not None:  # another process finished it before the lock was taken
                return {"outcome": saved.to_json(), "ran": False, "lasts": True}
            outcome, lasts = attempt(trial, work, told)
            answer = {"outcome": outcome.to_json(), "ran": True, "lasts": lasts}
            if not lasts:
                return answer
            try:
                claim.keep(outcome.to_json())
            except StoreError as error:
                return answer | {"unsaved": str(error)}
            return answer
    except StoreError as error:
        return {"unsaved": str(error)}


def _progress_to(parent: Parent) -> Told:
    def send(step: int, steps: int, loss: Any) -> None:
        parent.send({"progress": [step, steps, loss]})

    return seldom(send, PROGRESS_INTERVAL_S)


def _read_ahead(parent: Parent) -> SimpleQueue[dict[str, Any]]:
    """Return the requests, read in a thread that ends this process when the parent has gone."""
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        for message in parent.messages():
            requests.put(message)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return requests
