"""The record of an activation of one or two operands: definition, stable forms, bounds, source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.derivative import derivative
from softgate.formula.formats import BFLOAT16, FLOAT16, Format
from softgate.formula.graph import Node
from softgate.formula.trace import UserFormula

NARROW = (FLOAT16, BFLOAT16)
DefinitionForm = Callable[..., Node]
StableForm = Callable[..., Node]
StableForms = Callable[..., Any]
"""A form with one result, or a tuple of several."""


@dataclass(frozen=True)
class Parameter:
    """A scalar of the formula, the same for all elements, with an open range of accepted values.

    With `closed` the lower bound is accepted too; `exceeds` names a parameter of the same
    formula that must be smaller.
    """

    name: str
    default: float
    above: float = float("-inf")
    below: float = float("inf")
    doc: str = ""
    tested: tuple[float, ...] = ()
    """Values besides the default that all tests of the catalogue use."""
    closed: bool = False
    exceeds: str = ""

    def accepts(self, value: float) -> bool:
        """Return whether `value` is in the range."""
        return self.above < value < self.below or (self.closed and value == self.above)

    def check(self, value: float) -> None:
        """Raise ValueError if `value` is out of range."""
        if not self.accepts(value):
            raise ValueError(
                f"{self.name} = {value!r} is out of range: expected a finite number {self.range}"
            )

    @property
    def range(self) -> str:
        """The accepted range as text."""
        sign = ">=" if self.closed else ">"
        parts = [f"{sign} {self.above:g}"] if self.above != float("-inf") else []
        parts += [f"< {self.below:g}"] if self.below != float("inf") else []
        parts += [f"> {self.exceeds}"] if self.exceeds else []
        return " and ".join(parts)


@dataclass(frozen=True)
class ErrorBound:
    """Error bounds of a kernel in one format, in ulps: measured, not proven.

    float32 is measured at all inputs; of float64 the largest error that was found times 1.1,
    rounded up to a tenth.
    """

    value: float
    slope: float


CONTRACT_ULP = 4.0
"""The error bound with parameters other than the defaults, or theirs where that is larger."""


@dataclass(frozen=True)
class ParameterRange:
    """Parameters with which an error bound holds, as text and as a test of `values[name]`."""

    text: str
    contains: Callable[[Mapping[str, float]], bool]


@dataclass(frozen=True, eq=False)
class Gating:
    """That a function of two operands is activation(gate)·factor(other).

    The activation and the factor have the function's parameters. `forms` has, for each operand that
    may be the gate, the fields of `Entry` that depend on it.
    """

    activation: Entry
    factor: Entry | None
    """A piecewise-linear function; None where it is the other operand itself."""
    gate: str
    """Which operand is the gate, "first" or "second"."""
    forms: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Entry:
    """One function of the catalogue, of one operand or two.

    `definition(f, x, **parameters)` is mathematics over a `ExactArithmetic`; `value`, `slope` and
    `curvature` are stable forms over a `KernelArithmetic`, where a parameter is a `TwoFloat`.
    Of two operands, `slope` and `backward` return a pair, the derivatives by each, and `curvature`
    three: by the first operand twice, by both, and by the second twice.
    Tests sample `intervals` most densely, besides every exponent and the special values.
    """

    name: str
    formula: str
    paper: str
    definition: DefinitionForm
    value: StableForm
    slope: StableForms
    curvature: StableForms
    bounds: Mapping[str, ErrorBound]
    intervals: tuple[tuple[float, float], ...]
    """Of a gated function, those of the gate."""
    operands: tuple[str, ...] = ("x",)
    aliases: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    piecewise_linear: bool = False
    backward: StableForms | None = None
    """(f, x, grad, **parameters): slope·grad, where a form is cheaper than the product."""
    cheap: Mapping[str, tuple[Format, ...]] = field(default_factory=dict)
    """The quantities for which float32 arithmetic is faster than a table, and in which 16-bit
    formats. Not needed for piecewise-linear functions."""
    value16: StableForm | None = None
    """(f, x, storage): the value at numbers of a 16-bit format, for functions without parameters
    if `value` does not round to it correctly."""
    backward_from_output: bool = False
    """Whether `backward` of the value has the bits of `backward` of x, as for piecewise-linear
    functions whose pieces the value tells apart, where the parameters in `positive` are positive
    and those in `exact`, which are also values, are exact in every format."""
    positive: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    operators: DefinitionForm | None = None
    """The definition for frameworks' operators (exp, log, erfc …) if these underflow in it."""
    bounded_where: Mapping[str, ParameterRange] = field(default_factory=dict)
    """By format, the parameters with which the bounds for others than the defaults hold."""
    terms: Callable[..., tuple[Node, ...]] | None = None
    """(f, x, **parameters): the summands of the definition, if it has a root where they cancel.
    Errors are measured in ulps of the largest."""
    notes: str = ""
    tensor_slope: str = ""
    """The parameter that may be a tensor in torch and TensorFlow, for functions of the form x where
    x > 0, else parameter·x: it is trained, and broadcasts with x."""
    special_case_of: str = ""
    """The entry that has the same values with other parameters, under which `identify` reports
    this one."""
    gating: Gating | None = None
    user: UserFormula | None = None

    @property
    def nin(self) -> int:
        """The number of operands."""
        return len(self.operands)

    def inputs(self, quantity: str) -> tuple[str, ...]:
        """Return the names of a quantity's operands, in call order."""
        return (*self.operands, "grad") if quantity == "backward" else self.operands

    def results(self, quantity: str) -> int:
        """Return how many results a quantity has."""
        return {"value": 1, "curvature": self.nin * (self.nin + 1) // 2}.get(quantity, self.nin)

    def check(self, values: Mapping[str, float]) -> None:
        """Raise ValueError if a parameter is out of range, or a combination is invalid."""
        for p in self.parameters:
            p.check(values[p.name])
            if p.exceeds and not values[p.name] > values[p.exceeds]:
                raise ValueError(
                    f"{self.name} with {p.exceeds} = {values[p.exceeds]!r} and "
                    f"{p.name} = {values[p.name]!r}: {p.name} must be greater than {p.exceeds}"
                )

    def with_defaults(self, values: Mapping[str, float]) -> Entry:
        """Return the entry with other defaults of its parameters."""
        parameters = tuple(replace(p, default=values[p.name]) for p in self.parameters)
        gating = self.gating
        if gating is not None:
            factor = None if gating.factor is None else gating.factor.with_defaults(values)
            activation = gating.activation.with_defaults(values)
            gating = replace(gating, activation=activation, factor=factor)
        return replace(self, parameters=parameters, gating=gating)

    def gated_by(self, gate: str) -> Entry:
        """Return the entry of a gated function with the first or the second operand as gate."""
        assert self.gating is not None
        if gate == self.gating.gate:
            return self
        return replace(self, gating=replace(self.gating, gate=gate), **self.gating.forms[gate])

    def bound(
        self, quantity: str, fmt: str, values: Mapping[str, float] | None = None
    ) -> float | None:
        """Return the error bound with parameters other than the defaults; None if none holds.

        Without `values`, with all in `bounded_where`.
        """
        where = self.bounded_where.get(fmt)
        if values is not None and where is not None and not where.contains(values):
            return None
        stated = self.bounds.get(fmt)
        return CONTRACT_ULP if stated is None else max(CONTRACT_ULP, getattr(stated, quantity))

    def describe_bounds(self, slope: str, parameters: bool) -> list[str]:
        """Return the bounds as lines of text; with `parameters`, also those for other ones."""
        lines = []
        for name, bound in self.bounds.items():
            line = f"{name}: value within {bound.value:g} ulp, {slope} within {bound.slope:g}"
            if parameters:
                value, change = self.bound("value", name), self.bound("slope", name)
                line += f"; with other parameters {value:g} and {change:g}"
                where = self.bounded_where.get(name)
                line += "" if where is None else f" where {where.text}"
            lines.append(f"{line}.")
        return [*lines, "These bounds are measured, not proven."] if lines else []

    def can_save_output(self, values: Mapping[str, float]) -> bool:
        """Return whether `backward` of the value has the bits of `backward` of x."""
        return (
            self.backward_from_output
            and all(values[name] > 0 for name in self.positive)
            and all(_short(values[name]) for name in self.exact)
        )

    def derivative(self, *variables: str, in_operators: bool = False) -> Node:
        """Return the definition differentiated by each of some inputs or parameters.

        With `in_operators`, `define_in_operators` is. Equal calls return the same node.
        """
        root = self._defined_in_operators if in_operators else self._defined
        return reduce(derivative, variables, root)

    @cached_property
    def _defined(self) -> Node:
        return self.define()

    @cached_property
    def _defined_in_operators(self) -> Node:
        return self._defined if self.operators is None else self.define_in_operators()

    def define(self, f: ExactArithmetic | None = None) -> Node:
        """Trace the definition with the operands and the parameters symbolic."""
        root: Node = self._traced(self.definition, f or ExactArithmetic())
        return root

    def define_in_operators(self) -> Node:
        """Trace `operators`, or else the definition, with all arguments symbolic."""
        root: Node = self._traced(self.operators or self.definition, ExactArithmetic())
        return root

    def define_terms(self) -> tuple[Node, ...]:
        """Trace `terms` with all arguments symbolic."""
        return () if self.terms is None else self._traced(self.terms, ExactArithmetic())

    def _traced(self, form: Callable[..., Any], f: ExactArithmetic) -> Any:
        symbols = {p.name: f.graph.parameter(p.name) for p in self.parameters}
        return form(f, *map(f.graph.input, self.operands), **symbols)

    def trace(self, quantity: str, f: KernelArithmetic, **parameters: TwoFloat) -> tuple[Node, ...]:
        """Trace the results of `quantity` over `f`; parameters not passed are symbolic."""
        symbols = {p.name: f.parameter(p.name) for p in self.parameters} | parameters
        operands = [f.graph.input(name) for name in self.operands]
        if quantity != "backward":
            form: StableForms = getattr(self, quantity)
            return _tuple(form(f, *operands, **symbols))
        grad = f.graph.input("grad")
        if self.backward is not None:
            return _tuple(self.backward(f, *operands, grad, **symbols))
        # fma instead of a product: on AMD CPUs a product that underflows is several times slower.
        slopes = _tuple(self.slope(f, *operands, **symbols))
        return tuple(f.fma(slope, grad, 0) for slope in slopes)


def _tuple(roots: Node | tuple[Node, ...]) -> tuple[Node, ...]:
    return roots if isinstance(roots, tuple) else (roots,)


def _short(value: float) -> bool:
    """Return whether every format represents this number exactly."""
    return all(fmt.round(Fraction(value)) == value for fmt in NARROW)
