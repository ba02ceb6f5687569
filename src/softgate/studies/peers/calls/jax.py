"""Calls under jax.jit; a donated buffer takes the output where memory is to be reused.

jax has no output argument. Whether the buffer's address stays the same is checked, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..loading import loaded
from ..peer import Peer
from ..timed_call import FROM_X, Contestant, Task

NOT_TAKEN = "jax did not take the donated buffer: its output is fresh memory"


def start(threads: int) -> str:
    """Prepare jax, which has as many threads as there are cores that it may use."""
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    # Else each call wakes a thread.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
    jax.numpy.zeros(1).block_until_ready()  # starts its threads, on the cores it may use
    return ""


def make(peer: Peer, task: Task) -> Contestant:
    """Return the call of a jitted function."""
    return of_function(loaded(peer), task)


def of_function(function: Callable[[Any], Any], task: Task) -> Contestant:
    """Return the call of jax.jit of a function, or of its pull-back."""
    given = [task.x] if task.quantity == "value" else [task.x, task.grad]
    inputs = [jax.device_put(array, may_alias=True) for array in given]
    notes = () if task.quantity == "value" else (FROM_X,)

    def traced(*operands: Any) -> Any:
        if task.quantity == "value":
            return function(operands[0])
        return jax.vjp(function, operands[0])[1](operands[1])[0]

    if not task.reused:
        plain = jax.jit(traced)
        return Contestant(lambda: plain(*inputs).block_until_ready(), notes=notes)
    run = jax.jit(traced, donate_argnums=len(inputs), keep_unused=True)
    buffer: Any = jax.numpy.array(task.out, copy=True)
    address = buffer.unsafe_buffer_pointer()
    buffer = run(*inputs, buffer).block_until_ready()
    taken = buffer.unsafe_buffer_pointer() == address

    def call() -> Any:
        nonlocal buffer
        buffer = run(*inputs, buffer)
        return buffer.block_until_ready()

    return Contestant(call, np.asarray, notes if taken else (*notes, NOT_TAKEN))
