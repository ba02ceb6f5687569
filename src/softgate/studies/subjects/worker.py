"""The child's side: a subject loaded and called, one JSON line an answer, arrays in shared memory.

The first half of a file that both processes map holds inputs, the second half results. Standard
output is kept for answers; what libraries print there goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

import numpy as np

from softgate.formula.formats import FORMATS
from softgate.formula.rounding import dtype_of

from .. import worker_protocol
from .description import from_message
from .failure import Failure, Mistake
from .loading import Loaded, load, prepare


def main() -> None:
    """Answer until the parent has gone."""
    worker_protocol.die_with_parent()
    answers = worker_protocol.claim_stdout()
    first = json.loads(sys.stdin.readline())
    if first["one_core"]:  # only where the system has it: see `certify`
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    memory = np.memmap(first["memory"], np.uint8, "r+")
    subject = from_message(first["subject"])
    try:
        prepare(subject)
        _say(answers, {"prepared": True})
        loaded = load(subject)
    except Mistake as error:
        _say(answers, {"mistake": str(error)})
        return
    _say(answers, {"information": loaded.information()})
    for line in sys.stdin:
        _say(answers, _answer(loaded, memory, json.loads(line)))


def _answer(loaded: Loaded, memory: Any, asked: dict[str, Any]) -> dict[str, Any]:
    if "threads" in asked:
        return {"set": loaded.value.set_threads(asked["threads"])}
    dtype = dtype_of(FORMATS[asked["dtype"]])
    half, count, step = memory.size // 2, asked["count"], asked["step"]
    first = asked["offset"] * dtype.itemsize
    span = np.asarray(memory)[first : first + count * step * dtype.itemsize].view(dtype)
    try:
        result = loaded.call(asked["quantity"], span[::step])
    except Failure as error:
        return {"failure": [error.kind, error.message]}
    np.asarray(memory)[half : half + count * dtype.itemsize].view(dtype)[...] = result
    return {"done": count}


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
