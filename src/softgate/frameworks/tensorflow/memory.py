"""Kernels over the memory of eager CPU tensors, without copies.

A tensor exposes its memory as an array, and TensorFlow imports an array's memory through DLPack,
which requires an alignment that NumPy does not guarantee.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf

from softgate.formula.formats import BYTE_FORMATS, dtype_of
from softgate.runtime.arrays import Array, run
from softgate.runtime.routes import Runner

DTYPES: dict[Any, np.dtype[Any]] = {
    tf.float16: np.dtype(np.float16),
    tf.bfloat16: np.dtype(ml_dtypes.bfloat16),
    tf.float32: np.dtype(np.float32),
    tf.float64: np.dtype(np.float64),
    **{
        getattr(tf.dtypes.experimental, name): dtype_of(fmt)
        for name, fmt in BYTE_FORMATS.items()
        if hasattr(tf.dtypes.experimental, name)
    },
}
ACCEPTED = "float16, bfloat16, float32 or float64; float8 and float4 in eager mode on the CPU"
ALIGNMENT = 64


def on_cpu(x: Any) -> bool:
    """Return whether a tensor is eager and in the CPU's memory."""
    return not tf.is_symbolic_tensor(x) and tf.executing_eagerly() and "CPU" in x.device


def has_tangent(x: Any) -> bool:
    """Return whether a tensor is differentiated in forward mode."""
    from tensorflow.python.eager import forwardprop_util

    return bool(forwardprop_util.pack_tangents([x]).tangents)


def array_of(x: Any) -> Array:
    """Return the memory of an eager CPU tensor as an array, not to be written to."""
    return np.asarray(x.__array__())


def call(runner: Runner, *inputs: Any) -> Any:
    """Return a new tensor with a kernel's results for tensors of one shape and dtype."""
    arrays = [array_of(x) for x in inputs]
    out = aligned_like(arrays[0])
    run(runner, (out, *arrays))
    return tensor_of(out)


def aligned_like(x: Array) -> Array:
    """Return new memory in C order with the alignment that TensorFlow requires."""
    raw = np.empty(x.nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    out: Array = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    return out


def tensor_of(x: Array) -> Any:
    """Return the memory of an aligned array as a tensor; the array must not be written to again."""
    if x.itemsize == 1:  # neither DLPack nor bitcast has float8
        return tf.constant(x)
    if not x.size:
        return tf.zeros(x.shape, tf.dtypes.as_dtype(x.dtype))
    if x.dtype == DTYPES[tf.bfloat16]:  # NumPy cannot export bfloat16
        words = tf.experimental.dlpack.from_dlpack(x.view(np.uint16).__dlpack__())
        return tf.bitcast(words, tf.bfloat16)
    return tf.experimental.dlpack.from_dlpack(x.__dlpack__())
