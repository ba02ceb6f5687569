"""Interrupt a framework's first call at lines of softgate's files, each in a forked process.

    python interrupted_call.py torch 40     at 40 of the lines that the call reaches
    python interrupted_call.py torch all    at each of them
    python interrupted_call.py torch all frameworks/torch    at each of them in these files

After the interrupt the same call must return the bits of NumPy arrays and be explained as it is
without an interrupt: no registration is left half.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import first_calls
import numpy as np

import softgate as sg

FOLDER = str(Path(sg.__file__).parent)
Line = tuple[str, int]


class Tracer:
    """Records the lines of softgate that a thread reaches; raises KeyboardInterrupt at one."""

    def __init__(self, target: Line | None = None) -> None:
        self.target, self.lines = target, {}
        self.lines: dict[Line, None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        if event == "line":
            line = (frame.f_code.co_filename, frame.f_lineno)
            self.lines[line] = None
            if line == self.target:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def traced(call: Callable[[], Any], target: Line | None = None) -> list[Line]:
    """Return the lines that a call reaches, in order; interrupt it at the target."""
    tracer = Tracer(target)
    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(None)
    return list(tracer.lines)


def in_child(work: Callable[[], Any]) -> tuple[int, bytes]:
    """Return the exit code and the output of `work` in a forked process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            os.write(writer, json.dumps(work()).encode())
            code = 0
        except BaseException:
            os.write(writer, traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        output = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output


def main(name: str, count: str, files: str = "") -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside JAX's threads
    call = first_calls.CALLS[name]()

    def check() -> None:
        for result, expected in zip(*call(), strict=True):
            np.testing.assert_array_equal(np.asarray(result), expected)

    def record() -> Any:
        return traced(check), first_calls.explained(name)

    code, output = in_child(record)
    assert code == 0, output.decode()
    reached, explanation = json.loads(output)
    lines = [(file, number) for file, number in reached if files in file]
    step = 1 if count == "all" else max(1, len(lines) // int(count))
    chosen = lines[::step]

    def interrupted(line: Line) -> None:
        try:
            traced(check, line)
        except KeyboardInterrupt:
            check()
            assert first_calls.explained(name) == explanation
            return
        raise AssertionError("the line was not reached again")

    failed = 0
    for line in chosen:
        code, output = in_child(lambda line=line: interrupted(line))
        if code:
            failed += 1
            place = f"{Path(line[0]).relative_to(FOLDER)}:{line[1]}"
            print(f"{place}: exit code {code}\n{output.decode()}", flush=True)
    print(f"{name}: interrupted at {len(chosen)} of {len(lines)} lines, {failed} failures")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
