"""Gated activations of JAX arrays: act(gate), as a plain activation gives it, times other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from .operands import as_float, described, plan, refuse, together

if TYPE_CHECKING:
    from softgate.runtime.gated import Gated


def gated(
    function: Gated,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> jax.Array:
    """Return act(gate)·other of two arrays, or of the halves of one, differentiable."""
    refuse(out, function.name)
    gate, other = _ordered(function.name, operands, axis, gate_first)
    act, arrays = plan(function.entry.act, function.gating.parameters, gate, arithmetic, parameters)
    return act.function()(gate, *arrays) * other


def gated_quantity(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> Any:
    """Return slope, curvature or backward as `Gated` has them, themselves differentiable."""
    refuse(out, function.name)
    grad = None
    if quantity == "backward":
        *operands_, grad = operands
        operands = tuple(operands_)
    gate, other = _ordered(function.name, operands, axis, gate_first)
    act, arrays = plan(function.entry.act, function.gating.parameters, gate, arithmetic, parameters)
    value, slope = (act.function(("x",) * order)(gate, *arrays) for order in range(2))
    if quantity == "curvature":
        twice = act.function(("x", "x"))(gate, *arrays) * other
        return twice, slope, jnp.zeros_like(slope)
    factor = other if grad is None else other * grad
    changes = act.times(slope, factor), value if grad is None else value * grad
    first, second = changes if gate_first else changes[::-1]
    if len(operands) == 1:
        return jnp.concatenate([first, second], -1 if axis is None else axis)
    return first, second


def _ordered(
    name: str, operands: tuple[Any, ...], axis: int | None, gate_first: bool
) -> tuple[jax.Array, ...]:
    """Return gate and other, in one format and shape."""
    if len(operands) == 1:
        pair = _halves(name, as_float(operands[0]), -1 if axis is None else axis)
    elif axis is not None:
        raise TypeError(
            f"axis = {axis!r} with two operands: {name} cuts one array along an axis, "
            "two it takes as they are"
        )
    else:
        pair = together(*operands)
    return pair if gate_first else pair[::-1]


def _halves(name: str, x: jax.Array, axis: int) -> tuple[jax.Array, ...]:
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis = {axis} of an array with {x.ndim} axes: {name} has none to cut")
    if x.shape[axis] % 2:
        length = x.shape[axis]
        raise ValueError(f"axis {axis} has length {length}: two equal halves need an even one")
    return tuple(jnp.split(x, 2, axis))


def describe_gated(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    gate_first: bool,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> tuple[tuple[int, ...], str, str, str, int]:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    gate, _ = _ordered(function.name, operands, axis, gate_first)
    act, _ = plan(function.entry.act, function.gating.parameters, gate, arithmetic, parameters)
    form = f"the stable form of {function.entry.act.name}, times the other operand,"
    shape = gate.shape if len(operands) == 2 else operands[0].shape
    return tuple(shape), gate.dtype.name, *described(act, form, gate)
