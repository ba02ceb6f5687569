"""Gated functions of JAX arrays: a kernel of two operands, or the activation times the other one.

The kernel's value has the kernel of `backward` as its tangent, once for each operand; XLA merges
both calls, so a gradient is one pass. Derivatives of higher order are those of the composition.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from softgate.formula.formats import FLOAT64, Format, format_of
from softgate.runtime.activation import Activation
from softgate.runtime.dispatch import Call
from softgate.runtime.routes import Route

from ..gated import Operators, compute_gated, gate_and_other, in_order
from . import cpu_kernels
from .derivatives import Key, kernel_route
from .operands import as_float, bind_operands, together

OPERATORS = Operators(
    split=lambda x, axis: jnp.split(x, 2, axis),
    join=jnp.concatenate,
    zeros_like=jnp.zeros_like,
    broadcast_like=lambda x, like: jnp.broadcast_to(x, like.shape),
)


def compute(call: Call) -> Any:
    """Return the results of a call as arrays, differentiable."""
    call = converted(call)
    gate, other = gate_and_other(call, OPERATORS)
    kernels = kernels_of(call, gate)
    if kernels is None:
        return compute_gated(call, OPERATORS)
    operands: tuple[Any, ...] = (gate, other)
    if call.quantity == "backward":
        operands = together(gate, other, call.operands[-1])
    results = kernels.function(call.quantity)(*operands)
    if call.quantity == "value":
        return results[0]
    by_gate, second = results[:2]
    return in_order(call, by_gate, second, OPERATORS)


def converted(call: Call) -> Call:
    """Return a call with its operands as arrays of one format and shape."""
    grad = call.operands[-1:] if call.quantity == "backward" else ()
    operands = call.operands[: len(call.operands) - len(grad)]
    if len(operands) == 1:
        operands = (as_float(operands[0]),)
    else:
        call.check_axis()
        operands = together(*operands)
    return call._replace(operands=(*operands, *grad))


def kernels_of(call: Call, gate: jax.Array) -> GatedKernels | None:
    """Return the kernels for a call whose gate has the dtype of `gate`; None if operators run."""
    function = call.function
    grad = call.operands[-1:] if call.quantity == "backward" else ()
    bound, _ = bind_operands(function, gate, call.arithmetic, call.parameters)
    storage = format_of(jnp.result_type(gate, *grad))
    if not bound.native or storage is None:
        return None
    kernels = _kernels(function, bound.fmt, bound.key, storage)
    # Kernels do not convert between 16 bits and float64.
    wide = storage.bits == 16 and kernels.route(call.quantity).computed_in is FLOAT64
    return None if wide else kernels


class GatedKernels:
    """A gated function with fixed parameters in one format; operands are the gate, then the other.

    `fmt` is the arithmetic of the operators that replace the kernels.
    """

    def __init__(self, function: Activation, fmt: Format, key: Key, storage: Format) -> None:
        self.gated, self.fmt, self.key, self.storage = function, fmt, key, storage
        self._functions: dict[str, Callable[..., Any]] = {}

    def route(self, quantity: str) -> Route:
        """Return the route of a quantity."""
        return kernel_route(self.gated.entry, quantity, self.fmt, self.storage, self.key)

    def function(self, quantity: str) -> Callable[..., Any]:
        """Return a quantity as a function of arrays with a list of results, differentiable."""
        if quantity not in self._functions:
            self._functions[quantity] = self._make(quantity)
        return self._functions[quantity]

    def _make(self, quantity: str) -> Callable[..., Any]:
        computation = self._computation(quantity)
        if quantity == "backward":
            return jax.jit(computation)

        def compute(*operands: jax.Array) -> Any:
            return computation(*operands)

        compute.__name__ = compute.__qualname__ = f"{self.gated.name}_{quantity}"
        function: Any = jax.custom_jvp(compute)

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            results = function(*primals)
            if quantity == "value":
                return results, [self._tangent(primals, tangents)]
            numbers = [_instantiated(tangent) for tangent in tangents]
            return results, list(self._composed_tangents(quantity, primals, (), numbers))

        function.defjvp(rule, symbolic_zeros=True)
        return jax.jit(function)

    def _tangent(self, operands: Any, tangents: Any) -> jax.Array:
        """Return the tangent of the value: the sum of slopes times tangents."""
        backward: Any = self._computation("backward")
        parts = [
            backward(*operands, tangent)[place]
            for place, tangent in enumerate(tangents)
            if not isinstance(tangent, SymbolicZero)
        ]
        return sum(parts[1:], parts[0]) if parts else jnp.zeros_like(operands[0])

    def _computation(self, quantity: str) -> cpu_kernels.Computation:
        return cpu_kernels.Computation(
            self.gated.entry,
            quantity,
            self.storage,
            (None, self.fmt),
            self.key,
            False,
            self.route(quantity),
            lambda *operands: self._composed(quantity, *operands),
            lambda arrays, grad, tangents: self._composed_tangents(
                "backward", arrays, (grad,), tangents
            ),
        )

    def _composed(self, quantity: str, *operands: jax.Array) -> list[jax.Array]:
        """Return the results from the activation of the gate and products."""
        arithmetic = "float64" if self.route(quantity).arithmetic else None
        call = Call(
            self.gated,
            quantity,
            operands,
            arithmetic=None if quantity == "curvature" else arithmetic,
            parameters=dict(self.key),
            gate="first",
        )
        results = compute_gated(call, OPERATORS)
        return [results] if quantity == "value" else list(results)

    def _composed_tangents(
        self, quantity: str, arrays: Any, constants: Any, tangents: Any
    ) -> list[jax.Array]:
        """Return the tangents of a quantity for those of the gate and the other operand."""
        _, results = jax.jvp(
            lambda *operands: self._composed(quantity, *operands, *constants), arrays, tangents
        )
        return cast("list[jax.Array]", results)


def _instantiated(tangent: Any) -> Any:
    """Return a tangent as an array."""
    if isinstance(tangent, SymbolicZero):
        return jnp.zeros(tangent.shape, tangent.dtype)
    return tangent


_kernels = lru_cache(maxsize=256)(GatedKernels)
"""Cached, so that functions are traced once."""
