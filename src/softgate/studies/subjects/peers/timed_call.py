"""A timed call: all preparation is done before it, on arrays that are the same for all peers.

A module such as `torch_calls` makes the calls of one framework, and is imported only in its worker
process. It has `start(threads)`, which sets the threads and returns a remark about them or an empty
string, and `make(peer, task)`, which returns a `TimedCall` or raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from .registry import Peer

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]
IR_VERSION = 10


class UnsupportedCall(Exception):
    """An implementation has no such function, format or quantity."""


@dataclass(frozen=True)
class BenchTask:
    """What to compute, and on which arrays.

    With `reused` the result is written to `out` if the library can do that; otherwise each call
    allocates its output.
    """

    quantity: str
    x: Array
    grad: Array
    out: Array
    reused: bool


@dataclass(frozen=True)
class TimedCall:
    """A call to time; `read` converts its result to an array."""

    call: Call
    read: Callable[[Any], Array] = np.asarray
    notes: tuple[str, ...] = ()
    operand: Any = None
    """The input, if a call may return it unchanged without computing anything."""


ALLOCATES = "has no output argument: each call allocates, reusing the memory the last one freed"
"""Note on a call that cannot write to an existing array."""

FROM_X = "the backward recomputes what it needs of the value from x"


def load(peer: Peer) -> Callable[[Any], Any]:
    """Return a peer's function of one array, with its keywords bound; a class is instantiated.

    Examples
    --------
    >>> print(load(Peer("relu", "softgate", "softgate.relu", "softgate:relu"))(-1.0))
    0.0
    """
    module, _, name = peer.subject.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    if isinstance(function, type):
        instance: Callable[[Any], Any] = function(**peer.keywords)
        return instance
    return partial(function, **peer.keywords) if peer.keywords else function


def onnx_model(peer: Peer, dtype: str) -> bytes:
    """Return an ONNX model of a peer's operator in a format, as the bytes of a file."""
    from onnx import TensorProto, checker, helper

    node = peer.node
    if node is None:
        raise ValueError(f"{peer.title} is not an ONNX operator")
    kind = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
            "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}[dtype]  # fmt: skip
    operands = [helper.make_tensor_value_info(name, kind, ["n"]) for name in "xy"]
    operation = helper.make_node(node.operator, ["x"], ["y"], domain=node.domain, **peer.keywords)
    graph = helper.make_graph([operation], node.operator, operands[:1], operands[1:])
    opsets = [helper.make_opsetid("", node.opset)]
    if node.domain:
        opsets.append(helper.make_opsetid(node.domain, 1))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content
