"""act(gate)·factor(other) and derivatives, composed in a framework's operators from the functions'.

For derivatives of higher order, and where no kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from softgate.runtime.activation import Activation
from softgate.runtime.dispatch import Call


class Operators(NamedTuple):
    """The operators of a framework that the composition needs."""

    split: Callable[[Any, int], Any]
    join: Callable[[list[Any], int], Any]
    zeros_like: Callable[[Any], Any]
    broadcast_like: Callable[[Any, Any], Any]


def gate_and_other(call: Call, operators: Operators) -> tuple[Any, Any]:
    """Return the gate and the other operand of a call: both operands, or the halves of one."""
    function = call.function
    operands = call.operands[:-1] if call.quantity == "backward" else call.operands
    if len(operands) == 2:
        call.check_axis()
    else:
        (x,) = operands
        halved(function, x.shape, call.axis)
        operands = tuple(operators.split(x, _axis(call)))
    gate, other = operands if function.position(call.gate) == "first" else operands[::-1]
    return gate, other


def halved(
    function: Activation, shape: Sequence[int | None], axis: int | None
) -> tuple[int | None, ...]:
    """Return the shape of each half of a tensor; raise if it cannot be split."""
    axis, lengths = -1 if axis is None else axis, list(shape)
    if not -len(lengths) <= axis < len(lengths):
        raise ValueError(
            f"axis = {axis} is out of range: x has {len(lengths)} dimensions, and "
            f"{function.name} splits it along one"
        )
    length = lengths[axis]
    if length is not None:
        if length % 2:
            raise ValueError(f"axis {axis} has length {length}: two equal halves need an even one")
        lengths[axis] = length // 2
    return tuple(lengths)


def compute_gated(call: Call, operators: Operators) -> Any:
    """Return the results of a call with tensors of the framework."""
    function = call.function
    gate, other = gate_and_other(call, operators)
    act, parameters = function.gate_activation, call.parameters
    assert act is not None
    options: dict[str, Any] = {"arithmetic": call.arithmetic, **parameters}
    factor = other
    if function.factor is not None:
        factor = function.factor(other, **options)
    if call.quantity == "value":
        return act(gate, **options) * factor
    if call.quantity == "curvature":
        by_gate_twice = act.curvature(gate, **parameters) * factor
        mixed = operators.broadcast_like(act.slope(gate, **parameters), by_gate_twice)
        if function.factor is not None:
            mixed = function.factor.backward(other, mixed, **parameters)
        return in_order(call, by_gate_twice, mixed, operators)
    grad = call.operands[-1] if call.quantity == "backward" else None
    by_gate = act.backward(gate, factor if grad is None else factor * grad, **options)
    value = act(gate, **options)
    by_other = operators.broadcast_like(value, by_gate) if grad is None else value * grad
    if function.factor is not None:
        by_other = function.factor.backward(other, by_other, **options)
    return in_order(call, by_gate, by_other, operators)


def in_order(call: Call, first: Any, second: Any, operators: Operators) -> Any:
    """Return the derivatives of a call in the order of its operands.

    `first` and `second` are those by the gate and by the other operand, joined if the call splits
    one operand; of "curvature", those by the gate twice and by both: the third one is 0.
    """
    gate_first = call.function.position(call.gate) == "first"
    if call.quantity == "curvature":
        zero = operators.zeros_like(second)
        return (first, second, zero) if gate_first else (zero, second, first)
    pair = (first, second) if gate_first else (second, first)
    split = len(call.operands) == (2 if call.quantity == "backward" else 1)
    return operators.join(list(pair), _axis(call)) if split else pair


def refuse_out(call: Call) -> None:
    """Raise if `out` is passed."""
    if call.out is not None:
        raise TypeError("out= is for arrays, not for tensors")


def _axis(call: Call) -> int:
    return -1 if call.axis is None else call.axis
