"""Trials in processes of this machine, a core for each: started once, replaced when one dies."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

from softgate.runtime.records import SPECIAL, plain

from ... import worker_protocol
from ..store import Store
from ..trial import Outcome, Subject, Trial
from .backend import TRIES
from .progress import Board
from .scheduler import TICK_S, Shift
from .serialization import SubjectError, pack

THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)  # fmt: skip
"""Libraries read these when they are loaded; a trial has one thread."""

START = (
    "import os, sys; sys.path[:] = {path!r}; os.environ.update(dict.fromkeys({threads!r}, '1')); "
    "from softgate.studies.compare.execution.worker import main; main()"
)


class Seat:
    """A process that runs one trial after another."""

    def __init__(
        self, opening: dict[str, Any], heard: SimpleQueue[tuple[Seat, str | None]]
    ) -> None:
        self.trial: Trial | None = None
        self.ready, self.since_s = False, perf_counter()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `end`)
        self._process = subprocess.Popen(
            [sys.executable, "-c", START.format(path=sys.path, threads=THREADS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            **worker_protocol.OWN_GROUP,
        )
        worker_protocol.hear(self._process, lambda line: heard.put((self, line)))
        worker_protocol.send(self._process, opening)

    def give(self, trial: Trial) -> None:
        """Ask for a trial."""
        self.trial, self.since_s = trial, perf_counter()
        worker_protocol.send(self._process, plain(trial))

    @property
    def dead(self) -> bool:
        """Whether the process has ended; its children may still hold the line open."""
        return self._process.poll() is not None

    def end(self, patience_s: float = 0.0) -> str:
        """Kill the process and all it has started; return how it had ended before, in words."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        code = self._process.returncode
        worker_protocol.kill_group(self._process)
        worker_protocol.end(self._process)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self._errors.close()
        last = f" ({lines[-1][:200]})" if lines and code is not None and code >= 0 else ""
        return ("killed" if code is None else ended(code)) + last


class Local:
    """Processes of this machine."""

    def __init__(self, subject: Subject, jobs: int) -> None:
        self.width = jobs
        self._name, self._packed = subject.name, base64.b64encode(pack(subject)).decode("ascii")
        self._heard: SimpleQueue[tuple[Seat, str | None]] = SimpleQueue()
        self._seats: list[Seat] = []
        self._stillborn = 0

    def run(self, todo: Sequence[Trial], store: Store, board: Board) -> None:
        """Run trials in the processes; those that another command runs are waited for."""
        shift = Shift(todo, store, board)
        while shift.unfinished:
            self._fill(shift, store)
            try:
                seat, line = self._heard.get(timeout=TICK_S)
            except Empty:
                self._bury(shift, [seat for seat in self._seats if seat.dead])
                continue
            if seat not in self._seats:
                continue  # the last words of one that was replaced
            if line is None:
                self._bury(shift, [seat])
            else:
                self._take(seat, json.loads(line), shift)
        shift.settle()

    def _fill(self, shift: Shift, store: Store) -> None:
        """Give every free process a trial; start as many as there is work for."""
        for seat in self._seats:
            if seat.ready and seat.trial is None and (trial := shift.next()) is not None:
                seat.give(trial)
        busy = sum(seat.trial is not None for seat in self._seats)
        wanted = min(self.width, busy + shift.ahead)
        folder = None if store.folder is None else str(store.folder.resolve())
        while len(self._seats) < wanted:
            self._seats.append(Seat({"subject": self._packed, "store": folder}, self._heard))

    def _take(self, seat: Seat, message: dict[str, Any], shift: Shift) -> None:
        if "error" in message:
            raise SubjectError(f"{self._name!r} cannot be loaded: {message['error']}")
        if "ready" in message:
            seat.ready, self._stillborn = True, 0
            return
        assert seat.trial is not None
        if "told" in message:
            step, steps, loss = message["told"]
            shift.board.told(seat.trial.key, step, steps, SPECIAL.get(loss, loss))
            return
        trial, seat.trial = seat.trial, None
        if shift.store.folder is None and message.get("lasts"):
            shift.store.write(Outcome.from_json(message["outcome"]))  # its process cannot do it
        shift.answer(trial, message)

    def _bury(self, shift: Shift, dead: Sequence[Seat]) -> None:
        for seat in dead:
            self._seats.remove(seat)
            how = seat.end(patience_s=TICK_S)  # its line is cut a moment before it is dead
            if seat.trial is not None:
                shift.died(seat.trial, how, perf_counter() - seat.since_s)
                continue
            self._stillborn += not seat.ready
            if self._stillborn >= TRIES:
                raise SubjectError(
                    f"{self._name!r} cannot be loaded: its process was {how} before any trial began"
                )

    def close(self) -> None:
        """Kill the processes; what they have written stays, what they run is lost."""
        seats, self._seats = self._seats, []
        for seat in seats:
            seat.end()


def ended(code: int) -> str:
    """Return how a process ended, to be read after "was".

    Examples
    --------
    >>> ended(-9), ended(3)
    ('killed (SIGKILL, signal 9; the system kills so when memory runs out)', 'ended (exit code 3)')
    """
    if code >= 0:
        return f"ended (exit code {code})"
    try:
        name = f"{signal.Signals(-code).name}, signal {-code}"
    except ValueError:
        name = f"signal {-code}"
    hint = "; the system kills so when memory runs out" if name.startswith("SIGKILL") else ""
    return f"killed ({name}{hint})"
