"""The far side: a process that runs trials, told of them and answering in lines of JSON.

It claims a trial and writes its outcome to the store itself, so that what is finished survives the
parent. When the parent has gone it ends at once, in the middle of a trial too: the kernel ends it,
or a thread that sees the end of what can be read.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from queue import SimpleQueue
from typing import Any, TextIO

from ... import worker_protocol
from ..store import Store, StoreError
from ..trial import Told, Trial, Work
from .progress import seldom
from .run_trial import attempt, words
from .serialization import ready, settle_down, unpack

QUIET_S = 0.25
"""Seconds between two words about how training goes."""


def main() -> None:
    """Run what is asked for until the parent has gone."""
    worker_protocol.die_with_parent()
    lines, asked = worker_protocol.claim_stdout(), _listen()
    opening = asked.get()
    # Loading a user's code may throw anything; the parent says it.
    try:
        work = ready(unpack(base64.b64decode(opening["subject"])))
        store = Store(opening["store"])
    except (Exception, SystemExit) as error:
        _say(lines, {"error": words(error)})
        return
    settle_down()
    _say(lines, {"ready": True})
    while True:
        trial = Trial(**asked.get())
        _say(lines, run_claimed(trial, work, store, _teller(lines)))


def run_claimed(trial: Trial, work: Work, store: Store, told: Told) -> dict[str, Any]:
    """Run a trial and keep its outcome, unless somebody else does; return what to answer."""
    try:
        claim = store.claim(trial)
        if claim is None:
            return {"elsewhere": True}
        with claim:
            found = store.read(trial)
            if found is not None:  # somebody else was faster than our asking
                return {"outcome": found.to_json(), "ran": False, "lasts": True}
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


def _teller(lines: TextIO) -> Told:
    def say(step: int, steps: int, loss: Any) -> None:
        _say(lines, {"told": [step, steps, loss]})

    return seldom(say, QUIET_S)


def _say(lines: TextIO, message: dict[str, Any]) -> None:
    try:
        lines.write(json.dumps(message, allow_nan=False) + "\n")
        lines.flush()
    except OSError:  # the parent has gone; the subject must not see this as its own error
        os._exit(1)


def _listen() -> SimpleQueue[dict[str, Any]]:
    """Return what is asked, read aside; a subject that reads standard input finds nothing."""
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    asked: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        for line in questions:
            asked.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return asked


if __name__ == "__main__":
    main()
