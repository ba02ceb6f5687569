"""act(gate)·other and its derivatives, from those of the activation, in a framework's operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from softgate.runtime.gated import Gated


class Operators(NamedTuple):
    """What a framework is asked for: halves, the way back, zeros, and to spread to a shape."""

    split: Callable[[Any, int], Any]
    join: Callable[[list[Any], int], Any]
    zeros_like: Callable[[Any], Any]
    spread: Callable[[Any, Any], Any]


class Call(NamedTuple):
    """One call of a gated function: its operands, which of them is the gate, and the rest."""

    function: Gated
    operands: tuple[Any, ...]
    axis: int | None
    gate_first: bool
    arithmetic: str | None
    parameters: Mapping[str, float]

    def ordered(self, operators: Operators) -> tuple[Any, Any]:
        """Return the gate and the other operand."""
        halves = self.operands
        if len(halves) == 2:
            self.function.no_axis(self.axis)
        else:
            axis = -1 if self.axis is None else self.axis
            length = halves[0].shape[axis]
            if length is not None and length % 2:
                raise ValueError(
                    f"axis {axis} has length {length}: two equal halves need an even one"
                )
            halves = tuple(operators.split(halves[0], axis))
        gate, other = halves if self.gate_first else halves[::-1]
        return gate, other

    def value(self, operators: Operators) -> Any:
        """Return act(gate)·other."""
        gate, other = self.ordered(operators)
        return self.function.act(gate, arithmetic=self.arithmetic, **self.parameters) * other

    def quantity(self, name: str, operators: Operators) -> Any:
        """Return slope, curvature or backward, as `Gated` has them."""
        if name == "backward":
            *operands, grad = self.operands
            return self._replace(operands=tuple(operands))._partials(operators, grad)
        if name == "slope":
            return self._partials(operators, None)
        gate, other = self.ordered(operators)
        act: Any = self.function.act
        twice = act.curvature(gate, **self.parameters) * other
        mixed = operators.spread(act.slope(gate, **self.parameters), twice)
        return twice, mixed, operators.zeros_like(mixed)

    def _partials(self, operators: Operators, grad: Any) -> Any:
        gate, other = self.ordered(operators)
        act: Any = self.function.act
        options = {"arithmetic": self.arithmetic, **self.parameters}
        by_gate = act.backward(gate, other if grad is None else other * grad, **options)
        value = act(gate, **options)
        by_other = operators.spread(value, by_gate) if grad is None else value * grad
        pair = [by_gate, by_other] if self.gate_first else [by_other, by_gate]
        if len(self.operands) == 1:
            return operators.join(pair, -1 if self.axis is None else self.axis)
        return tuple(pair)
