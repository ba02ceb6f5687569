"""What an activation is: its definition, how it is computed, how exactly, and its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..blocks import Kernel, TwoFloat
from ..formula import Definition
from ..graph import Node

DefinitionForm = Callable[..., Node]
StableForm = Callable[..., Node]


@dataclass(frozen=True)
class Parameter:
    """A scalar of the formula, the same for all elements; accepted strictly between the bounds."""

    name: str
    default: float
    above: float = float("-inf")
    below: float = float("inf")
    doc: str = ""
    tested: tuple[float, ...] = ()
    """Values beside the default that every test of the catalogue runs with."""

    def check(self, value: float) -> None:
        """Raise ValueError where `value` is not accepted."""
        if not self.above < value < self.below:
            raise ValueError(
                f"{self.name} = {value!r} is out of range: accepted are finite numbers {self.range}"
            )

    @property
    def range(self) -> str:
        """The accepted range in words."""
        parts = [f"> {self.above:g}"] if self.above != float("-inf") else []
        parts += [f"< {self.below:g}"] if self.below != float("inf") else []
        return " and ".join(parts)


@dataclass(frozen=True)
class Bound:
    """Largest error in ulps that a kernel of one format may have (measured, then rounded up)."""

    value: float
    slope: float


@dataclass(frozen=True, eq=False)
class Entry:
    """One activation of the catalogue.

    `definition(f, x, **parameters)` is mathematics over a `Definition`; `value`, `slope` and
    `curvature` are stable forms over a `Kernel`, where a parameter arrives as a `TwoFloat`.
    `intervals` are where tests look closest, beside every exponent and the special values.
    """

    name: str
    formula: str
    paper: str
    definition: DefinitionForm
    value: StableForm
    slope: StableForm
    curvature: StableForm
    bounds: Mapping[str, Bound]
    intervals: tuple[tuple[float, float], ...]
    aliases: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    piecewise_linear: bool = False
    backward: StableForm | None = None
    """(f, x, grad, **parameters): where slope times grad has a form cheaper than the product."""
    notes: str = ""

    def define(self, f: Definition | None = None) -> Node:
        """Trace the definition with `x` and the parameters symbolic."""
        f = f or Definition()
        symbols = {p.name: f.graph.parameter(p.name) for p in self.parameters}
        return self.definition(f, f.graph.input("x"), **symbols)

    def trace(self, quantity: str, f: Kernel, **parameters: TwoFloat) -> Node:
        """Trace the stable form of `quantity` over `f`; a parameter not given is symbolic."""
        symbols = {p.name: f.parameter(p.name) for p in self.parameters} | parameters
        x = f.graph.input("x")
        if quantity == "backward":
            grad = f.graph.input("grad")
            if self.backward is not None:
                return self.backward(f, x, grad, **symbols)
            # fma and not a product: on AMD a product that underflows is several times slower.
            return f.fma(self.slope(f, x, **symbols), grad, 0)
        form: StableForm = getattr(self, quantity)
        return form(f, x, **symbols)
