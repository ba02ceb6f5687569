"""Calls under jax.jit; with reused memory, the output goes to a donated buffer.

jax has no output argument. A note is added if the donated buffer's address changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .registry import Peer
from .timed_call import ALLOCATES, FROM_X, BenchTask, TimedCall, load

NOT_JITTED = "called as it was passed: jax.jit(f) is timed if that is passed"
PULLBACK = "the pullback of jax.vjp alone, from what the value saved"
NOT_DONATED = "jax did not use the donated buffer: its output is newly allocated"


def start(threads: int) -> str:
    """Start jax's threads, one for each core that the process may use; return no remark."""
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    # With asynchronous dispatch each call would wake a thread.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
    jax.numpy.zeros(1).block_until_ready()  # starts its threads
    return ""


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of a jitted function."""
    return of_function(load(peer), task)


def of_function(function: Callable[[Any], Any], task: BenchTask) -> TimedCall:
    """Return the call of jax.jit of a function, or of its pullback."""
    arrays = [task.x] if task.quantity == "value" else [task.x, task.grad]
    inputs = [jax.device_put(array, may_alias=True) for array in arrays]
    notes = () if task.quantity == "value" else (FROM_X,)

    def traced(*operands: Any) -> Any:
        if task.quantity == "value":
            return function(operands[0])
        return jax.vjp(function, operands[0])[1](operands[1])[0]

    if not task.reused:
        plain = jax.jit(traced)
        return TimedCall(lambda: plain(*inputs).block_until_ready(), notes=notes)
    run = jax.jit(traced, donate_argnums=len(inputs), keep_unused=True)
    buffer: Any = jax.numpy.array(task.out, copy=True)
    address = buffer.unsafe_buffer_pointer()
    buffer = run(*inputs, buffer).block_until_ready()
    donated = buffer.unsafe_buffer_pointer() == address

    def call() -> Any:
        nonlocal buffer
        buffer = run(*inputs, buffer)
        return buffer.block_until_ready()

    return TimedCall(call, np.asarray, notes if donated else (*notes, NOT_DONATED))


def as_passed(function: Callable[[Any], Any], task: BenchTask) -> TimedCall:
    """Return the call of a function as it was passed, or of its pullback from what it saved."""
    x, grad = (jax.device_put(array, may_alias=True) for array in (task.x, task.grad))
    allocates = (NOT_JITTED, ALLOCATES) if task.reused else (NOT_JITTED,)
    if task.quantity == "value":
        return TimedCall(lambda: function(x).block_until_ready(), notes=allocates, operand=x)
    _, pullback = jax.vjp(function, x)

    def backward() -> Any:
        (gradient,) = pullback(grad)
        return gradient.block_until_ready()

    return TimedCall(backward, notes=(PULLBACK, *allocates), operand=grad)


def saved_bytes(function: Callable[[Any], Any], count: int) -> int:
    """Return the bytes of the arrays that a pullback holds."""
    x = jax.numpy.linspace(-3, 3, count, dtype="float32")
    _, pullback = jax.vjp(jax.jit(function), x)
    leaves = {id(leaf): leaf for leaf in jax.tree_util.tree_leaves(pullback)}
    return sum(int(leaf.nbytes) for leaf in leaves.values() if hasattr(leaf, "nbytes"))


def gelu_sigmoid(x: Any) -> Any:
    """x·σ(1.702·x)."""
    return x * jax.nn.sigmoid(1.702 * x)


def squared_relu(x: Any) -> Any:
    """max(x, 0)²."""
    return jax.numpy.square(jax.nn.relu(x))


def tanhshrink(x: Any) -> Any:
    """Return x - tanh(x)."""
    return x - jax.numpy.tanh(x)
