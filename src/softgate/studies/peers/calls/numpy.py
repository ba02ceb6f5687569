"""Calls of ours on NumPy arrays, and the copy, in threads of ours too."""

from __future__ import annotations

import numpy as np

from softgate.lower.target import host
from softgate.runtime.activation import Activation
from softgate.runtime.threads import POOL, set_threads

from ..timed_call import Array, Call, Contestant, Task


def start(threads: int) -> str:
    """Set our threads."""
    set_threads(threads)
    host()  # loads the compiler, which is no part of a call
    np.seterr(all="ignore")
    return ""


def ours(activation: Activation, task: Task) -> Contestant:
    """Return the public call."""
    out = task.out if task.reused else None
    if task.quantity == "value":
        return Contestant(lambda: activation(task.x, out=out))
    return Contestant(lambda: activation.backward(task.x, task.grad, out=out))


def copy(task: Task) -> Contestant:
    """Return a copy of as many bytes: for backward half as many again as for the value."""
    return Contestant(_copy(task), lambda _: task.out)


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
