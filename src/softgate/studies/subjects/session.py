"""Sessions, which run a subject on arrays and raise a `SubjectFailure` for invalid behaviour.

softgate's functions run in this process. Other subjects run in a worker process, so that a crash or
a hang is a finding; with isolated=False they run in this process, which is faster but unprotected.
Arrays pass through a file that both processes map, so that only two copies are made: its first half
holds inputs, its second half results.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np

from softgate.formula.formats import FORMATS, Format, dtype_of

from .backends import Array, SoftgateBackend
from .description import (
    CHANGED_INPUT,
    CRASHED,
    HUNG,
    InvalidSubjectError,
    Subject,
    SubjectFailure,
    from_message,
)
from .loading import LoadedSubject, load, prepare
from .worker import ParentConnection, Worker

TIME_LIMIT = 60.0
"""Seconds that loading a subject, and one call, may take."""
ELEMENTS = 1 << 20
"""Most elements of a call; longer arrays are passed in parts."""
HALF = ELEMENTS * 8 + 4096
"""Bytes of the inputs, and of the results."""
PREPARING_S = 300.0
"""Seconds that starting Python and importing a framework may take, apart from the subject."""
EXIT_S = 10.0
"""Time that a worker may take to exit once its standard output is closed."""


@dataclass(frozen=True)
class Information:
    """Properties of a loaded subject."""

    framework: str
    quantities: tuple[str, ...]
    dtypes: tuple[str, ...] | None
    """The dtypes that it accepts; None if unknown, so that each is tried."""
    strides: bool
    addresses: bool
    lengths: bool
    versions: Mapping[str, str]

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Information:
        """Return the information in a worker's message."""
        fields = dict(message)
        fields["quantities"] = tuple(fields["quantities"])
        fields["dtypes"] = None if fields["dtypes"] is None else tuple(fields["dtypes"])
        return cls(**fields)


class Session(ABC):
    """Runs a subject; a context manager."""

    information: Information

    @abstractmethod
    def evaluate(self, quantity: str, x: Array, *, offset: int = 0, step: int = 1) -> Array:
        """Return a quantity at the contiguous array `x`, of any length and shape.

        The subject receives an array that starts `offset` elements after an aligned address, with a
        stride of `step` elements.
        """

    @abstractmethod
    def set_threads(self, count: int) -> bool:
        """Set the number of threads; return False if the framework cannot change it."""

    def close(self) -> None:  # noqa: B027 - a subject in this process has nothing to close
        """End the session."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InProcessSession(Session):
    """A subject in this process."""

    def __init__(self, loaded: LoadedSubject) -> None:
        self.loaded = loaded
        self.information = Information.of(loaded.information())

    @property
    def ours(self) -> SoftgateBackend | None:
        """The backend of softgate, if it computes all quantities of the subject, else None."""
        backend = self.loaded.value
        return (
            backend if isinstance(backend, SoftgateBackend) and self.loaded.slope is None else None
        )

    def evaluate(self, quantity: str, x: Array, *, offset: int = 0, step: int = 1) -> Array:
        """Return a quantity at `x`."""
        ours = self.ours
        if ours is not None and (offset, step) == (0, 1):
            return ours.call(quantity, x)
        operand = placed(x, offset, step)
        before = operand.tobytes()
        result = np.array(self.loaded.call(quantity, operand))
        if operand.tobytes() != before:
            raise SubjectFailure(CHANGED_INPUT, f"of {x.size} elements, {x.dtype}")
        return result

    def set_threads(self, count: int) -> bool:
        """Set the framework's threads."""
        return self.loaded.value.set_threads(count)


def placed(x: Array, offset: int, step: int) -> Array:
    """Return a copy of `x` with stride `step`, starting `offset` after an aligned address."""
    memory = np.zeros((x.size * step + offset) * x.itemsize + 64, np.uint8)
    first = -memory.ctypes.data % 64 + offset * x.itemsize
    span = memory[first : first + x.size * step * x.itemsize].view(x.dtype)
    view = span[::step].reshape(x.shape)
    view[...] = x
    return view


class WorkerSession(Session):
    """A subject in a worker process, which is restarted if it died."""

    def __init__(self, subject: Subject, time_limit: float, one_core: bool = False) -> None:
        self.subject, self.time_limit, self.one_core = subject, time_limit, one_core
        self._message = subject.message()
        # Windows cannot remove a mapped file while a traceback holds views of it.
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
        """Return a quantity at `x`, in parts if it is long."""
        if x.ndim > 1:
            return self._part(quantity, x, offset, step)
        out = np.empty_like(x)
        most = ELEMENTS // step - offset
        for start in range(0, max(x.size, 1), most):
            part = slice(start, min(start + most, x.size))
            out[part] = self._part(quantity, x[part], offset, step)
        return out

    def _part(self, quantity: str, x: Array, offset: int, step: int) -> Array:
        memory = np.asarray(self._memory)
        first = offset * x.itemsize
        operand = memory[first : first + x.size * step * x.itemsize].view(x.dtype)[::step]
        operand[...] = x.ravel()
        call = {"quantity": quantity, "dtype": x.dtype.name, "shape": x.shape}
        self._request(call | {"offset": offset, "step": step})
        unsigned = np.dtype(f"u{x.itemsize}")
        if not np.array_equal(operand.view(unsigned), x.ravel().view(unsigned)):
            raise SubjectFailure(CHANGED_INPUT, f"of {x.size} elements, {x.dtype}")
        result = memory[HALF : HALF + x.size * x.itemsize].view(x.dtype)
        return np.array(result).reshape(x.shape)

    def set_threads(self, count: int) -> bool:
        """Set the framework's threads; return False if that is not possible."""
        return bool(self._request({"threads": count})["set"])

    def _first(self, file: Path) -> Information:
        """Load the subject; raise InvalidSubjectError if that fails: nothing can be measured."""
        try:
            return self._start(file)
        except SubjectFailure as failure:
            more = "; time_limit (--time-limit) allows more" if failure.kind == HUNG else ""
            raise InvalidSubjectError(
                f"{self._message['text']} cannot be loaded: {failure}{more}"
            ) from None

    def _start(self, file: Path) -> Information:
        self._file = file
        self._worker = Worker(__name__, path=self.subject.path)
        self._worker.send(
            {"subject": self._message, "memory": str(file), "one_core": self.one_core}
        )
        answer = self._receive(PREPARING_S, "the framework's import")
        if "mistake" not in answer:
            answer = self._receive(self.time_limit, "its loading")
        if "mistake" in answer:
            raise InvalidSubjectError(answer["mistake"])
        return Information.of(answer["information"])

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._worker is None:
            self._start(self._file)
        assert self._worker is not None
        self._worker.send(message)
        count = prod(message.get("shape", (0,)))
        answer = self._receive(self.time_limit, f"a call with {count:,} elements")
        if "failure" in answer:
            raise SubjectFailure(*answer["failure"])
        return answer

    def _receive(self, timeout_s: float, during: str) -> dict[str, Any]:
        assert self._worker is not None
        try:
            answer = self._worker.receive(timeout_s)
        except TimeoutError:
            self._kill()
            raise SubjectFailure(HUNG, f"{during} took more than {timeout_s:g} s") from None
        if answer is None:
            ended = self._worker.kill(min(EXIT_S, self.time_limit))
            self._kill()
            last_line = f": {ended.last_line}" if ended.last_line else ""
            raise SubjectFailure(CRASHED, f"{ended.reason} during {during}{last_line}")
        return answer

    def _kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def close(self) -> None:
        """Kill the worker and remove the shared memory."""
        self._kill()
        self._memory = None
        self._folder.cleanup()


def main() -> None:
    """Run the worker: load the subject of the first message, then reply until end of file."""
    parent = ParentConnection()
    messages = parent.messages()
    first = next(messages)
    if first["one_core"]:  # set by `certify` only where sched_setaffinity exists
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    memory = np.memmap(first["memory"], np.uint8, "r+")
    subject = from_message(first["subject"])
    try:
        prepare(subject)
        parent.send({"prepared": True})
        loaded = load(subject)
    except InvalidSubjectError as error:
        parent.send({"mistake": str(error)})
        return
    parent.send({"information": loaded.information()})
    for message in messages:
        parent.send(_reply(loaded, memory, message, parent))


def _reply(
    loaded: LoadedSubject, memory: Any, request: dict[str, Any], parent: ParentConnection
) -> dict[str, Any]:
    if "threads" in request:
        return {"set": loaded.value.set_threads(request["threads"])}
    dtype = dtype_of(FORMATS[request["dtype"]])
    half, step = memory.size // 2, request["step"]
    count = prod(request["shape"])
    first = request["offset"] * dtype.itemsize
    span = np.asarray(memory)[first : first + count * step * dtype.itemsize].view(dtype)
    try:
        result = loaded.call(request["quantity"], span[::step].reshape(request["shape"]))
    except SubjectFailure as error:
        return {"failure": [error.kind, error.message]}
    parent.end_copy()  # before it writes into memory that the next request uses
    np.asarray(memory)[half : half + count * dtype.itemsize].view(dtype)[...] = result.ravel()
    return {"done": count}


def open_session(
    subject: Subject,
    *,
    isolated: bool = True,
    time_limit: float = TIME_LIMIT,
    one_core: bool = False,
) -> Session:
    """Load a subject and return a session; raise InvalidSubjectError if it cannot be loaded.

    Parameters
    ----------
    subject : Subject
        A description, as `describe` returns it.
    isolated : bool
        Whether a foreign subject runs in a worker process.
    time_limit : float
        Seconds that loading it, and one call, may take in a worker; inf for no limit.
    one_core : bool
        Whether the worker may use one core only.

    Examples
    --------
    >>> import numpy as np
    >>> import softgate as sg
    >>> from softgate.studies.subjects import describe, open_session
    >>> with open_session(describe(sg.relu)) as session:
    ...     session.evaluate("value", np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    if not time_limit > 0:
        raise ValueError(
            f"time_limit = {time_limit}: expected a positive number of seconds, or inf"
        )
    ours = subject.ours is not None and subject.slope is None
    if ours or not isolated:
        return InProcessSession(load(subject))
    return WorkerSession(subject, time_limit, one_core)


def points(fmt: Format, *values: float) -> Array:
    """Return numbers as an array of a format."""
    return np.array(values).astype(dtype_of(fmt))
