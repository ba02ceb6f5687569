"""A process that is asked in lines of JSON and answers in lines: what both sides of it share.

Foreign functions and timed frameworks run in such processes. One that has died is noticed by the
answer that does not come, so sending and closing never raise for it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TextIO

PR_SET_PDEATHSIG = 1
OWN_GROUP: dict[str, Any] = (
    {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    if hasattr(subprocess, "CREATE_NEW_PROCESS_GROUP")  # Windows
    else {"start_new_session": True}
)
"""Arguments of Popen for a process that an interrupt at the keyboard does not reach: it is for the
parent to deal with."""
Answers = SimpleQueue[str | None]
"""Lines as they come; None says that there are no more."""


def listen(process: subprocess.Popen[str]) -> Answers:
    """Return where the lines of a process arrive, from a thread that reads them."""
    answers = Answers()
    hear(process, answers.put)
    return answers


def hear(process: subprocess.Popen[str], heard: Callable[[str | None], None]) -> None:
    """Call `heard` with each line of a process, and at last with None, in a thread of its own."""
    threading.Thread(target=_read, args=(process, heard), daemon=True).start()


def _read(process: subprocess.Popen[str], heard: Callable[[str | None], None]) -> None:
    assert process.stdout is not None
    try:
        for line in process.stdout:
            heard(line)
    except ValueError:  # closed under our hands
        return
    finally:
        heard(None)


def send(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    """Ask."""
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    except OSError:  # the worker is dead: the missing reply reports the cause
        return  # BrokenPipeError; on Windows EINVAL, too


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill a process that was started with `OWN_GROUP`, and all that it has started.

    Where the system has no groups of processes, the process alone.
    """
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # there is none left in the group
        os.killpg(process.pid, signal.SIGKILL)


def end(process: subprocess.Popen[str]) -> None:
    """Kill the process and close what leads to it."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        try:
            pipe.close()
        except OSError:  # what could not be sent any more
            continue


def claim_stdout() -> TextIO:
    """Keep standard output for answers; what libraries print there goes to standard error."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return lines


def in_process(name: str) -> Callable[..., Any] | None:
    """Return a C function that this process has loaded, or None where there is no such function."""
    try:
        function: Callable[..., Any] | None = getattr(ctypes.CDLL(None), name, None)
    except (TypeError, OSError):  # Windows needs the name of a library
        return None
    return function


def die_with_parent() -> None:
    """Ask Linux to end this process with its parent, which may be killed while a call hangs."""
    prctl = in_process("prctl")
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
