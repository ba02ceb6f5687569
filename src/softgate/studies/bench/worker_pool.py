"""Bench workers: one process per framework, called in turn and restarted when it dies."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter, process_time, sleep
from types import TracebackType
from typing import Any, Self

from ..worker import Worker
from .interleave import Turn

START_S, CALL_S = 300.0, 300.0
"""Time limits for importing a framework, and for a first call or a turn."""

PAUSE_S = 0.003
"""Pause between two turns: a framework's threads spin for a while after its last call."""

IDLE_S = 0.005
"""A shorter gap between two messages is not idle time: reading and answering takes as long."""

EXIT_S = 10.0
"""Time that a worker may take to exit once its standard output is closed."""


class WorkerDied(Exception):
    """A worker exited, or did not answer in time."""


class BenchWorker:
    """A process that times the calls of one framework."""

    def __init__(self, home: str, threads: int, reused: bool, seed: int) -> None:
        self.home, self.threads = home, threads
        self.settings = {"home": home, "threads": threads, "reused": reused, "seed": seed}
        self.remark, self.cpu_s, self.burnt_s, self.waited_s = "", 0.0, 0.0, 0.0
        self.starts = 0
        """Number of starts: calls that were prepared before the last start are lost."""
        self._answered: float | None = None
        self._idle = False
        self._worker: Worker | None = None

    def start(self) -> None:
        """Start the process without waiting for it."""
        self._worker = Worker("softgate.studies.bench.worker")
        self._answered, self.cpu_s = None, 0.0
        self.starts += 1
        self._send({"do": "open", **self.settings})

    def wait_until_open(self) -> str:
        """Wait until the framework is imported; return why it cannot be, or an empty string."""
        answer = self._receive(START_S)
        self.remark = answer.get("remark", "")
        error: str = answer.get("error", "")
        return error

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._worker is not None

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and return the answer; raise WorkerDied if there is none."""
        if self._worker is None:
            self.start()
            if error := self.wait_until_open():
                raise WorkerDied(error)
        self._send({"do": do, **arguments})
        return self._receive(CALL_S)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._worker is not None
        waited_s = 0.0 if self._answered is None else perf_counter() - self._answered
        self._idle = waited_s > IDLE_S
        if self._idle:
            self.waited_s += waited_s
        self._worker.send(message)

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        assert self._worker is not None
        try:
            answer = self._worker.receive(timeout_s)
        except TimeoutError:
            self.close()
            raise WorkerDied(f"gave no answer for {timeout_s:.0f} s and was killed") from None
        if answer is None:
            code, last_line = self._worker.kill(EXIT_S)
            self.close()
            raise WorkerDied(
                f"its process ended with status {code}" + (f": {last_line}" if last_line else "")
            )
        self._account(answer.pop("cpu_before_s"), answer.pop("cpu_s"))
        return answer

    def _account(self, before_s: float, after_s: float) -> None:
        """Add up the CPU time that the process used while no request was pending."""
        if self._idle:
            self.burnt_s += max(0.0, before_s - self.cpu_s)
        self.cpu_s, self._answered = after_s, perf_counter()

    def close(self) -> None:
        """Kill the process; `request` starts it again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()


class WorkerPool:
    """The workers of one thread count; they start together and end with the `with` block."""

    def __init__(self, homes: Sequence[str], threads: int, reused: bool, seed: int) -> None:
        self.workers = {home: BenchWorker(home, threads, reused, seed) for home in homes}
        self.errors: dict[str, str] = {}
        """Why a worker could not be started, by its home."""

    def __enter__(self) -> Self:
        try:
            for worker in self.workers.values():
                worker.start()
            for home, worker in self.workers.items():
                try:
                    error = worker.wait_until_open()
                except WorkerDied as died:
                    error = str(died)
                if error:
                    self.errors[home] = error
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
        for worker in self.workers.values():
            worker.close()

    def cpu_s(self) -> float:
        """Return the CPU seconds that this process and the workers have used so far."""
        return process_time() + sum(worker.cpu_s for worker in self.workers.values())


class RemoteCall:
    """A timed call in a worker, as `interleave` runs it."""

    def __init__(self, worker: BenchWorker, number: int) -> None:
        self.worker, self.number, self.start = worker, number, worker.starts
        self.error = ""

    def turn(self) -> Turn | None:
        """Time some calls; return None if one raised or the worker died."""
        if self.worker.starts != self.start or not self.worker.alive:
            self.error = "its process died in another call's turn"
            return None
        if self.worker.threads > 1:
            sleep(PAUSE_S)
        try:
            answer = self.worker.request("turn", number=self.number)
        except WorkerDied as died:
            self.error = str(died)
            return None
        if "error" in answer:
            self.error = answer["error"]
            return None
        return Turn(tuple(answer["times_ns"]), answer["spent_s"])
