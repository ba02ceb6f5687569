"""JAX arrays and tracers: the stable forms in JAX operators, compiled by XLA.

The same code serves jit, grad, vmap, scan and sharded arrays, on every device. The kernels for
NumPy cannot be called under a trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from softgate.runtime.packages import check, missing

try:
    import jax
except ModuleNotFoundError as error:
    raise missing("jax", error) from error
else:
    check("jax", jax.__version__)

import jax.numpy as jnp

from softgate.runtime.dispatch import Call, Explanation
from softgate.runtime.gated import Gated

from ..gated import Operators, compute_gated, gate_and_other
from . import float8, native
from .derivatives import ORDERS, Function
from .operands import as_float, described, family_of, refuse_out, together, wide

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

_usual: dict[object, Function] = {}
"""The functions of calls without parameters: for small arrays Python's overhead dominates."""

OPERATORS = Operators(
    split=lambda x, axis: jnp.split(x, 2, axis),
    join=jnp.concatenate,
    zeros_like=jnp.zeros_like,
    broadcast_like=lambda x, like: jnp.broadcast_to(x, like.shape),
)


def compute(call: Call) -> Any:
    """Return the results of a call as arrays, differentiable."""
    function, quantity, arithmetic, parameters = (
        call.function,
        call.quantity,
        call.arithmetic,
        call.parameters,
    )
    refuse_out(call)
    if isinstance(function, Gated):
        return compute_gated(_converted(call), OPERATORS)
    if float8.is_narrow(*call.operands):
        return float8.compute(call)
    activation = cast("Activation", function)
    if quantity == "backward":
        x, grad = together(*call.operands)
        family, arrays = family_of(activation, x, arithmetic, parameters)
        if not arrays:
            return family.backward(x, grad)
        return family.times(family.function(("x",))(x, *arrays), grad)
    (x,) = call.operands
    usual = (activation.entry, quantity, x.dtype, wide(), native.obstacle())
    if arithmetic is None and not parameters and usual in _usual:
        return _usual[usual](x)
    x = as_float(x)
    family, arrays = family_of(activation, x, arithmetic, parameters)
    derivative = family.function(("x",) * ORDERS.index(quantity))
    if arithmetic is None and not parameters and x.dtype == usual[2]:
        if len(_usual) > 1024:  # bounds the memory of users' formulas
            _usual.clear()
        _usual[usual] = derivative
    return derivative(x, *arrays)


def _converted(call: Call) -> Call:
    """Return a call of a gated function with its operands as arrays of one format and shape."""
    grad = call.operands[-1:] if call.quantity == "backward" else ()
    operands = call.operands[: len(call.operands) - len(grad)]
    if len(operands) == 1:
        operands = (as_float(operands[0]),)
    else:
        cast(Gated, call.function).no_axis(call.axis)
        operands = together(*operands)
    return call._replace(operands=(*operands, *grad))


def explain(call: Call) -> Explanation:
    """Return how a call is computed."""
    function = call.function
    if isinstance(function, Gated):
        x = call.operands[0]
        array, _ = gate_and_other(_converted(call._replace(quantity="value")), OPERATORS)
        family, _ = family_of(function, array, call.arithmetic, call.parameters)
        form = f"the stable form of {function.entry.act.name}, times the other operand,"
        shape = array.shape if len(call.operands) == 2 else x.shape
    elif float8.is_narrow(*call.operands):
        return float8.explain(call)
    else:
        array = as_float(call.operands[0])
        family, _ = family_of(cast("Activation", function), array, call.arithmetic, call.parameters)
        form = "the definition" if family.uses_definition else "the stable form"
        shape = array.shape
    how, memory, threads = described(family, form, array)
    name, dtype = function.name, array.dtype.name
    return Explanation(name, call.quantity, tuple(shape), dtype, how, memory, threads)
