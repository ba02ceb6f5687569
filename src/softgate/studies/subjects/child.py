"""A subject in a process of its own: a crash or a hang there is a finding here.

Python is started afresh, not forked: a forked framework may hang for reasons that are not the
subject's. Arrays pass through a file that both map, so that millions of elements cost no more than
two copies.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from queue import Empty
from typing import Any, Self

import numpy as np

from .. import worker_protocol
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
START = (
    "import sys; sys.path[:] = {path!r}; from softgate.studies.subjects.worker import main; main()"
)


class Child:
    """A subject in a process of its own, started again where it died."""

    def __init__(self, subject: Subject, time_limit: float, one_core: bool = False) -> None:
        self.subject, self.time_limit, self.one_core = subject, time_limit, one_core
        self._message = subject.message()
        # A traceback may hold views of the mapped file, which Windows does not remove then.
        self._folder = tempfile.TemporaryDirectory(prefix="softgate-", ignore_cleanup_errors=True)
        file = Path(self._folder.name) / "arrays"
        self._memory: Any = np.memmap(file, np.uint8, "w+", shape=(2 * HALF,))
        self._errors = Path(self._folder.name) / "stderr"
        self._process: subprocess.Popen[str] | None = None
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
        self._ask(asked | {"offset": offset, "step": step})
        unsigned = np.dtype(f"u{x.itemsize}")
        if not np.array_equal(given.view(unsigned), x.view(unsigned)):
            raise Failure(CHANGED_INPUT, f"of {x.size} elements, {x.dtype}")
        return np.array(memory[HALF : HALF + x.size * x.itemsize].view(x.dtype))

    def set_threads(self, count: int) -> bool:
        """Set the framework's threads, where it can be told."""
        return bool(self._ask({"threads": count})["set"])

    def _first(self, file: Path) -> Information:
        """Load the subject; what cannot even be loaded cannot be measured."""
        try:
            return self._start(file)
        except Failure as failure:
            more = "; time_limit (--time-limit) allows more" if failure.kind == HUNG else ""
            raise Mistake(f"{self._message['text']} cannot be loaded: {failure}{more}") from None

    def _start(self, file: Path) -> Information:
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", START.format(path=list(self.subject.path or sys.path))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                **worker_protocol.OWN_GROUP,
            )
        self._file, self._answers = file, worker_protocol.listen(self._process)
        self._send({"subject": self._message, "memory": str(file), "one_core": self.one_core})
        answer = self._receive(PREPARING_S, "the framework's import")
        if "mistake" not in answer:
            answer = self._receive(self.time_limit, "its loading")
        if "mistake" in answer:
            raise Mistake(answer["mistake"])
        return Information.of(answer["information"])

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            self._start(self._file)
        self._send(message)
        answer = self._receive(self.time_limit, f"a call with {message.get('count', 0):,} elements")
        if "failure" in answer:
            raise Failure(*answer["failure"])
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        worker_protocol.send(self._process, message)

    def _receive(self, limit: float, during: str) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=min(limit, threading.TIMEOUT_MAX))
        except Empty:
            self._end()
            raise Failure(HUNG, f"{during} took more than {limit:g} s") from None
        if line is None:
            assert self._process is not None
            code = self._process.wait()
            self._end()
            raise Failure(CRASHED, f"{_words(code)} during {during}{self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        lines = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            worker_protocol.end(process)

    def close(self) -> None:
        """End the process and remove the shared memory."""
        self._end()
        self._memory = None
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
