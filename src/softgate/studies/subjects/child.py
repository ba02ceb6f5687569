"""A subject in a process of its own: a crash or a hang there is a finding here.

Python is started afresh, not forked: a forked framework may hang for reasons that are not the
subject's. Arrays pass through a file that both map, so that millions of elements cost no more than
two copies.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..worker import Worker
from .backends.backend import Array
from .description import Subject
from .failure import CHANGED_INPUT, CRASHED, HUNG, Failure, Mistake
from .session import Information

ELEMENTS = 1 << 20
"""So many elements a call at most: longer arrays are handed over in parts."""
HALF = ELEMENTS * 8 + 4096
"""Bytes for inputs, and as many for results."""
PREPARING_S = 300.0
"""Seconds that Python and a framework may take to be loaded: they are not what is measured."""
EXIT_S = 10.0
"""Time that a worker may take to exit once its standard output is closed."""


class Child:
    """A subject in a process of its own, started again where it died."""

    def __init__(self, subject: Subject, time_limit: float, one_core: bool = False) -> None:
        self.subject, self.time_limit, self.one_core = subject, time_limit, one_core
        self._message = subject.message()
        # A traceback may hold views of the mapped file, which Windows does not remove then.
        self._folder = tempfile.TemporaryDirectory(prefix="softgate-", ignore_cleanup_errors=True)
        file = Path(self._folder.name) / "arrays"
        self._memory: Any = np.memmap(file, np.uint8, "w+", shape=(2 * HALF,))
        self._worker: Worker | None = None
        try:
            self.information = self._first(file)
        except BaseException:
            self.close()
            raise

    def evaluate(self, quantity: str, x: Array, *, offset: int = 0, step: int = 1) -> Array:
        """Return a quantity at `x`, in parts where it is long."""
        out = np.empty_like(x)
        most = ELEMENTS // step - offset
        for start in range(0, max(x.size, 1), most):
            part = slice(start, min(start + most, x.size))
            out[part] = self._part(quantity, x[part], offset, step)
        return out

    def _part(self, quantity: str, x: Array, offset: int, step: int) -> Array:
        memory = np.asarray(self._memory)
        first = offset * x.itemsize
        given = memory[first : first + x.size * step * x.itemsize].view(x.dtype)[::step]
        given[...] = x
        asked = {"quantity": quantity, "dtype": x.dtype.name, "count": x.size}
        self._request(asked | {"offset": offset, "step": step})
        unsigned = np.dtype(f"u{x.itemsize}")
        if not np.array_equal(given.view(unsigned), x.view(unsigned)):
            raise Failure(CHANGED_INPUT, f"of {x.size} elements, {x.dtype}")
        return np.array(memory[HALF : HALF + x.size * x.itemsize].view(x.dtype))

    def set_threads(self, count: int) -> bool:
        """Set the framework's threads, where it can be told."""
        return bool(self._request({"threads": count})["set"])

    def _first(self, file: Path) -> Information:
        """Load the subject; what cannot even be loaded cannot be measured."""
        try:
            return self._start(file)
        except Failure as failure:
            more = "; time_limit (--time-limit) allows more" if failure.kind == HUNG else ""
            raise Mistake(f"{self._message['text']} cannot be loaded: {failure}{more}") from None

    def _start(self, file: Path) -> Information:
        self._file = file
        self._worker = Worker("softgate.studies.subjects.worker", path=self.subject.path)
        self._worker.send(
            {"subject": self._message, "memory": str(file), "one_core": self.one_core}
        )
        answer = self._receive(PREPARING_S, "the framework's import")
        if "mistake" not in answer:
            answer = self._receive(self.time_limit, "its loading")
        if "mistake" in answer:
            raise Mistake(answer["mistake"])
        return Information.of(answer["information"])

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._worker is None:
            self._start(self._file)
        assert self._worker is not None
        self._worker.send(message)
        answer = self._receive(self.time_limit, f"a call with {message.get('count', 0):,} elements")
        if "failure" in answer:
            raise Failure(*answer["failure"])
        return answer

    def _receive(self, timeout_s: float, during: str) -> dict[str, Any]:
        assert self._worker is not None
        try:
            answer = self._worker.receive(timeout_s)
        except TimeoutError:
            self._kill()
            raise Failure(HUNG, f"{during} took more than {timeout_s:g} s") from None
        if answer is None:
            ended = self._worker.kill(EXIT_S)
            self._kill()
            last_line = f": {ended.last_line}" if ended.last_line else ""
            raise Failure(CRASHED, f"{ended.reason} during {during}{last_line}")
        return answer

    def _kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def close(self) -> None:
        """End the process and remove the shared memory."""
        self._kill()
        self._memory = None
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
