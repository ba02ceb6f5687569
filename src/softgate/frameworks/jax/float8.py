"""Functions of JAX arrays of at most 8 bits: results gathered from tables of all inputs.

A gather by bit pattern gives the same bits under jit and on every device. It has no tangent: those
of the value and of derivatives are products in float32, rounded once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from softgate.formula.formats import BYTE_FORMATS, FLOAT32, Format, dtype_of
from softgate.runtime import tables
from softgate.runtime.arrays import check_arithmetic
from softgate.runtime.dispatch import Call, Explanation, Plan
from softgate.runtime.kernels import BUILDING

from .derivatives import ORDERS, Key, bound_function

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.routes import Route

Function = Callable[..., jax.Array]


def is_narrow(*operands: Any) -> bool:
    """Return whether operands combine to a format of at most 8 bits that has tables."""
    return any(getattr(x, "dtype", None) in _DTYPES for x in operands) and (
        jnp.result_type(*operands) in _DTYPES
    )


def plan(call: Call) -> Plan:
    """Return how a call is computed; results are differentiable."""
    dtype = jnp.result_type(*call.operands)
    x, *gradients = jnp.broadcast_arrays(*(jnp.asarray(x, dtype) for x in call.operands))
    tabulated = _bind(call, dtype)

    def run() -> jax.Array:
        if gradients:
            return tabulated.backward(x, *gradients)
        return tabulated.function(ORDERS.index(call.quantity))(x)

    def describe() -> Explanation:
        how = f"{tabulated.route(call.quantity).describe()}, gathered by XLA"
        name, threads = call.function.name, os.cpu_count() or 1
        return Explanation(
            name, call.quantity, tuple(x.shape), x.dtype.name, how, "as JAX has it", threads
        )

    return Plan(run, describe)


def _bind(call: Call, dtype: Any) -> Tabulated:
    check_arithmetic(call.arithmetic)
    for name, value in call.parameters.items():
        if isinstance(value, jax.core.Tracer) or np.ndim(value) > 0:
            raise TypeError(
                f"{call.function.name} of {dtype} with the array {name}: tables need numbers as "
                "parameters; convert x to float32 first"
            )
    activation = call.function
    return _tabulated(activation, activation.check_parameters(call.parameters), _DTYPES[dtype])


class Tabulated:
    """An activation with fixed parameters in one format: value, slope, curvature and backward."""

    def __init__(self, activation: Activation, key: Key, fmt: Format) -> None:
        self.activation, self.key, self.fmt, self.dtype = activation, key, fmt, dtype_of(fmt)
        self.word = jnp.uint8 if fmt.bits == 8 else jnp.uint4
        self._functions: dict[int, Function] = {}
        self._factors: dict[int, Function] = {}
        self.backward = self._make_backward()

    def function(self, order: int) -> Function:
        """Return the derivative of an order up to 2, differentiable."""
        if order not in self._functions:
            self._functions[order] = self._make(order)
        return self._functions[order]

    def _make(self, order: int) -> Function:
        entries = self.route(ORDERS[order]).table()
        function: Any = jax.custom_jvp(lambda x: self._gather(entries, self._bits(x)))

        def rule(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
            return function(*primals), self._times_next(order, *primals, *tangents)

        function.defjvp(rule)
        return cast(Function, jax.jit(function))

    def _make_backward(self) -> Function:
        @jax.custom_jvp
        def backward(x: jax.Array, grad: jax.Array) -> jax.Array:
            place = self._bits(x) * 256 + self._bits(grad)
            return self._gather(self.route("backward").table(), place)

        def rule(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
            (x, grad), (x_tangent, grad_tangent) = primals, tangents
            by_x = self._factor(2, x) * grad.astype(np.float32) * x_tangent.astype(np.float32)
            by_grad = self._factor(1, x) * grad_tangent.astype(np.float32)
            return backward(x, grad), (by_x + by_grad).astype(self.dtype)

        backward.defjvp(rule)
        return cast(Function, jax.jit(backward))

    def _times_next(self, order: int, x: jax.Array, tangent: jax.Array) -> jax.Array:
        """Return the tangent times the next derivative, linear in the tangent."""
        factor = self._factor(order + 1, x)
        product = factor * tangent.astype(np.float32)
        if self.activation.entry.piecewise_linear:
            product = jnp.where(factor == 0, 0, product)
        return product.astype(self.dtype)

    def _factor(self, order: int, x: jax.Array) -> jax.Array:
        """Return a derivative in float32, differentiable."""
        if order not in self._factors:
            self._factors[order] = self._make_factor(order)
        return self._factors[order](x)

    def _make_factor(self, order: int) -> Function:
        entry = self.activation.entry
        if order >= len(ORDERS):
            wide = bound_function(entry, FLOAT32, self.key).derivatives(order)
            return lambda x: wide(x.astype(np.float32))[0]
        with BUILDING:
            entries = tables.factors32(entry, ORDERS[order], self.fmt, self.key)
        factor: Any = jax.custom_jvp(lambda x: _at(entries, self._bits(x)))

        def rule(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
            (x,), (tangent,) = primals, tangents
            return factor(x), self._factor(order + 1, x) * tangent.astype(np.float32)

        factor.defjvp(rule)
        return cast(Function, factor)

    def route(self, quantity: str) -> Route:
        """Return the route with the table of a quantity."""
        return self.activation.route(quantity, self.dtype, None, dict(self.key))

    def _bits(self, x: jax.Array) -> jax.Array:
        return lax.bitcast_convert_type(x, self.word).astype(np.int32)

    def _gather(self, entries: Any, place: jax.Array) -> jax.Array:
        return lax.bitcast_convert_type(_at(entries, place).astype(self.word), self.dtype)


def _at(entries: Any, place: jax.Array) -> jax.Array:
    return jnp.asarray(entries).at[place].get(mode="promise_in_bounds")


_tabulated = lru_cache(maxsize=256)(Tabulated)
"""Cached, so that functions are traced once."""

_DTYPES = {dtype_of(fmt): fmt for fmt in BYTE_FORMATS.values()}
"""The formats by dtype."""
