"""Gated activations, act(gate)·other: one operand, passed through an activation, gates the other.

They are computed from the activation's stable forms. The error of a product depends on the relative
error of the factor, not on its error in ulps. So `both` returns value and slope with small relative
errors, and from shared subexpressions, since backward needs both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from softgate.blocks import Kernel, TwoFloat
from softgate.formula.arithmetic import Definition
from softgate.formula.graph import Node

from . import gelu, gelu_tanh, relu, sigmoid, silu
from .entry import Bound, Entry, Parameter, StableForm

Both = Callable[..., tuple[Node, Node]]

DAUPHIN = "Dauphin, Fan, Auli & Grangier 2017, Language modeling with gated convolutional networks"
SHAZEER = "Shazeer 2020, GLU variants improve transformer (arXiv:2002.05202)"


EXACTNESS = (
    "That holds where the gate's activation is a normal number of the format (in 16-bit formats,",
    "of float32); where it is subnormal, its own rounding times |other| comes on top.",
    "Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far",
    "left, times an infinite other is NaN.",
)
"""Documentation of errors and special values, for every gated activation."""


@dataclass(frozen=True, eq=False)
class GatedEntry:
    """One gated activation: `act` of the operand at `position`, times the other operand.

    `value` and `both` are stable forms of the activation, to be multiplied further. The bounds are
    the largest errors in ulps of value and slopes, as in an `Entry`: in float32 the
    largest relative error over all gates, in units of 2**-24, plus the product's rounding.
    """

    name: str
    act: Entry
    both: Both
    position: str
    paper: str
    bounds: Mapping[str, Bound]
    value: StableForm | None = None
    """The value alone, where that is faster than the first result of `both`."""
    aliases: tuple[str, ...] = ()
    user: None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The activation's parameters."""
        return self.act.parameters

    @property
    def formula(self) -> str:
        """The formula of two operands a and b."""
        act = self.act.name
        return f"{act}(a)*b" if self.position == "first" else f"a*{act}(b)"

    def document(self) -> str:
        """Return the help text of the function."""
        lines = [f"{self.name}(a, b) = {self.formula}, applied to each pair of elements.", ""]
        lines += [
            f"The {self.position} operand is the gate. One array is cut in two halves, a and b."
        ]
        lines += ["", "Parameters", "----------", "a, b : number, list or array"]
        lines += ["    The operands, broadcast against each other; or `a` alone, to be cut in two."]
        lines += ["axis : int, default -1", "    Where one array is cut."]
        for p in self.parameters:
            lines += [f"{p.name} : float, default {p.default:g}"]
            lines += [f"    {p.doc} Accepted: {p.range}."]
        lines += [
            "out : numpy.ndarray, optional",
            "    Where results go; may be `a` or `b` itself.",
        ]
        lines += [
            'arithmetic : {"float64"}, optional',
            "    Compute float32 in float64, round once.",
        ]
        lines += ['gate : {"first", "second"}, optional', "    Which operand is the gate."]
        lines += ["", "Methods", "-------", "slope, curvature, backward : its derivatives.", ""]
        lines += ["Notes", "-----", f"Source: {self.paper}."]
        for name, bound in self.bounds.items():
            lines += [f"{name}: value within {bound.value:g} ulp, slopes within {bound.slope:g}."]
        return "\n".join([*lines, *EXACTNESS])

    @staticmethod
    def inputs(quantity: str) -> tuple[str, ...]:
        """Return the operands of a kernel, in call order."""
        return ("gate", "other", "grad") if quantity == "backward" else ("gate", "other")

    def define(self, f: Definition | None = None) -> Node:
        """Trace the definition with both operands and the parameters symbolic."""
        f = f or Definition()
        symbols = {p.name: f.graph.parameter(p.name) for p in self.parameters}
        gate, other = f.graph.input("gate"), f.graph.input("other")
        return self.act.definition(f, gate, **symbols) * other

    def trace(self, quantity: str, f: Kernel, **parameters: TwoFloat) -> tuple[Node, ...]:
        """Trace the results of `quantity` over `f`; parameters not passed are symbolic.

        Slope and backward return one for the gate and one for the other operand, in this order;
        curvature that of the gate and the mixed one (that of the other operand is 0).
        """
        symbols = {p.name: f.parameter(p.name) for p in self.parameters} | parameters
        gate, other = f.graph.input("gate"), f.graph.input("other")
        if quantity == "curvature":
            slope = self.act.slope(f, gate, **symbols)
            return f.ieee_product(self.act.curvature(f, gate, **symbols), other), slope
        if quantity == "value" and self.value is not None:
            return (f.ieee_product(self.value(f, gate, **symbols), other),)
        value, slope = self.both(f, gate, **symbols)
        if quantity == "value":
            return (f.ieee_product(value, other),)
        if quantity == "slope":
            return self._change(f, slope, other, **symbols), value
        grad = f.graph.input("grad")
        # The frameworks also compute other·grad first, so their gradients overflow where this does.
        change = self._change(f, slope, f.ieee_product(other, grad), **symbols)
        return change, f.ieee_product(value, grad)

    def _change(self, f: Kernel, slope: Node, factor: Node, **symbols: TwoFloat) -> Node:
        if self.act.backward is not None:
            return self.act.backward(f, f.graph.input("gate"), factor, **symbols)
        return f.ieee_product(slope, factor)


GATED = (
    GatedEntry(
        name="glu",
        act=sigmoid.entry,
        both=sigmoid.both,
        value=sigmoid.value,
        position="second",
        paper=DAUPHIN,
        bounds={"float32": Bound(2.9, 3.2), "float64": Bound(2.9, 3.2)},
    ),
    GatedEntry(
        name="reglu",
        act=relu.entry,
        both=relu.both,
        position="first",
        paper=SHAZEER,
        bounds={"float32": Bound(0.5, 0.5), "float64": Bound(0.5, 0.5)},
    ),
    GatedEntry(
        name="geglu",
        act=gelu.entry,
        both=gelu.both,
        value=gelu.fine_value,
        position="first",
        paper=SHAZEER,
        bounds={"float32": Bound(3.95, 3.9), "float64": Bound(3.8, 3.7)},
    ),
    GatedEntry(
        name="geglu_tanh",
        act=gelu_tanh.entry,
        both=gelu_tanh.both,
        value=gelu_tanh.value,
        position="first",
        paper=SHAZEER,
        bounds={"float32": Bound(3.2, 3.95), "float64": Bound(3.2, 3.8)},
    ),
    GatedEntry(
        name="swiglu",
        act=silu.entry,
        both=silu.both,
        position="first",
        paper=SHAZEER,
        bounds={"float32": Bound(3.15, 3.95), "float64": Bound(3.15, 3.9)},
    ),
)
