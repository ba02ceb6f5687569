"""JAX arrays and tracers: the stable forms in JAX operators, compiled by XLA.

The same code serves jit, grad, vmap, scan and sharded arrays, on every device: there is nothing to
choose between. The kernels for NumPy are out of reach under a trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..versions import check, missing

try:
    import jax
except ModuleNotFoundError as error:
    raise missing("jax", error) from error
else:
    check("jax", jax.__version__)

from .derivatives import ORDERS, Function
from .gated import describe_gated, gated, gated_quantity
from .operands import as_float, described, plan, refuse, together, wide

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

__all__ = ["backward", "describe", "describe_gated", "evaluate", "gated", "gated_quantity"]
"""What softgate asks of an adapter."""

NONE: Mapping[str, Any] = {}
_usual: dict[object, Function] = {}
"""What calls without parameters came to: small arrays wait for Python."""


def evaluate(
    activation: Activation,
    quantity: str,
    x: jax.Array,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, Any] = NONE,
) -> jax.Array:
    """Return a quantity at each element of an array, differentiable."""
    refuse(out, activation.name)
    usual = (activation.entry, quantity, x.dtype, wide())
    if arithmetic is None and not parameters and usual in _usual:
        return _usual[usual](x)
    x = as_float(x)
    found, arrays = plan(activation.entry, activation.check_parameters, x, arithmetic, parameters)
    function = found.function(("x",) * ORDERS.index(quantity))
    if arithmetic is None and not parameters and x.dtype == usual[2]:
        if len(_usual) > 1024:  # formulas of users' own must not pile up
            _usual.clear()
        _usual[usual] = function
    return function(x, *arrays)


def backward(
    activation: Activation,
    x: Any,
    grad: Any,
    out: object = None,
    arithmetic: str | None = None,
    parameters: Mapping[str, Any] = NONE,
) -> jax.Array:
    """Return slope(x)·grad, itself differentiable."""
    refuse(out, activation.name)
    x, grad = together(x, grad)
    found, arrays = plan(activation.entry, activation.check_parameters, x, arithmetic, parameters)
    return found.times(found.function(("x",))(x, *arrays), grad)


def describe(
    activation: Activation,
    quantity: str,
    x: Any,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    array = as_float(x)
    found, _ = plan(activation.entry, activation.check_parameters, array, arithmetic, parameters)
    form = "the definition" if found.uses_definition else "the stable form"
    return tuple(array.shape), array.dtype.name, *described(found, form, array)
