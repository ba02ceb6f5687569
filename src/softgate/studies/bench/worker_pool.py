"""The near side of the rooms: processes that are asked in turn, and started again when they die."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from queue import Empty
from time import perf_counter, process_time, sleep
from types import TracebackType
from typing import Any, Self

from .. import worker_protocol
from .interleave import Turn

START = "import sys; sys.path[:] = {path!r}; from softgate.studies.bench.worker import main; main()"
OPENING_S, ENTERING_S = 300.0, 300.0
"""Seconds that importing a framework, and a first call or a turn, may take."""


REST_S = 0.003
"""Between two turns: threads of the last one spin for work that does not come."""


IDLE_S = 0.005
"""A wait between two questions that is shorter is not idle: reading and answering takes its time.
"""


class Died(Exception):
    """The process of a room ended, or did not answer in time."""


class Room:
    """A process that runs one framework's contestants."""

    def __init__(self, home: str, threads: int, reused: bool, seed: int) -> None:
        self.home, self.threads = home, threads
        self.opening = {"home": home, "threads": threads, "reused": reused, "seed": seed}
        self.said, self.cpu_s, self.burnt_s, self.waited_s = "", 0.0, 0.0, 0.0
        self.started = 0
        """How often: who entered before the last start is not there any more."""
        self._answered: float | None = None
        self._idle = False
        self._errors = tempfile.TemporaryFile(  # noqa: SIM115  (closed by `end`)
            "w+", encoding="utf-8", errors="replace"
        )
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process without waiting for it."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            **worker_protocol.OWN_GROUP,
        )
        self._answers = worker_protocol.listen(self._process)
        self._answered, self.cpu_s = None, 0.0
        self.started += 1
        self._send({"do": "open", **self.opening})

    def opened(self) -> str:
        """Wait until the framework is imported; return why it cannot be, or nothing."""
        answer = self._receive(OPENING_S)
        self.said = answer.get("said", "")
        error: str = answer.get("error", "")
        return error

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    def ask(self, do: str, **what: Any) -> dict[str, Any]:
        """Ask for something and return the answer; Died where none comes."""
        if self._process is None:
            self.start()
            if error := self.opened():
                raise Died(error)
        self._send({"do": do, **what})
        return self._receive(ENTERING_S)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        waited_s = 0.0 if self._answered is None else perf_counter() - self._answered
        self._idle = waited_s > IDLE_S
        if self._idle:
            self.waited_s += waited_s
        worker_protocol.send(self._process, message)

    def _receive(self, limit_s: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=limit_s)
        except Empty:
            self.close()
            raise Died(f"gave no answer for {limit_s:.0f} s and was ended") from None
        if line is None:
            status = self._process.wait() if self._process else 0
            last = self._last_words()
            self.close()
            raise Died(f"its process ended with status {status}{last}")
        answer: dict[str, Any] = json.loads(line)
        self._account(answer.pop("cpu_before_s"), answer.pop("cpu_s"))
        return answer

    def _account(self, before_s: float, after_s: float) -> None:
        """Keep what the process burnt while it was not asked for anything."""
        if self._idle:
            self.burnt_s += max(0.0, before_s - self.cpu_s)
        self.cpu_s, self._answered = after_s, perf_counter()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            worker_protocol.end(process)

    def end(self) -> None:
        """End the process for good."""
        self.close()
        self._errors.close()


class Rooms:
    """All rooms of one number of threads; they start together, and end with the `with` block."""

    def __init__(self, homes: Sequence[str], threads: int, reused: bool, seed: int) -> None:
        self.rooms = {home: Room(home, threads, reused, seed) for home in homes}
        self.closed: dict[str, str] = {}
        """Why a room could not be opened."""

    def __enter__(self) -> Self:
        try:
            for room in self.rooms.values():
                room.start()
            for home, room in self.rooms.items():
                try:
                    error = room.opened()
                except Died as died:
                    error = str(died)
                if error:
                    self.closed[home] = error
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for room in self.rooms.values():
            room.end()

    def cpu_s(self) -> float:
        """Return the seconds that this process and the rooms have used so far."""
        return process_time() + sum(room.cpu_s for room in self.rooms.values())


class Seat:
    """A contestant in a room, as the rounds see it."""

    def __init__(self, room: Room, number: int) -> None:
        self.room, self.number, self.start = room, number, room.started
        self.error = ""

    def turn(self) -> Turn | None:
        """Let it run; None where it threw, or its process ended."""
        if self.room.started != self.start or not self.room.alive:
            self.error = "its process ended in another's turn"
            return None
        if self.room.threads > 1:
            sleep(REST_S)
        try:
            answer = self.room.ask("turn", number=self.number)
        except Died as died:
            self.error = str(died)
            return None
        if "error" in answer:
            self.error = answer["error"]
            return None
        return Turn(tuple(answer["times_ns"]), answer["spent_s"])
