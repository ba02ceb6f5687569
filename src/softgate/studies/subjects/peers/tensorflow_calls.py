"""Calls of TensorFlow: eager, in a tf.function, and compiled by XLA; no output argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .registry import Peer
from .timed_call import ALLOCATES, FROM_X, Array, BenchTask, TimedCall, load

GRAPHS = ("tensorflow.function", "tensorflow.xla", "softgate.tensorflow")
TAPE = "through a gradient tape: the backward alone, from the saved tensors"


def start(threads: int) -> str:
    """Set both of TensorFlow's pools, before the first operation starts them."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.constant(0.0)  # starts them
    return ""


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of a function of tensors."""
    if peer.implementation in GRAPHS:
        return _graph(load(peer), task, jit_compile=peer.implementation == "tensorflow.xla")
    return of_function(load(peer), task)


def of_function(function: Callable[[Any], Any], task: BenchTask) -> TimedCall:
    """Return the call of a function, or of its gradient."""
    x, grad = tf.constant(task.x), tf.constant(task.grad)
    allocates = (ALLOCATES,) if task.reused else ()
    if task.quantity == "value":
        return TimedCall(lambda: function(x), read, allocates, x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(x)
    return TimedCall(lambda: tape.gradient(y, x, grad), read, (TAPE, *allocates), grad)


def _graph(function: Callable[[Any], Any], task: BenchTask, *, jit_compile: bool) -> TimedCall:
    """Return the call of a tf.function of a function, or of its gradient."""
    x, grad = tf.constant(task.x), tf.constant(task.grad)
    allocates = (ALLOCATES,) if task.reused else ()
    if task.quantity == "value":
        value = tf.function(function, jit_compile=jit_compile)
        return TimedCall(lambda: value(x), read, allocates)

    def vjp(x: Any, grad: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x, grad)

    backward = tf.function(vjp, jit_compile=jit_compile)
    return TimedCall(lambda: backward(x, grad), read, (FROM_X, *allocates))


def read(tensor: Any) -> Array:
    """Return a tensor as an array."""
    return np.asarray(tensor.numpy())
