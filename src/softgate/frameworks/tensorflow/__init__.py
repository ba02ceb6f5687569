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

from functools import partial, reduce
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
from softgate.runtime.dispatch import Call, Explanation, Plan
from softgate.runtime.halves import Halves
from softgate.runtime.threads import POOL

from . import cpu_kernels, private
from .cpu_kernels import ACCEPTED, DTYPES, on_cpu
from .derivatives import STABLE, Derivatives, derivatives

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


private.not_rewritten.get()


@tf.autograph.experimental.do_not_convert
def plan(call: Call) -> Plan:
    """Return how a call is computed, with differentiable results; raise if one is invalid."""
    function, quantity = call.function, call.quantity
    if call.gate is not None:
        function = function.bind(gate=call.gate)
    if call.out is not None:
        raise TypeError("out= is for arrays, not for tensors")
    call.check_axis()
    check_arithmetic(call.arithmetic)
    operands = _tensors(function, call.operands)
    slope = call.parameters.get(function.entry.tensor_slope)
    if slope is not None and quantity == "value" and tf.is_tensor(slope):
        return _with_trained_slope(function, operands[0], slope)
    parameters = function.check_parameters(call.parameters)
    bound, joined = derivatives(function, parameters, call.arithmetic), None
    if call.splits:
        x, *grads = operands
        axis = -1 if call.axis is None else call.axis
        if x.shape.rank is not None:
            halves = Halves.of(tuple(x.shape), axis, function.name)
            for grad in grads:
                if x.shape.is_fully_defined() and grad.shape.is_fully_defined():
                    halves.check_grad(tuple(grad.shape))
        operands = (*tf.split(x, 2, axis), *grads)
        joined = axis if quantity in ("slope", "backward") else None
    operands = _broadcast(function.name, *operands)
    whole = x.shape if call.splits else operands[0].shape
    return Plan(
        partial(_run, bound, quantity, operands, joined),
        partial(_describe, bound, quantity, operands, whole),
    )


@tf.autograph.experimental.do_not_convert
def _run(bound: Derivatives, quantity: str, operands: tuple[Any, ...], joined: int | None) -> Any:
    """Return the results of a quantity, along an axis if they are joined."""
    if quantity == "backward":
        results = bound(1, operands[:-1], operands[-1:])
    else:
        results = bound(STABLE.index(quantity), operands)
    if joined is not None:
        return tf.concat(results, joined)
    return results[0] if len(results) == 1 else results


def _with_trained_slope(function: Activation, x: Any, slope: Any) -> Plan:
    """Return the plan of a value with a tensor as its parameter `tensor_slope`."""
    shape = () if x.shape.rank is None else tuple(x.shape)
    how = f"TensorFlow operators, with a tensor as {function.entry.tensor_slope}"
    passes = "one pass for each operator"

    def run() -> Any:
        # One of the two terms is 0, so the sum is exact; both derivatives are finite at ±inf.
        return tf.nn.relu(x) + tf.cast(slope, x.dtype) * tf.minimum(x, tf.zeros((), x.dtype))

    explanation = Explanation(function.name, "value", shape, x.dtype.name, how, passes, 1)
    return Plan(run, lambda: explanation)


def _broadcast(name: str, *operands: Any) -> tuple[Any, ...]:
    """Return tensors of one shape; raise if they do not broadcast."""
    shape = operands[0].shape
    if shape.is_fully_defined() and all(x.shape == shape for x in operands):
        return operands
    try:
        reduce(tf.broadcast_static_shape, (x.shape for x in operands))
    except ValueError:
        shapes = " and ".join(str(tuple(x.shape)) for x in operands)
        raise ValueError(
            f"the operands of {name} have the shapes {shapes}, which do not broadcast"
        ) from None
    lengths = reduce(tf.broadcast_dynamic_shape, map(tf.shape, operands))
    return tuple(tf.broadcast_to(x, lengths) for x in operands)


def _describe(
    bound: Derivatives, quantity: str, operands: tuple[Any, ...], whole: tf.TensorShape
) -> Explanation:
    """Return how `_run` computes; `whole` is the shape of the tensor that was split."""
    name, x = bound.function.name, operands[0]
    shape = () if whole.rank is None else tuple(whole)
    in_graph = tf.is_symbolic_tensor(x)
    reason = cpu_kernels.unavailable(in_graph)
    if not on_cpu(x) and not (in_graph and reason is None):
        fmt = bound.computed_in(quantity, x.dtype).name
        how = f"the {fmt} kernel's formula in TensorFlow operators"
        if fmt != x.dtype.name:
            how += f", rounded once to {x.dtype.name}"
        if in_graph:
            how += f" (no kernels in graphs: {reason})"
        passes = "one pass under XLA (jit_compile=True), else one for each operator"
        return Explanation(name, quantity, shape, x.dtype.name, how, passes, 1)
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
    return Explanation(name, quantity, shape, x.dtype.name, how, "input not copied", threads)


def _tensors(function: Activation, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands of one dtype, which numbers take; raise if tensors have different ones.

    Raise also for sparse tensors, and if there is no kernel for the dtype.
    """
    name = function.name
    for x in operands:
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
    (dtype, *others) = {tf.as_dtype(x.dtype) for x in operands if hasattr(x, "dtype")}
    if others:
        names = " and ".join(sorted(kind.name for kind in (dtype, *others)))
        raise TypeError(f"the operands of {name} are {names}: convert one of them")
    tensors = tuple(
        x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(x, dtype) for x in operands
    )
    if dtype not in DTYPES or (DTYPES[dtype].itemsize == 1 and not all(map(on_cpu, tensors))):
        raise TypeError(f"{name} of a {dtype.name} tensor: expected {ACCEPTED}")
    if function.nin == 2:
        function.route("value", DTYPES[dtype])  # raises for float8
    return tensors
