"""Worker processes that exchange line-delimited JSON with softgate.

Used by certify (functions under test), bench (timed frameworks) and compare (trials). A dead worker
is detected by end of file on its standard output; `send` and `kill` therefore never raise.

A worker runs code of users, which may start processes. They inherit the pipes, so that end of file
may never be reached: `receive` also returns when the worker has exited, and `kill` does not wait.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, NamedTuple, Self

from softgate.records.text import message_line

Message = dict[str, Any]

PR_SET_PDEATHSIG = 1
START = (
    "import os, sys; sys.path[:] = {path!r}; os.environ.update({environment!r}); "
    "from {module} import main; main()"
)
NEW_GROUP: dict[str, Any] = (
    {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    if hasattr(subprocess, "CREATE_NEW_PROCESS_GROUP")  # Windows
    else {"start_new_session": True}
)
"""Popen arguments that keep Ctrl-C from reaching the worker: the parent handles it and kills the
worker."""
PIPES_SELECT = sys.platform != "win32"
"""Whether a thread can wait for a pipe and for something else."""
PROCESSES = Path("/proc")
TICK_S = 0.2
"""Seconds between two checks whether a silent worker has exited."""
LONGEST_LINE = 1 << 28
"""Bytes of a message: more are not sent by softgate's workers."""
TAIL = 1 << 16
"""Bytes at the end of the standard error in which its last line is searched."""
MARK = "SOFTGATE_WORKER"
"""Environment variable of a worker, by which Linux finds the processes that it started."""
_numbers = count()


class Exit(NamedTuple):
    """How a worker ended."""

    code: int | None
    """The exit code as `Popen.returncode` has it; None if the worker was running until killed."""
    last_line: str
    """The last line on its standard error, at most 200 characters, without control characters."""

    @property
    def reason(self) -> str:
        """The name of the signal that ended the worker, or its exit code.

        Examples
        --------
        >>> Exit(-11, "").reason, Exit(3, "").reason
        ('SIGSEGV', 'exit code 3')
        """
        if self.code is None or self.code >= 0:
            return "killed" if self.code is None else f"exit code {self.code}"
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"


class Worker:
    """A Python process that runs `main()` of a module.

    A new interpreter is started, not forked: locks and threads of the parent may make a forked
    framework hang.

    Parameters
    ----------
    module : str
        The module whose `main` is run.
    path : sequence of str, optional
        The worker's `sys.path`; this process's by default.
    environment : mapping, optional
        Variables set before anything is imported.
    on_message : callable, optional
        Called in a thread with each message, and with None at end of file; `receive` cannot be
        used then.
    """

    def __init__(
        self,
        module: str,
        *,
        path: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        on_message: Callable[[Message | None], object] | None = None,
    ) -> None:
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `kill`)
        code = START.format(
            path=list(path or sys.path), environment=dict(environment or {}), module=module
        )
        self._mark = f"{MARK}={os.getpid()}-{next(_numbers)}-{id(self)}"
        name, _, value = self._mark.partition("=")
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, name: value},  # noqa: TID251  (passed on, not read)
            **NEW_GROUP,
        )
        self._exit: Exit | None = None
        self._stopped, self._stop = os.pipe()
        deliver = on_message or self._messages.put
        self._reader = threading.Thread(target=self._read, args=(deliver,), daemon=True)
        self._reader.start()

    def _read(self, deliver: Callable[[Message | None], object]) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._lines(self._process.stdout.fileno()):
                deliver(json.loads(line))
        except (ValueError, RecursionError):  # code of a user wrote to the pipe
            pass
        finally:
            self._process.stdout.close()
            os.close(self._stopped)
            deliver(None)

    def _lines(self, pipe: int) -> Iterator[bytes]:
        """Yield whole lines until end of file or `kill`."""
        buffer = bytearray()
        with selectors.DefaultSelector() as selector:
            for descriptor in (pipe, self._stopped) if PIPES_SELECT else ():
                selector.register(descriptor, selectors.EVENT_READ)
            while len(buffer) < LONGEST_LINE:
                if PIPES_SELECT and any(key.fd != pipe for key, _ in selector.select()):
                    return
                content = os.read(pipe, 1 << 20)
                if not content:
                    return
                buffer += content
                if b"\n" in content:
                    *lines, rest = bytes(buffer).split(b"\n")
                    buffer = bytearray(rest)
                    yield from lines

    @property
    def exited(self) -> bool:
        """Whether the process has ended; processes that it started may still hold its pipes."""
        return self._process.poll() is not None

    def send(self, message: Message) -> None:
        """Send one JSON message; do nothing if the worker has exited."""
        assert self._process.stdin is not None
        with suppress(OSError):  # BrokenPipeError; on Windows EINVAL too
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self, timeout_s: float) -> Message | None:
        """Return the next message, or None if the worker exited; raise TimeoutError."""
        end_s = monotonic() + timeout_s
        exited = False
        while True:
            left_s = end_s - monotonic()
            try:
                return self._messages.get(timeout=max(0.0, min(left_s, TICK_S)))
            except Empty:
                if left_s <= 0:
                    message = f"no reply from a worker within {timeout_s:g} s"
                    raise TimeoutError(message) from None
            if exited:  # what it had written before has been read by now
                return None
            exited = self.exited

    def kill(self, grace_s: float = 0.0) -> Exit:
        """Kill the worker and everything it started, close its pipes, and return how it ended.

        `grace_s` is how long to wait for it to exit by itself: end of file on its standard output
        is seen a moment before its exit code is known. Processes that it started in sessions of
        their own are found on Linux alone.
        """
        if self._exit is not None:
            return self._exit
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        code = self._process.returncode
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # the group is empty
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        _kill_marked(self._mark)
        with suppress(BrokenPipeError):  # the reader has ended
            os.write(self._stop, b"\0")  # ends it, even if another process holds the pipe
        os.close(self._stop)
        if PIPES_SELECT and self._reader is not threading.current_thread():
            self._reader.join()
        assert self._process.stdin is not None
        with suppress(OSError):  # buffered output that cannot be written any more
            self._process.stdin.close()
        self._exit = Exit(code, self._last_line())
        return self._exit

    def _last_line(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - TAIL))
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        self._stderr.close()
        return message_line(lines[-1], 200) if lines else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _kill_marked(mark: str) -> None:
    """Kill every process that has `mark` in its environment, on systems with /proc."""
    for _ in range(100):  # a process may start another one while it is killed
        marked = [
            int(folder.name) for folder in PROCESSES.glob("[0-9]*") if _has_mark(folder, mark)
        ]
        for pid in marked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not marked:
            return


def _has_mark(folder: Path, mark: str) -> bool:
    try:
        return mark.encode() in (folder / "environ").read_bytes().split(b"\0")
    except OSError:  # of another user, or it has ended
        return False


class ParentConnection:
    """The connection of a worker to the process that started it.

    Standard input and output are reserved for messages: what libraries print goes to standard
    error, and a function that reads standard input finds it empty. Linux ends the worker when its
    parent dies, even if a call hangs.
    """

    def __init__(self) -> None:
        die_with_parent()
        self._process = os.getpid()
        self._input = os.fdopen(os.dup(0), encoding="utf-8")
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)

    def messages(self) -> Iterator[Message]:
        """Yield messages until the parent closes the connection or dies."""
        for line in self._input:
            yield json.loads(line)

    def end_copy(self) -> None:
        """End this process if it is a copy of the worker that code of a user forked."""
        if os.getpid() != self._process:
            os._exit(0)

    def send(self, message: Message) -> None:
        """Send one JSON message; end this process if the parent has died, or if it is a copy."""
        self.end_copy()
        try:
            self._output.write(json.dumps(message) + "\n")
            self._output.flush()
        except OSError:  # not an exception, which running user code could catch
            os._exit(1)


def c_function(name: str) -> Callable[..., Any] | None:
    """Return a C function that this process has loaded, or None if there is none of that name."""
    try:
        function: Callable[..., Any] | None = getattr(ctypes.CDLL(None), name, None)
    except (TypeError, OSError):  # Windows needs the name of a library
        return None
    return function


def die_with_parent() -> None:
    """Have Linux kill this process when its parent dies."""
    prctl = c_function("prctl")
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
