"""Calls of softgate's functions on NumPy arrays, and a copy as a lower limit of the time."""

from __future__ import annotations

import numpy as np

from softgate.lower.llvm import compile_copy
from softgate.lower.target import host
from softgate.runtime import kernels
from softgate.runtime.activation import Activation
from softgate.runtime.routes import Runner
from softgate.runtime.threads import set_threads
from softgate.runtime.ufunc import over_arrays

from .timed_call import Array, BenchTask, Call, TimedCall

INPUT_SAVED = (
    "the kernel that autograd runs, on the saved input; in place a copy is saved, of as many bytes"
)
OUTPUT_SAVED = "the kernel that autograd runs, on the saved output; in place no copy is saved"


def start(threads: int) -> str:
    """Set softgate's threads and load its compiler; return an empty remark."""
    set_threads(threads)
    host()  # loads the compiler now, so that no call is timed with it
    np.seterr(all="ignore")
    return ""


def ours(activation: Activation, task: BenchTask) -> TimedCall:
    """Return the timed call of an activation, or of its backward."""
    out = task.out if task.reused else None
    if task.quantity == "value":
        return TimedCall(lambda: activation(task.x, out=out))
    from_output = activation.entry.can_save_output(activation.parameters)
    note = OUTPUT_SAVED if from_output else INPUT_SAVED
    return TimedCall(lambda: activation.backward(task.x, task.grad, out=out), notes=(note,))


def copy(task: BenchTask) -> TimedCall:
    """Return a timed copy of as many bytes as the task reads and writes: x, for backward 1.5·x."""
    return TimedCall(_copy(task), lambda _: task.out)


def _copy(task: BenchTask) -> Call:
    half = task.x.size // 2
    runner = Runner(kernels.once("copy", compile_copy), np.empty(0))

    def copied(out: Array, source: Array) -> None:
        over_arrays(runner, [x.reshape(-1).view(np.uint8) for x in (out, source)])

    def call() -> None:
        out = task.out if task.reused else np.empty_like(task.out)
        copied(out, task.x)
        if task.quantity == "backward":
            copied(out[:half], task.grad[:half])

    return call
