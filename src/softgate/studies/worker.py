"""Worker processes that exchange line-delimited JSON with softgate.

Used by certify (functions under test), bench (timed frameworks) and compare (trials). A dead worker
is detected by end of file on its standard output; `send` and `kill` therefore never raise.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Self

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


class Exit(NamedTuple):
    """How a worker ended."""

    code: int | None
    """The exit code as `Popen.returncode` has it; None if the worker was running until killed."""
    last_line: str
    """The last line on its standard error, at most 200 characters."""

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
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            encoding="utf-8",
            **NEW_GROUP,
        )
        self._exit: Exit | None = None
        deliver = on_message or self._messages.put
        threading.Thread(target=self._read, args=(deliver,), daemon=True).start()

    def _read(self, deliver: Callable[[Message | None], object]) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                if not line.endswith("\n"):  # the worker died while it wrote
                    break
                deliver(json.loads(line))
        except ValueError:  # `kill` closed the pipe
            return
        finally:
            deliver(None)

    @property
    def exited(self) -> bool:
        """Whether the process has ended; processes that it started may still hold its pipes."""
        return self._process.poll() is not None

    def send(self, message: Message) -> None:
        """Send one JSON message; do nothing if the worker has exited."""
        assert self._process.stdin is not None
        with suppress(OSError):  # BrokenPipeError; on Windows EINVAL too
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def receive(self, timeout_s: float) -> Message | None:
        """Return the next message, or None if the worker exited; raise TimeoutError."""
        try:
            return self._messages.get(timeout=min(timeout_s, threading.TIMEOUT_MAX))
        except Empty:
            raise TimeoutError(f"no reply from a worker within {timeout_s:g} s") from None

    def kill(self, grace_s: float = 0.0) -> Exit:
        """Kill the worker and everything it started, close its pipes, and return how it ended.

        `grace_s` is how long to wait for it to exit by itself: end of file on its standard output
        is seen a moment before its exit code is known.
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
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # buffered output that cannot be written any more
                pipe.close()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        self._stderr.close()
        self._exit = Exit(code, lines[-1][:200] if lines else "")
        return self._exit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Parent:
    """The connection of a worker to the process that started it.

    Standard input and output are reserved for messages: what libraries print goes to standard
    error, and a function that reads standard input finds it empty. Linux ends the worker when its
    parent dies, even if a call hangs.
    """

    def __init__(self) -> None:
        die_with_parent()
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

    def send(self, message: Message) -> None:
        """Send one JSON message; end this process if the parent has died."""
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
