"""Gated functions, activation(gate)·other: value and derivatives follow from the activation's.

In `clamped_swiglu` the other operand is passed through a function, too: the factor.

The error of a product depends on the relative error of its factors, not on their errors in ulps. So
`both` returns value and slope of the activation with small relative errors, and from shared
subexpressions, since backward needs both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from .entry import Entry, Gating, StableForm

DAUPHIN = "Dauphin, Fan, Auli & Grangier 2017, Language modeling with gated convolutional networks"
SHAZEER = "Shazeer 2020, GLU variants improve transformer (arXiv:2002.05202)"

ROUNDED = (
    "They hold where the gate's activation is a normal number of the format (in 16-bit formats, of "
    "float32); where it is subnormal, its own rounding times |other| comes on top."
)
INFINITIES = (
    "Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far "
    "left, times an infinite other is NaN."
)
CLAMPED = (
    "The slope of a clamped operand is 1 at the limit, as that of torch.clamp, and 0 beyond it."
)


@dataclass(frozen=True, eq=False)
class Product:
    """The forms of activation(gate)·factor(other), for one of the operands as the gate.

    `parts` is the stable form of the factor in two floats, so that its rounding does not add to the
    error. `value` is the activation's value alone, where that is faster than the first of `both`.
    """

    activation: Entry
    both: Callable[..., tuple[Node, Node]]
    value: StableForm | None
    factor: Entry | None
    parts: Callable[..., TwoFloat] | None
    gate: str

    def _in_order(self, gate: Any, other: Any) -> tuple[Any, Any]:
        """Return two things in the order of the operands, from that of gate and other, or back."""
        return (gate, other) if self.gate == "first" else (other, gate)

    def define(self, f: ExactArithmetic, a: Node, b: Node, **parameters: Node) -> Node:
        """Return the definition."""
        gate, other = self._in_order(a, b)
        if self.factor is not None:
            other = self.factor.definition(f, other, **parameters)
        product: Node = self.activation.definition(f, gate, **parameters) * other
        return product

    def evaluate(self, f: KernelArithmetic, a: Node, b: Node, **parameters: TwoFloat) -> Node:
        """Return the value."""
        gate, other = self._in_order(a, b)
        if self.value is not None:
            value = self.value(f, gate, **parameters)
        else:
            value, _ = self.both(f, gate, **parameters)
        return _times(f, value, self._factor(f, other, **parameters))

    def slopes(
        self, f: KernelArithmetic, a: Node, b: Node, **parameters: TwoFloat
    ) -> tuple[Node, ...]:
        """Return the derivatives by both operands."""
        gate, other = self._in_order(a, b)
        value, slope = self.both(f, gate, **parameters)
        by_gate = self._by_gate(f, gate, slope, self._factor(f, other, **parameters), **parameters)
        return self._in_order(by_gate, self._by_other(f, other, value, **parameters))

    def backward(
        self, f: KernelArithmetic, a: Node, b: Node, grad: Node, **parameters: TwoFloat
    ) -> tuple[Node, ...]:
        """Return the derivatives by both operands, times `grad`."""
        gate, other = self._in_order(a, b)
        value, slope = self.both(f, gate, **parameters)
        factor = other if self.factor is None else self.factor.value(f, other, **parameters)
        # The frameworks also compute other·grad first, so their gradients overflow where this does.
        product = TwoFloat(f.ieee_product(factor, grad))
        by_gate = self._by_gate(f, gate, slope, product, **parameters)
        by_other = self._by_other(f, other, f.ieee_product(value, grad), **parameters)
        return self._in_order(by_gate, by_other)

    def curvature(
        self, f: KernelArithmetic, a: Node, b: Node, **parameters: TwoFloat
    ) -> tuple[Node, ...]:
        """Return the second derivatives; that by the other operand twice is 0."""
        gate, other = self._in_order(a, b)
        bend = self.activation.curvature(f, gate, **parameters)
        slope = self.activation.slope(f, gate, **parameters)
        mixed = self._by_other(f, other, slope, **parameters)
        twice = _times(f, bend, self._factor(f, other, **parameters))
        first, second = self._in_order(twice, f.lift(0))
        return first, mixed, second

    def _factor(self, f: KernelArithmetic, other: Node, **parameters: TwoFloat) -> TwoFloat:
        return TwoFloat(other) if self.parts is None else self.parts(f, other, **parameters)

    def _by_gate(
        self, f: KernelArithmetic, gate: Node, slope: Node, factor: TwoFloat, **parameters: TwoFloat
    ) -> Node:
        """Return `slope`, that of the activation, times the factor."""
        if self.activation.backward is None or factor.lo is not None:
            return _times(f, slope, factor)
        product: Node = self.activation.backward(f, gate, factor.hi, **parameters)
        return product

    def _by_other(
        self, f: KernelArithmetic, other: Node, change: Node, **parameters: TwoFloat
    ) -> Node:
        """Return `change` times the slope of the factor."""
        if self.factor is None:
            return change
        assert self.factor.backward is not None
        product: Node = self.factor.backward(f, other, change, **parameters)
        return product


def _times(f: KernelArithmetic, x: Node, factor: TwoFloat) -> Node:
    """Return x·factor, rounded once; of a factor in two parts, `x` must be finite or NaN."""
    if factor.lo is None:
        return f.ieee_product(x, factor.hi)
    rest = f.ieee_product(x, factor.lo)
    # A zero of either sign must not change that of the product.
    return f.fma(x, factor.hi, f.where(rest.same(0), -f.lift(0), rest))


def gated(
    *,
    activation: Entry,
    both: Callable[..., tuple[Node, Node]],
    value: StableForm | None = None,
    factor: Entry | None = None,
    parts: Callable[..., TwoFloat] | None = None,
    formula: str = "",
    gate: str = "first",
    **others: Any,
) -> Entry:
    """Return the entry of a gated function; `others` are further fields of `Entry`.

    The formula is of {gate} and {other}. The bounds are the largest errors in ulps of value and
    slopes: in float32 the largest relative error over all gates, in units of 2**-24, plus the
    product's rounding.
    """
    forms: dict[str, dict[str, Any]] = {}
    for position, gate_name, other_name in (("first", "a", "b"), ("second", "b", "a")):
        product = Product(activation, both, value, factor, parts, position)
        act = f"{activation.name}({gate_name})"
        plain = f"{act}*{other_name}" if position == "first" else f"{other_name}*{act}"
        forms[position] = {
            "formula": formula.format(gate=gate_name, other=other_name) if formula else plain,
            "definition": product.define,
            "value": product.evaluate,
            "slope": product.slopes,
            "curvature": product.curvature,
            "backward": product.backward,
        }
    return Entry(
        operands=("a", "b"),
        intervals=activation.intervals,
        parameters=activation.parameters,
        gating=Gating(activation, factor, gate, forms),
        notes=f"{ROUNDED}\n{INFINITIES if factor is None else CLAMPED}",
        **forms[gate],
        **others,
    )
