"""Private names of TensorFlow, and what replaces them; see `softgate.frameworks.capability`.

The kernel op and its place in graphs (`cpu_kernels`) are built on public names, among them
TensorFlow's C API.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import tensorflow as tf

from ..capability import Changed, capability

EagerOp = Callable[..., Any]
NO_EAGER_OP: EagerOp | None = None


@capability(
    "tensorflow",
    "tensorflow.python.autograph.core.config",
    cost="each tf.function that calls softgate rewrites its code first, which takes seconds",
    otherwise=None,
)
def not_rewritten(config: Any) -> None:
    """Add softgate to the packages whose code AutoGraph does not rewrite."""
    config.CONVERSION_RULES = (*config.CONVERSION_RULES, config.DoNotConvert("softgate"))


@capability(
    "tensorflow",
    "tensorflow.python.pywrap_tfe.TFE_Py_FastPathExecute",
    "tensorflow.python.eager.context.context",
    "tensorflow.python.eager.core._NotOkStatusException",
    cost="kernels run over the memory of eager tensors, a few microseconds slower a call",
    otherwise=NO_EAGER_OP,
)
def eager_op(
    execute: Callable[..., Any], context: Callable[[], Any], failure: type[Exception]
) -> EagerOp | None:
    """Return a function that calls an op with eager tensors: its name, a list, attributes."""

    def call(op: str, operands: list[Any], *attributes: Any) -> Any:
        try:
            return execute(context(), op, None, operands, *attributes)
        except failure as error:
            status: Any = error
            kind = tf.compat.v1.errors.exception_type_from_error_code(status.code)
            raise kind(None, None, status.message) from None

    def check() -> None:
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call("Pack", [x, x], "axis", 1)
        slope = tape.gradient(y, x)
        if y.numpy().tolist() != [[1, 1], [2, 2]] or slope is None or any(slope.numpy() != 2):
            raise Changed("it does not stack two tensors, or not on a tape")

    _in_new_thread(check)
    return call


def _in_new_thread(check: Callable[[], None]) -> None:
    """Run a check where no graph is being built, and tapes record: `tf.init_scope` stops them."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(check).result()


def has_tangent_in_graph(x: Any, /) -> bool:
    """Return whether a symbolic tensor is differentiated in forward mode.

    An operator then adds that of its derivative to the graph.
    """
    graph, x = tf.compat.v1.get_default_graph(), tf.identity(x)  # x may be of another graph
    added = []
    for operand in (tf.stop_gradient(x), x):
        before = graph.version
        tf.identity(operand)
        added.append(graph.version - before)
    return added[0] != added[1]


@capability(
    "tensorflow",
    "tensorflow.python.eager.forwardprop_util.pack_tangents",
    cost="graphs have four more operators for each call",
    otherwise=has_tangent_in_graph,
)
def has_tangent(pack_tangents: Callable[..., Any]) -> Callable[[Any], bool]:
    """Return a function that tells whether a symbolic tensor is differentiated in forward mode.

    TensorFlow ignores custom gradients then, so a wrong answer would cost right derivatives.
    """

    def found(x: Any) -> bool:
        return bool(pack_tangents([x]).tangents)

    answers = []

    def examined(x: Any) -> Any:
        answers.append(found(x))
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)):
            answers.append(found(x))
        return x

    def check() -> None:
        spec = tf.TensorSpec([], tf.float32)
        tf.function(examined, autograph=False).get_concrete_function(spec)

    _in_new_thread(check)
    if answers != [False, True]:
        raise Changed(f"before and in forward mode it answers {answers}")
    return found
