"""Calls of onnxruntime: a model of one operator, inputs and output bound to memory."""

from __future__ import annotations

import numpy as np
import onnx  # noqa: F401  (builds the models: its import must not count in a first call)
import onnxruntime

from .registry import Peer
from .timed_call import Array, BenchTask, TimedCall, UnsupportedCall, onnx_model

_THREADS = [1]


def start(threads: int) -> str:
    """Set the number of threads of later sessions."""
    onnxruntime.set_default_logger_severity(3)
    _THREADS[0] = threads
    return ""


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of a model; raise UnsupportedCall for backward and bfloat16."""
    if task.quantity != "value":
        raise UnsupportedCall("has no backward of this operator")
    if task.x.dtype.name == "bfloat16":
        raise UnsupportedCall("has no bfloat16 on a CPU")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = _THREADS[0]
    session = onnxruntime.InferenceSession(
        onnx_model(peer, task.x.dtype.name), options, providers=["CPUExecutionProvider"]
    )
    if not task.reused:
        return TimedCall(lambda: session.run(["y"], {"x": task.x})[0])
    binding = session.io_binding()
    kind, shape = task.x.dtype.type, task.x.shape
    binding.bind_input("x", "cpu", 0, kind, shape, task.x.ctypes.data)
    binding.bind_output("y", "cpu", 0, kind, shape, task.out.ctypes.data)

    def read(_: object) -> Array:
        return np.array(task.out)

    return TimedCall(lambda: session.run_with_iobinding(binding), read)
