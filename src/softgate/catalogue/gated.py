"""Gated activations, act(gate)·other: one operand, passed through an activation, gates the other.

In `clamped_swiglu` the other operand is passed through a function, too: `factor`.

They are computed from the activation's stable forms. The error of a product depends on the relative
error of the factor, not on its error in ulps. So `both` returns value and slope with small relative
errors, and from shared subexpressions, since backward needs both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node

from . import clamped_swiglu, gelu, gelu_tanh, relu, sigmoid, silu
from .entry import Bounded, Entry, ErrorBound, Parameter, ParameterRange, StableForm

Both = Callable[..., tuple[Node, Node]]

DAUPHIN = "Dauphin, Fan, Auli & Grangier 2017, Language modeling with gated convolutional networks"
SHAZEER = "Shazeer 2020, GLU variants improve transformer (arXiv:2002.05202)"


EXACTNESS = (
    "They hold where the gate's activation is a normal number of the format (in 16-bit formats,",
    "of float32); where it is subnormal, its own rounding times |other| comes on top.",
)
"""Documentation of errors, for every gated activation."""
INFINITIES = (
    "Infinities and zeros multiply as IEEE has it: an activation that is 0, at -inf or from far",
    "left, times an infinite other is NaN.",
)
CLAMPED = (
    "The slope of a clamped operand is 1 at the limit, as that of torch.clamp, and 0 beyond it.",
)


@dataclass(frozen=True, eq=False)
class GatedEntry(Bounded):
    """One gated activation: `act` of the operand at `position`, times the other operand.

    With `factor`, times that function of the other operand: a piecewise linear one, which has the
    parameters of `act`. `parts` is its stable form in two floats, so that its rounding does not add
    to the error, and `product` the formula, of {gate} and {other}.

    `value` and `both` are stable forms of the activation, to be multiplied further. The bounds are
    the largest errors in ulps of value and slopes, as in an `Entry`: in float32 the
    largest relative error over all gates, in units of 2**-24, plus the product's rounding.
    """

    name: str
    act: Entry
    both: Both
    position: str
    paper: str
    bounds: Mapping[str, ErrorBound]
    value: StableForm | None = None
    """The value alone, where that is faster than the first result of `both`."""
    factor: Entry | None = None
    parts: Callable[..., TwoFloat] | None = None
    product: str = ""
    bounded_where: Mapping[str, ParameterRange] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    user: None = None
    operands = 2

    def check(self, values: Mapping[str, float]) -> None:
        """Raise ValueError if a parameter is out of range, or a combination is invalid."""
        self.act.check(values)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The activation's parameters."""
        return self.act.parameters

    @property
    def formula(self) -> str:
        """The formula of two operands a and b."""
        act, first = self.act.name, self.position == "first"
        if self.product:
            return self.product.format(gate="a" if first else "b", other="b" if first else "a")
        return f"{act}(a)*b" if first else f"a*{act}(b)"

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
        lines += self.describe_bounds("slopes", bool(self.parameters))
        ends = INFINITIES if self.factor is None else CLAMPED
        return "\n".join([*lines, *EXACTNESS, *ends])

    @staticmethod
    def inputs(quantity: str) -> tuple[str, ...]:
        """Return the operands of a kernel, in call order."""
        return ("gate", "other", "grad") if quantity == "backward" else ("gate", "other")

    def define(self, f: ExactArithmetic | None = None) -> Node:
        """Trace the definition with both operands and the parameters symbolic."""
        f = f or ExactArithmetic()
        symbols = {p.name: f.graph.parameter(p.name) for p in self.parameters}
        gate, other = f.graph.input("gate"), f.graph.input("other")
        if self.factor is not None:
            other = self.factor.definition(f, other, **symbols)
        return self.act.definition(f, gate, **symbols) * other

    def trace(self, quantity: str, f: KernelArithmetic, **parameters: TwoFloat) -> tuple[Node, ...]:
        """Trace the results of `quantity` over `f`; parameters not passed are symbolic.

        Slope and backward return one for the gate and one for the other operand, in this order;
        curvature that of the gate and the mixed one (that of the other operand is 0).
        """
        symbols = {p.name: f.parameter(p.name) for p in self.parameters} | parameters
        gate, other = f.graph.input("gate"), f.graph.input("other")
        factor = TwoFloat(other) if self.parts is None else self.parts(f, other, **symbols)
        if quantity == "curvature":
            slope = self._by_other(f, self.act.slope(f, gate, **symbols), **symbols)
            return _times(f, self.act.curvature(f, gate, **symbols), factor), slope
        if quantity == "value" and self.value is not None:
            return (_times(f, self.value(f, gate, **symbols), factor),)
        value, slope = self.both(f, gate, **symbols)
        if quantity == "value":
            return (_times(f, value, factor),)
        if quantity == "slope":
            by_other = self._by_other(f, value, **symbols)
            return self._change(f, slope, factor, **symbols), by_other
        grad = f.graph.input("grad")
        if self.factor is not None:
            other = self.factor.value(f, other, **symbols)
        # The frameworks also compute other·grad first, so their gradients overflow where this does.
        factor = TwoFloat(f.ieee_product(other, grad))
        change = self._change(f, slope, factor, **symbols)
        return change, self._by_other(f, f.ieee_product(value, grad), **symbols)

    def _change(
        self, f: KernelArithmetic, slope: Node, factor: TwoFloat, **symbols: TwoFloat
    ) -> Node:
        if self.act.backward is None or factor.lo is not None:
            return _times(f, slope, factor)
        return self.act.backward(f, f.graph.input("gate"), factor.hi, **symbols)

    def _by_other(self, f: KernelArithmetic, change: Node, **symbols: TwoFloat) -> Node:
        """Return `change` times the slope of the factor."""
        if self.factor is None:
            return change
        assert self.factor.backward is not None
        return self.factor.backward(f, f.graph.input("other"), change, **symbols)


def _times(f: KernelArithmetic, x: Node, factor: TwoFloat) -> Node:
    """Return x·factor, rounded once; of a factor in two parts, `x` must be finite or NaN."""
    if factor.lo is None:
        return f.ieee_product(x, factor.hi)
    rest = f.ieee_product(x, factor.lo)
    # A zero of either sign must not change that of the product.
    return f.fma(x, factor.hi, f.where(rest.same(0), -f.lift(0), rest))


GATED = (
    GatedEntry(
        name="glu",
        act=sigmoid.entry,
        both=sigmoid.both,
        value=sigmoid.value,
        position="second",
        paper=DAUPHIN,
        bounds={"float32": ErrorBound(2.9, 3.2), "float64": ErrorBound(3.2, 3.7)},
    ),
    GatedEntry(
        name="reglu",
        act=relu.entry,
        both=relu.both,
        position="first",
        paper=SHAZEER,
        bounds={"float32": ErrorBound(0.5, 0.5), "float64": ErrorBound(0.5, 0.5)},
    ),
    GatedEntry(
        name="geglu",
        act=gelu.entry,
        both=gelu.both,
        value=gelu.fine_value,
        position="first",
        paper=SHAZEER,
        bounds={"float32": ErrorBound(3.95, 3.9), "float64": ErrorBound(4.9, 5.2)},
    ),
    GatedEntry(
        name="geglu_tanh",
        act=gelu_tanh.entry,
        both=gelu_tanh.both,
        value=gelu_tanh.value,
        position="first",
        paper=SHAZEER,
        bounds={"float32": ErrorBound(3.2, 3.95), "float64": ErrorBound(3.6, 4.7)},
    ),
    GatedEntry(
        name="swiglu",
        act=silu.entry,
        both=silu.both,
        position="first",
        paper=SHAZEER,
        bounds={"float32": ErrorBound(3.15, 3.95), "float64": ErrorBound(3.5, 4.6)},
    ),
    GatedEntry(
        name="clamped_swiglu",
        act=clamped_swiglu.gate,
        both=clamped_swiglu.gate_both,
        factor=clamped_swiglu.factor,
        parts=clamped_swiglu.factor_parts,
        aliases=("swigluoai",),
        product="g*sigmoid(alpha*g)*(1 + clip({other}, -limit, limit)), g = min({gate}, limit)",
        position="first",
        paper=clamped_swiglu.PAPER,
        bounds={"float32": ErrorBound(3.05, 3.7), "float64": ErrorBound(3.5, 4.4)},
    ),
)
