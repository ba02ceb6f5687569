"""Adapter for TensorFlow tensors.

- an eager CPU tensor: the kernels, as an op or over the tensor's memory (`cpu_kernels`);
- a symbolic one (in tf.function): TensorFlow's operators, which kernels replace where a CPU runs
  the graph without XLA;
- a tensor on another device: TensorFlow's operators.

All have derivatives of every order, except that TensorFlow stores only first gradients in a
SavedModel. The operators compute float16 and bfloat16 in float32, rounded once: near the midpoint
of two numbers the result may not be the nearest, as a kernel's is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from softgate.records.packages import check as check_version
from softgate.records.packages import missing

try:
    import tensorflow as tf
except ModuleNotFoundError as error:
    raise missing("tensorflow", error) from error
else:
    check_version("tensorflow", tf.__version__)

from softgate.runtime.arrays import check_arithmetic
from softgate.runtime.dispatch import Call, Explanation
from softgate.runtime.threads import POOL

from ..gated import gate_and_other, in_order, refuse_out
from . import cpu_kernels, private
from .cpu_kernels import ACCEPTED, DTYPES, on_cpu
from .derivatives import OPERATORS, STABLE, derivatives

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


private.not_rewritten.get()


@tf.autograph.experimental.do_not_convert
def compute(call: Call) -> Any:
    """Return the results of a call as tensors, differentiable."""
    function = call.function
    refuse_out(call)
    if function.nin == 2:
        return _gated(call._replace(operands=_tensors(function, call.operands)))
    slope = call.parameters.get(function.entry.tensor_slope)
    if call.quantity == "value" and tf.is_tensor(slope):
        # One of the two terms is 0, so the sum is exact; both derivatives are finite at ±inf.
        x = _tensor(function, call.operands[0])
        return tf.nn.relu(x) + tf.cast(slope, x.dtype) * tf.minimum(x, tf.zeros((), x.dtype))
    bound = _bind(function, call)
    if call.quantity != "backward":
        return bound(STABLE.index(call.quantity), _tensor(function, call.operands[0]))
    x, grad = _tensors(function, call.operands)
    return bound.pull(0, *_broadcast(x, grad))


def _gated(call: Call) -> Any:
    bound = _bind(call.function, call)
    operands: tuple[Any, ...] = gate_and_other(call, OPERATORS)
    if call.quantity == "backward":
        operands = (*operands, call.operands[-1])
    first, *second = bound(call.quantity, *_broadcast(*operands))
    return in_order(call, first, second[0], OPERATORS) if second else first


def _broadcast(*operands: Any) -> tuple[Any, ...]:
    """Return tensors of one shape."""
    shape = operands[0].shape
    if shape.is_fully_defined() and all(x.shape == shape for x in operands):
        return operands
    lengths = tf.shape(operands[0])
    for x in operands[1:]:
        lengths = tf.broadcast_dynamic_shape(lengths, tf.shape(x))
    return tuple(tf.broadcast_to(x, lengths) for x in operands)


def explain(call: Call) -> Explanation:
    """Return how a call is computed."""
    function, quantity = call.function, call.quantity
    if function.nin == 2:
        operands = _tensors(function, call.operands)
        value = call._replace(quantity="value", operands=operands)
        x, _ = gate_and_other(value, OPERATORS)
    else:
        x = _tensor(function, call.operands[0])
    shown = call.operands[0] if len(call.operands) == 1 else x
    shape = () if shown.shape.rank is None else tuple(shown.shape)
    bound, in_graph = _bind(function, call), tf.is_symbolic_tensor(x)
    reason = cpu_kernels.unavailable(in_graph)
    if not on_cpu(x) and not (in_graph and reason is None):
        fmt = bound.computed_in(quantity, x.dtype).name
        how = f"the {fmt} kernel's formula in TensorFlow operators"
        if fmt != x.dtype.name:
            how += f", rounded once to {x.dtype.name}"
        if in_graph:
            how += f" (no kernels in graphs: {reason})"
        passes = "one pass under XLA (jit_compile=True), else one for each operator"
        return Explanation(function.name, quantity, shape, x.dtype.name, how, passes, 1)
    route = bound.route(quantity, x.dtype)
    how, elements = route.describe(), x.shape.num_elements()
    item_bytes = x.dtype.size * (len(route.inputs) + route.results)
    if in_graph:
        how += " where TensorFlow runs the graph (its operators under XLA and in files)"
    elif private.eager_op.reason:
        how += f" ({private.eager_op.reason})"
    if reason is None and x.dtype in cpu_kernels.ENUMS:
        threads = cpu_kernels.threads(None if elements is None else elements * item_bytes)
    else:
        threads = POOL.plan(elements, item_bytes)
    return Explanation(
        function.name, quantity, shape, x.dtype.name, how, "input not copied", threads
    )


def _tensors(function: Activation, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands of one dtype, which numbers take; raise if tensors have different ones."""
    for operand in operands:
        _dense(function, operand)
    (dtype, *others) = {tf.as_dtype(x.dtype) for x in operands if hasattr(x, "dtype")}
    if others:
        names = " and ".join(sorted(kind.name for kind in (dtype, *others)))
        raise TypeError(f"the operands of {function.name} are {names}: convert one of them")
    return tuple(_tensor(function, tf.convert_to_tensor(x, dtype)) for x in operands)


def _tensor(activation: Activation, x: Any) -> Any:
    """Return a tensor, or a variable's value; raise if there is no kernel for its dtype."""
    _dense(activation, x)
    x = tf.convert_to_tensor(x)
    if x.dtype not in DTYPES or (DTYPES[x.dtype].itemsize == 1 and not on_cpu(x)):
        raise TypeError(f"{activation.name} of a {x.dtype.name} tensor: expected {ACCEPTED}")
    if activation.nin == 2:
        activation.route("value", DTYPES[x.dtype])  # raises for float8
    return x


def _dense(activation: Activation, x: Any) -> None:
    name = activation.name
    if isinstance(x, tf.RaggedTensor):
        raise TypeError(
            f"{name} of a RaggedTensor: call tf.ragged.map_flat_values(sg.{name}, x), "
            "or x.with_flat_values(...) with its value at x.flat_values"
        )
    if isinstance(x, tf.SparseTensor):
        raise TypeError(
            f"{name} of a SparseTensor: call it on x.values where {name}(0) is 0, "
            "as tf.sparse.map_values does, else on tf.sparse.to_dense(x)"
        )


def _bind(function: Activation, call: Call) -> Any:
    check_arithmetic(call.arithmetic)
    return derivatives(function, function.check_parameters(call.parameters), call.arithmetic)
