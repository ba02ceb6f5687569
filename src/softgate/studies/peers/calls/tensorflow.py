"""Calls of TensorFlow, eager and compiled by XLA; it has no output argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from ..registry import Peer
from ..timed_call import ALLOCATES, FROM_X, Array, BenchTask, TimedCall, load

TAPE = "through a gradient tape: the backward alone, from the saved tensors"


def start(threads: int) -> str:
    """Set both of TensorFlow's pools, before the first operation starts them."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.constant(0.0)  # starts them
    return ""


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of a function of tensors."""
    return of_function(load(peer), task, compiled=peer.implementation == "tensorflow.xla")


def of_function(
    function: Callable[[Any], Any], task: BenchTask, *, compiled: bool = False
) -> TimedCall:
    """Return the call of a function, or of its gradient."""
    x, grad = tf.constant(task.x), tf.constant(task.grad)
    allocates = (ALLOCATES,) if task.reused else ()
    if compiled:
        return _compiled(function, task, x, grad, allocates)
    if task.quantity == "value":
        return TimedCall(lambda: function(x), read, allocates, x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(x)
    return TimedCall(lambda: tape.gradient(y, x, grad), read, (TAPE, *allocates), grad)


def _compiled(
    function: Callable[[Any], Any], task: BenchTask, x: Any, grad: Any, allocates: tuple[str, ...]
) -> TimedCall:
    if task.quantity == "value":
        value = tf.function(function, jit_compile=True)
        return TimedCall(lambda: value(x), read, allocates)

    def vjp(x: Any, grad: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x, grad)

    backward = tf.function(vjp, jit_compile=True)
    return TimedCall(lambda: backward(x, grad), read, (FROM_X, *allocates))


def read(tensor: Any) -> Array:
    """Return a tensor as an array."""
    return np.asarray(tensor.numpy())
