"""JAX arrays and tracers: on CPUs the kernels that NumPy arrays use, elsewhere JAX operators.

The same code serves jit, grad, vmap, scan and sharded arrays, on every device: `cpu_kernels` has
a primitive that XLA lowers to a kernel or to the stable form in operators.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from softgate.records.packages import check, missing

try:
    import jax
except ModuleNotFoundError as error:
    raise missing("jax", error) from error
else:
    check("jax", jax.__version__)

import jax.numpy as jnp
import numpy as np

from softgate.formula.formats import FORMATS
from softgate.runtime.dispatch import Call, Explanation, Plan
from softgate.runtime.halves import Halves

from . import cpu_kernels, float8
from .derivatives import ORDERS, BoundFunction, Function
from .operands import as_float, bind_operands, together, wide

_usual: dict[object, Function] = {}
"""The functions of calls without parameters: for small arrays Python's overhead dominates.

By entry, quantity, dtype, whether JAX has float64, and why no kernel is called; cleared when full.
"""


def plan(call: Call) -> Plan:
    """Return how a call is computed, differentiably; raise if an argument is invalid."""
    function, quantity, operands = call.function, call.quantity, call.operands
    if call.out is not None:
        name = function.name
        raise TypeError(f"out= is for NumPy arrays, and JAX's cannot be written to: y = {name}(x)")
    if function.nin == 1 and float8.is_narrow(*operands):
        return float8.plan(call)
    usual = None
    if len(operands) == 1 == function.nin and call.arithmetic is None and not call.parameters:
        (x,) = operands
        usual = (function.entry, quantity, x.dtype, wide(), cpu_kernels.obstacle())
        derivatives = _usual.get(usual)
        if derivatives is not None:
            return Plan(lambda: derivatives(x)[0], lambda: ArrayCall.of(call).describe())
    planned = ArrayCall.of(call)
    if usual is not None and planned.operands[0].dtype == x.dtype:
        if len(_usual) > 1024:  # bounds the memory of users' formulas
            _usual.clear()
        _usual[usual] = planned.bound.derivatives(ORDERS.index(quantity))
    return Plan(planned.run, planned.describe)


class ArrayCall(NamedTuple):
    """A call with its operands in one format and shape, and the function that computes it."""

    call: Call
    bound: BoundFunction
    operands: Sequence[jax.Array]
    parameters: Sequence[jax.Array]
    halves: Halves | None

    @classmethod
    def of(cls, call: Call) -> ArrayCall:
        """Return the converted call; raise if an argument is invalid."""
        if call.gate is not None:
            call = call._replace(function=call.function.bind(gate=call.gate), gate=None)
        function, halves = call.function, None
        operands = dict(zip(call.names, call.operands, strict=True))
        if call.splits:
            x = as_float(operands.pop("x"))
            halves = Halves.of(x.shape, call.axis, function.name)
            for grad in operands.values():
                halves.check_grad(np.shape(grad))
            parts = jnp.split(x, 2, halves.axis)
            operands = dict(zip(function.entry.operands, parts, strict=True)) | operands
        else:
            call.check_axis()
        arrays = together(operands)
        bound, parameters = bind_operands(function, arrays[0], call.arithmetic, call.parameters)
        return cls(call, bound, arrays, parameters, halves)

    def run(self) -> Any:
        """Return the results, differentiable."""
        quantity = self.call.quantity
        if quantity == "backward":
            results = self.bound.backward(*self.operands, *self.parameters)
        else:
            derivatives = self.bound.derivatives(ORDERS.index(quantity))
            results = derivatives(*self.operands, *self.parameters)
        if len(results) == 1:
            return results[0]
        if self.halves is not None and quantity != "curvature":
            return jnp.concatenate(results, self.halves.axis)
        return tuple(results)

    def describe(self) -> Explanation:
        """Return how the call is computed."""
        bound, array, quantity = self.bound, self.operands[0], self.call.quantity
        shape = array.shape if self.halves is None else np.shape(self.call.operands[0])
        traced = isinstance(array, jax.core.Tracer)
        devices = [] if traced else list(array.devices())
        platform = devices[0].platform if devices else jax.default_backend()
        name, dtype = self.call.function.name, array.dtype.name
        reason = ""
        if bound.arrays:
            reason = "a parameter is an array"
        elif not bound.native:
            reason = cpu_kernels.obstacle() or f"parameters of {dtype} are operands on {platform}"
        elif platform != "cpu":
            reason = "kernels are for CPUs"
        elif len(devices) > 1:
            reason = f"the array is on {len(devices)} devices"
        if not reason:
            route = bound.route(quantity, FORMATS[dtype])
            threads = cpu_kernels.threads(route, array)
            how = f"{route.describe()}, called by XLA for cpu"
            if traced:
                how += (
                    "; JAX operators if the program is exported, partitioned over several devices "
                    "or compiled for another platform"
                )
        else:
            form = "the definition" if bound.uses_definition else "the stable form"
            if bound.activation is not None:
                form += f" of {bound.activation.entry.name}, times the other operand,"
            how = f"{form} in JAX operators, {bound.fmt.name}, compiled by XLA for {platform}"
            if bound.fmt.name != dtype:
                how += f", rounded once to {dtype}"
            if platform == "cpu":
                how += ", where XLA takes subnormal numbers for 0"
            threads, how = os.cpu_count() or 1, f"{how} ({reason})"
        return Explanation(name, quantity, tuple(shape), dtype, how, "as JAX has it", threads)
