"""JAX arrays and tracers: on CPUs the kernels that NumPy arrays use, elsewhere JAX operators.

The same code serves jit, grad, vmap, scan and sharded arrays, on every device: `cpu_kernels` has
a primitive that XLA lowers to a kernel or to the stable form in operators.
"""

from __future__ import annotations

import os
from typing import Any

from softgate.records.packages import check, missing

try:
    import jax
except ModuleNotFoundError as error:
    raise missing("jax", error) from error
else:
    check("jax", jax.__version__)

from softgate.formula.formats import FORMATS
from softgate.runtime.dispatch import Call, Explanation

from ..gated import gate_and_other
from . import cpu_kernels, float8, gated
from .derivatives import ORDERS, Function
from .operands import as_float, bind_operands, together, wide

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
    if call.out is not None:
        name = function.name
        raise TypeError(f"out= is for NumPy arrays, and JAX's cannot be written to: y = {name}(x)")
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
        storage = FORMATS[array.dtype.name]
        route = bound.route(call.quantity, storage) if bound.native else None
    traced = isinstance(array, jax.core.Tracer)
    devices = [] if traced else list(array.devices())
    platform = devices[0].platform if devices else jax.default_backend()
    name, dtype = function.name, array.dtype.name
    reason = ""
    if bound.arrays:
        reason = "a parameter is an array"
    elif not bound.native:
        reason = cpu_kernels.obstacle() or f"parameters of {dtype} are operands on {platform}"
    elif route is None:
        reason = f"{dtype} is computed in float64"
    elif platform != "cpu":
        reason = "kernels are for CPUs"
    elif len(devices) > 1:
        reason = f"the array is on {len(devices)} devices"
    if route is not None and not reason:
        threads = cpu_kernels.threads(route, array)
        how = f"{route.describe()}, called by XLA for cpu"
        if traced:
            how += (
                "; JAX operators if the program is exported, partitioned over several devices or "
                "compiled for another platform"
            )
    else:
        how = f"{form} in JAX operators, {bound.fmt.name}, compiled by XLA for {platform}"
        if bound.fmt.name != dtype:
            how += f", rounded once to {dtype}"
        if platform == "cpu":
            how += ", where XLA takes subnormal numbers for 0"
        threads, how = os.cpu_count() or 1, f"{how} ({reason})"
    return Explanation(name, call.quantity, tuple(shape), dtype, how, "as JAX has it", threads)
