"""Calls of the NumPy and SciPy formulas, in a separate process from softgate's calls."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .. import textbook
from ..formulas import FORMULAS
from ..registry import Peer
from ..timed_call import Absent, Array, BenchTask, TimedCall

ONE_THREAD = "NumPy and SciPy use one thread"


def start(threads: int) -> str:
    """Return a remark that NumPy's functions use one thread, if there are more."""
    np.seterr(all="ignore")
    return ONE_THREAD if threads > 1 else ""


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of a formula."""
    if peer.implementation == "scipy":
        return _in_place(peer, task)
    module, name = peer.subject.split(":")
    value = getattr(import_module(module), name)
    wide = value(task.x[:1]).dtype != task.x.dtype
    notes = ("computes and returns float64",) if wide else ()
    if task.quantity == "value":
        return TimedCall(lambda: value(task.x), notes=notes)
    backward = textbook.BACKWARDS.get(name)
    if backward is None:
        raise Absent("is given without its derivative")
    return TimedCall(lambda: backward(task.x, task.grad), notes=notes)


def _in_place(peer: Peer, task: BenchTask) -> TimedCall:
    value, backward = FORMULAS[peer.function]
    arguments = (task.x,) if task.quantity == "value" else (task.x, task.grad)
    run: Callable[..., Any] = value if task.quantity == "value" else backward
    work = np.ones_like(task.x)
    if task.reused:
        return TimedCall(lambda: run(*arguments, task.out, work), lambda _: task.out)

    def fresh() -> Array:
        out = np.empty_like(task.x)
        run(*arguments, out, work)
        return out

    return TimedCall(fresh)
