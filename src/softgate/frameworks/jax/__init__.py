"""JAX arrays and tracers: on CPUs the kernels that NumPy arrays use, elsewhere JAX operators.

The same code serves jit, grad, vmap, scan and sharded arrays, on every device: `cpu_kernels` has
a primitive that XLA lowers to a kernel or to the stable form in operators.
"""

from __future__ import annotations

from typing import Any

from softgate.records.packages import check, missing

try:
    import jax
except ModuleNotFoundError as error:
    raise missing("jax", error) from error
else:
    check("jax", jax.__version__)

from softgate.runtime.dispatch import Call, Explanation

from ..gated import gate_and_other
from . import cpu_kernels, float8, gated
from .derivatives import ORDERS, Function
from .operands import (
    as_float,
    bind_operands,
    described,
    refuse_out,
    storage_of,
    together,
    wide,
)

_usual: dict[object, Function] = {}
"""The functions of calls without parameters: for small arrays Python's overhead dominates."""


def compute(call: Call) -> Any:
    """Return the results of a call as arrays, differentiable."""
    function, quantity, arithmetic, parameters = (
        call.function,
        call.quantity,
        call.arithmetic,
        call.parameters,
    )
    refuse_out(call)
    if function.nin == 2:
        return gated.compute(call)
    if float8.is_narrow(*call.operands):
        return float8.compute(call)
    activation = function
    if quantity == "backward":
        x, grad = together(*call.operands)
        bound, arrays = bind_operands(activation, x, arithmetic, parameters)
        if not arrays:
            return bound.backward(x, grad)
        return bound.times(bound.function(("x",))(x, *arrays), grad)
    (x,) = call.operands
    usual = (activation.entry, quantity, x.dtype, wide(), cpu_kernels.obstacle())
    if arithmetic is None and not parameters and usual in _usual:
        return _usual[usual](x)
    x = as_float(x)
    bound, arrays = bind_operands(activation, x, arithmetic, parameters)
    derivative = bound.function(("x",) * ORDERS.index(quantity))
    if arithmetic is None and not parameters and x.dtype == usual[2]:
        if len(_usual) > 1024:  # bounds the memory of users' formulas
            _usual.clear()
        _usual[usual] = derivative
    return derivative(x, *arrays)


def explain(call: Call) -> Explanation:
    """Return how a call is computed."""
    function = call.function
    if function.nin == 2:
        value = gated.converted(call._replace(quantity="value"))
        array, _ = gate_and_other(value, gated.OPERATORS)
        bound, _ = bind_operands(function, array, call.arithmetic, call.parameters)
        assert function.gate_activation is not None
        form = f"the stable form of {function.gate_activation.name}, times the other operand,"
        shape = array.shape if len(call.operands) == 2 else value.operands[0].shape
        kernels = gated.kernels_of(call, array)
        route = None if kernels is None else kernels.route(call.quantity)
    elif float8.is_narrow(*call.operands):
        return float8.explain(call)
    else:
        array = as_float(call.operands[0])
        bound, _ = bind_operands(function, array, call.arithmetic, call.parameters)
        form = "the definition" if bound.uses_definition else "the stable form"
        shape = array.shape
        route = bound.route(call.quantity, storage_of(array)) if bound.native else None
    how, memory, threads = described(bound, form, array, route)
    name, dtype = function.name, array.dtype.name
    return Explanation(name, call.quantity, tuple(shape), dtype, how, memory, threads)
