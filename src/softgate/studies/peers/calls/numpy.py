"""Calls of our functions on NumPy arrays, and a copy of the same bytes in our threads."""

from __future__ import annotations

import numpy as np

from softgate.lower.target import host
from softgate.runtime.activation import Activation
from softgate.runtime.threads import POOL, set_threads

from ..timed_call import Array, Call, Task, TimedCall


def start(threads: int) -> str:
    """Set our threads."""
    set_threads(threads)
    host()  # loads the compiler, which must not count in a call
    np.seterr(all="ignore")
    return ""


def ours(activation: Activation, task: Task) -> TimedCall:
    """Return the public call."""
    out = task.out if task.reused else None
    if task.quantity == "value":
        return TimedCall(lambda: activation(task.x, out=out))
    return TimedCall(lambda: activation.backward(task.x, task.grad, out=out))


def copy(task: Task) -> TimedCall:
    """Return a copy of the bytes that are read and written; backward has 1.5 times the value's."""
    return TimedCall(_copy(task), lambda _: task.out)


def _copy(task: Task) -> Call:
    size = task.x.itemsize
    half = task.x.size // 2

    def copied(out: Array, source: Array) -> None:
        if POOL.plan(out.size, size) == 1:
            np.copyto(out, source)
        else:
            POOL.run(lambda i, k: np.copyto(out[i:k], source[i:k]), out.size, size)

    def call() -> None:
        out = task.out if task.reused else np.empty_like(task.out)
        copied(out, task.x)
        if task.quantity == "backward":
            copied(out[:half], task.grad[:half])

    return call
