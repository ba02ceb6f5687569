"""Calls of the NumPy and SciPy formulas, in a separate process from softgate's calls.

`FORMULAS` are computed in place. GELU is here as textbooks write it, with scipy.stats.norm and a
new array for every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf  # type: ignore[import-untyped]
from scipy.stats import norm  # type: ignore[import-untyped]

from .formulas import FORMULAS
from .registry import Peer
from .timed_call import Array, BenchTask, TimedCall, UnsupportedCall, load

ONE_THREAD = "NumPy and SciPy use one thread"


def start(threads: int) -> str:
    """Return a remark that NumPy's functions use one thread, if there are more."""
    np.seterr(all="ignore")
    return ONE_THREAD if threads > 1 else ""


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of a formula."""
    if peer.implementation == "scipy":
        return _in_place(peer, task)
    value = load(peer)
    wide = value(task.x[:1]).dtype != task.x.dtype
    notes = ("computes and returns float64",) if wide else ()
    if task.quantity == "value":
        return TimedCall(lambda: value(task.x), notes=notes)
    backward = BACKWARDS.get(value)
    if backward is None:
        raise UnsupportedCall("is given without its derivative")
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


def gelu(z: Array) -> Array:
    """z·Φ(z)."""
    result: Array = z * norm.cdf(z)
    return result


def gelu_tanh(z: Array) -> Array:
    """Return the tanh form."""
    result: Array = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
    return result


def gelu_backward(z: Array, grad: Array) -> Array:
    """Return grad·(Φ(z) + z·φ(z))."""
    result: Array = grad * (norm.cdf(z) + z * norm.pdf(z))
    return result


def gelu_erf(x: Array) -> Array:
    """Half of x times 1 plus erf(x/√2): in the left tail the sum cancels."""
    one, root = x.dtype.type(1), x.dtype.type(2) ** x.dtype.type(0.5)
    result: Array = x / 2 * (one + erf(x / root).astype(x.dtype))
    return result


BACKWARDS: dict[Callable[..., Array], Callable[..., Array]] = {gelu: gelu_backward}
"""The gradients of functions of arrays."""
