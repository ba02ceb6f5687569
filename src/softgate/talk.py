"""A process that is asked in lines of JSON and answers in lines: what both sides of it share.

Foreign functions and timed frameworks run in such processes. One that has died is noticed by the
answer that does not come, so sending and closing never raise for it.
"""

from __future__ import annotations

import json
import subprocess
import threading
from queue import SimpleQueue
from typing import Any

Answers = SimpleQueue[str | None]
"""Lines as they come; None says that there are no more."""


def listen(process: subprocess.Popen[str]) -> Answers:
    """Return where the lines of a process arrive, from a thread that reads them."""
    answers = Answers()
    threading.Thread(target=_read, args=(process, answers), daemon=True).start()
    return answers


def _read(process: subprocess.Popen[str], answers: Answers) -> None:
    assert process.stdout is not None
    try:
        for line in process.stdout:
            answers.put(line)
    except ValueError:  # closed under our hands
        return
    finally:
        answers.put(None)


def send(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    """Ask."""
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    except BrokenPipeError:  # it is dead: the answer, which does not come, says of what
        return


def end(process: subprocess.Popen[str]) -> None:
    """Kill the process and close what leads to it."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        try:
            pipe.close()
        except BrokenPipeError:  # what could not be sent any more
            continue
