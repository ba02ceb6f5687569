"""What the playground computes with: activations to pick, and their code as `emit` prints it.

The page has no formula of its own. The JavaScript comes from the graphs that the kernels are
compiled from, and so do the ranges of parameters. A formula of the user's is emitted apart, so that
its name may be one of the catalogue's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from softgate.catalogue import Parameter
from softgate.plotting.palette import style
from softgate.runtime.activation import Activation
from softgate.runtime.records import Cell, Grid, Record
from softgate.runtime.registry import activations, label
from softgate.studies.emit import emit

FIRST = "gelu"
"""What is picked before anything is."""
MOST_PARAMETERS = 2
LINE_ENDS = re.compile("[\u2028\u2029]")
"""What ends a comment in JavaScript, and is no line's end elsewhere."""


@dataclass(frozen=True)
class Slider:
    """A parameter: what is accepted, and the part of it that a slider covers."""

    name: str
    default: float
    above: float | None
    below: float | None
    closed: bool
    exceeds: str
    range: str
    low: float
    high: float
    step: float
    hint: str


@dataclass(frozen=True)
class Choice:
    """An activation that can be picked."""

    name: str
    label: str
    formula: str
    colour: str
    own: bool
    parameters: tuple[Slider, ...]
    without: str
    """What is said in place of sliders where there are none."""


@dataclass(frozen=True)
class Playground(Record):
    """The activations to pick from, and the JavaScript modules that compute them."""

    schema: ClassVar[str] = "softgate.report.playground"

    choices: tuple[Choice, ...]
    catalogue: str
    """The module of the catalogue."""
    own: dict[str, str]
    """The module of each formula of the user's."""
    refused: tuple[str, ...]
    """Why a formula cannot be picked."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Refuse: this record holds code that a page runs, and a file may hold anybody's."""
        raise ValueError(
            f"{cls.schema} is not read from files, as it holds code that the page runs: "
            "make the report anew"
        )

    def grids(self) -> tuple[Grid, ...]:
        """Return what can be picked, with formulas and parameters."""
        rows = tuple(
            (one.label, one.formula, ", ".join(p.name for p in one.parameters))
            for one in self.choices
        )
        return (Grid("", ("activation", "formula", "parameters"), rows, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return one row for each parameter, and for each activation without."""
        header = ("activation", "formula", "parameter", "default", "low", "high")
        rows: list[tuple[Cell, ...]] = []
        for one in self.choices:
            whole = (one.label, one.formula)
            of_each = [(*whole, p.name, p.default, p.low, p.high) for p in one.parameters]
            rows += of_each or [(*whole, None, None, None, None)]
        return header, rows


def playground(own: Iterable[Activation] = ()) -> Playground:
    """Return what the playground needs: the whole catalogue, and formulas of the user's.

    Examples
    --------
    >>> found = playground()
    >>> found.choices[0].name, [p.name for p in found.choices[0].parameters]
    ('gelu', [])
    >>> "export function gelu(x)" in found.catalogue
    True
    """
    known = activations()
    choices = [
        _choice(known[name]) for name in sorted(known, key=lambda n: (n != FIRST, n.lower()))
    ]
    modules: dict[str, str] = {}
    refused = []
    for activation in own:
        try:
            modules[activation.name] = _emitted([activation])
        except ValueError as error:
            refused.append(str(error))
            continue
        choices.append(_choice(activation, own=True))
    return Playground(tuple(choices), _emitted(known.values()), modules, tuple(refused))


def _emitted(chosen: Iterable[Activation]) -> str:
    return LINE_ENDS.sub(" ", emit(chosen, "js"))


def _choice(activation: Activation, own: bool = False) -> Choice:
    entry = activation.entry
    if not own and len(entry.parameters) > MOST_PARAMETERS:
        raise ValueError(
            f"{entry.name} has {len(entry.parameters)} parameters, and the playground has sliders "
            f"for {MOST_PARAMETERS}: raise MOST_PARAMETERS, and `functionsOf` in chosen.js with it"
        )
    called = label(activation) if own else activation.name
    fixed = ", ".join(f"{name} = {value:g}" for name, value in activation.parameters.items())
    return Choice(
        name=activation.name,
        label=called,
        formula=f"{entry.name}(x) = {entry.formula}",
        colour=style(activation.name).colour,
        own=own,
        parameters=() if own else tuple(_slider(p) for p in entry.parameters),
        without=f"Its parameters are fixed here: {fixed}."
        if own and fixed
        else f"{entry.name} has no parameters.",
    )


def _slider(parameter: Parameter) -> Slider:
    """Return the slider of a parameter: some way around its default, within what is accepted."""
    p = parameter
    way = max(1.0, 2 * abs(p.default))
    step = 0.01 if way <= 3 else 0.05
    low, high = float(round(p.default - way)), float(round(p.default + way))
    if low <= p.above:
        low = p.above if p.closed else round(p.above + step, 9)
    accepted = f"any number {p.range}" if p.range else "any number"
    return Slider(
        name=p.name,
        default=p.default,
        above=p.above if math.isfinite(p.above) else None,
        below=p.below if math.isfinite(p.below) else None,
        closed=p.closed,
        exceeds=p.exceeds,
        range=p.range or "a finite number",
        low=low,
        high=min(high, p.below),
        step=step,
        hint=f"{p.default:g} by default; {accepted}",
    )
