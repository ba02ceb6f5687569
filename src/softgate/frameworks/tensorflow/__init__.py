"""TensorFlow tensors: which way a call takes, and taking it.

- an eager CPU tensor: the kernels, over its own memory;
- a symbolic one (in tf.function, under XLA), or one on another device: TensorFlow's operators.

Both are differentiable as often as one likes, save that TensorFlow stores only first gradients in a
SavedModel. The operators compute float16 and bfloat16 in float32, rounded once: next to the middle
of two numbers the result may be the other one, where a kernel's is the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..versions import check as check_version
from ..versions import missing

try:
    import tensorflow as tf
except ModuleNotFoundError as error:
    raise missing("tensorflow", error) from error
else:
    check_version("tensorflow", tf.__version__)

from softgate.runtime.arrays import check_arithmetic
from softgate.runtime.threads import POOL

from ..gated import Call, Operators
from .derivatives import STABLE, Derivatives, derivatives
from .memory import ACCEPTED, DTYPES, on_cpu

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated

NONE: Mapping[str, float] = {}
OPERATORS = Operators(
    split=lambda x, axis: tf.split(x, 2, axis),
    join=tf.concat,
    zeros_like=tf.zeros_like,
    spread=lambda x, like: tf.broadcast_to(x, tf.shape(like)),
)


@tf.autograph.experimental.do_not_convert
def evaluate(
    activation: Activation,
    quantity: str,
    x: Any,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NONE,
) -> Any:
    """Return a quantity at each element of a tensor or variable, gradients included."""
    _no_out(out)
    bound = _bind(activation, arithmetic, parameters)
    return bound(STABLE.index(quantity), _tensor(activation, x))


@tf.autograph.experimental.do_not_convert
def backward(
    activation: Activation,
    x: Any,
    grad: Any,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, float] = NONE,
) -> Any:
    """Return slope(x)·grad for tensors, arrays and numbers, itself differentiable."""
    _no_out(out)
    x, grad = _tensors(activation, (x, grad))
    if x.shape != grad.shape or not x.shape.is_fully_defined():
        shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(grad))
        x, grad = tf.broadcast_to(x, shape), tf.broadcast_to(grad, shape)
    return _bind(activation, arithmetic, parameters).pull(0, x, grad)


@tf.autograph.experimental.do_not_convert
def gated(
    function: Gated,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Any:
    """Return act(gate)·other of two tensors, or of the halves of one, gradients included."""
    _no_out(out)
    tensors = _tensors(function, operands)
    call = Call(function, tensors, axis, gate_first, arithmetic, parameters)
    return call.value(OPERATORS)


@tf.autograph.experimental.do_not_convert
def gated_quantity(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> Any:
    """Return slope, curvature or backward as `Gated` has them, themselves differentiable."""
    _no_out(out)
    tensors = _tensors(function, operands)
    call = Call(function, tensors, axis, gate_first, arithmetic, parameters)
    return call.quantity(quantity, OPERATORS)


def describe_gated(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    call = Call(function, _tensors(function, operands), axis, gate_first, arithmetic, parameters)
    gate, _ = call.ordered(OPERATORS)
    found = describe(function.act, quantity, gate, arithmetic, parameters)
    _, dtype, how, memory, threads = found
    shape = operands[0].shape if len(operands) == 1 else gate.shape
    return tuple(shape), dtype, f"{how}; times the other in an operator", memory, threads


def describe(
    activation: Activation,
    quantity: str,
    x: Any,
    arithmetic: str | None,
    parameters: Mapping[str, float],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    x = _tensor(activation, x)
    shape = () if x.shape.rank is None else tuple(x.shape)
    bound = _bind(activation, arithmetic, parameters)
    if not on_cpu(x):
        fmt = bound.computed_in(quantity, x.dtype).name
        how = f"the {fmt} kernel's formula in TensorFlow operators"
        rounded = "" if fmt == x.dtype.name else f", rounded once to {x.dtype.name}"
        passes = "one pass under XLA (jit_compile=True), else one for each operator"
        return shape, x.dtype.name, how + rounded, passes, 1
    values = dict(bound.parameters)
    route = activation.route(quantity, DTYPES[x.dtype], arithmetic, values)
    operands = 3 if quantity == "backward" else 2
    threads = POOL.plan(int(tf.size(x)), x.dtype.size * operands)
    return shape, x.dtype.name, route.describe(), "read where it lies", threads


def _tensors(function: Activation | Gated, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands of one dtype; a number takes the others'."""
    for operand in operands:
        _dense(function, operand)
    (dtype, *others) = {tf.as_dtype(x.dtype) for x in operands if hasattr(x, "dtype")}
    if others:
        names = " and ".join(sorted(kind.name for kind in (dtype, *others)))
        raise TypeError(f"the operands of {function.name} are {names}: convert one of them")
    return tuple(_tensor(function, tf.convert_to_tensor(x, dtype)) for x in operands)


def _tensor(activation: Activation | Gated, x: Any) -> Any:
    """Return a tensor, or what a variable holds; raise where there is no kernel for its dtype."""
    _dense(activation, x)
    x = tf.convert_to_tensor(x)
    if x.dtype not in DTYPES:
        raise TypeError(f"{activation.name} of a {x.dtype.name} tensor: accepted are {ACCEPTED}")
    return x


def _dense(activation: Activation | Gated, x: Any) -> None:
    name = activation.name
    if isinstance(x, tf.RaggedTensor):
        raise TypeError(
            f"{name} of a RaggedTensor: call tf.ragged.map_flat_values(sg.{name}, x), "
            "or x.with_flat_values(...) with what it makes of x.flat_values"
        )
    if isinstance(x, tf.SparseTensor):
        raise TypeError(
            f"{name} of a SparseTensor: call it on x.values where {name}(0) is 0, "
            "as tf.sparse.map_values does, else on tf.sparse.to_dense(x)"
        )


def _bind(
    activation: Activation, arithmetic: str | None, parameters: Mapping[str, float]
) -> Derivatives:
    check_arithmetic(arithmetic)
    return derivatives(activation, activation.check_parameters(parameters), arithmetic)


def _no_out(out: object) -> None:
    if out is not None:
        raise TypeError("out= is for arrays, not for tensors")
