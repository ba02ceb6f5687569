"""A worker process that loads a subject and calls it on arrays in shared memory.

The first half of a file that both processes map holds inputs, the second half results.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from softgate.formula.formats import FORMATS, dtype_of

from ..worker import Parent
from .description import Mistake, SubjectFailure, from_message
from .loading import Loaded, load, prepare


def main() -> None:
    """Load the subject of the first message, then reply to each request until end of file."""
    parent = Parent()
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
    except Mistake as error:
        parent.send({"mistake": str(error)})
        return
    parent.send({"information": loaded.information()})
    for message in messages:
        parent.send(_answer(loaded, memory, message, parent))


def _answer(loaded: Loaded, memory: Any, request: dict[str, Any], parent: Parent) -> dict[str, Any]:
    if "threads" in request:
        return {"set": loaded.value.set_threads(request["threads"])}
    dtype = dtype_of(FORMATS[request["dtype"]])
    half, count, step = memory.size // 2, request["count"], request["step"]
    first = request["offset"] * dtype.itemsize
    span = np.asarray(memory)[first : first + count * step * dtype.itemsize].view(dtype)
    try:
        result = loaded.call(request["quantity"], span[::step])
    except SubjectFailure as error:
        return {"failure": [error.kind, error.message]}
    parent.end_copy()  # before it writes into memory that the next request uses
    np.asarray(memory)[half : half + count * dtype.itemsize].view(dtype)[...] = result
    return {"done": count}
