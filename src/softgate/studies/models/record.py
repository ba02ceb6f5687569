"""The result of `scan`: every activation of a model, where it is and what it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label

from ..identify import UNKNOWN, Identification
from ..identify.record import written_call
from .operator_count import UnlistedOperator

SHOWN = 5
"""The most paths of one kind of unlisted operators in a sentence."""


def some(paths: Sequence[str]) -> str:
    """Return the first few of some paths as text."""
    distinct = list(dict.fromkeys(path or "the model" for path in paths))
    return ", ".join(distinct[:SHOWN]) + (", …" if len(distinct) > SHOWN else "")


@dataclass(frozen=True)
class ScannedActivation:
    """One place of a model at which an elementwise function is computed."""

    path: str
    """The module, layer or node."""
    function: str
    """The function of the catalogue, identified by its values; "unknown" if none fits."""
    parameters: Mapping[str, float]
    scale: float
    offset: float
    dtype: str
    max_difference: float | None
    """The largest difference from that function at the points; None if it was not evaluated."""
    operators: str
    """The operators that compute it, in their order."""
    calls: int
    """How often it is computed in one run of the model."""
    elements: int | None
    """Elements for each token or sample, in all calls together; None if not known."""
    claim: str | None = None
    """The function that the configuration or the name of the operator claims; None if neither."""
    mismatch: bool = False
    """Whether it computes another function than the one claimed."""
    counted: int = 0
    """The activation operators of the independent count that this row contains."""

    @classmethod
    def of(
        cls,
        path: str,
        match: Identification | None,
        *,
        dtype: str,
        operators: str,
        elements: int | None,
        claim: str | None = None,
    ) -> ScannedActivation:
        """Return what was identified at a path; `match` is None if it could not be evaluated."""
        function = UNKNOWN if match is None else match.function
        if match is None or function == UNKNOWN:
            return cls(path, function, {}, 1.0, 0.0, dtype, None, operators, 1, elements, claim)
        defaults = activations()[function].parameters
        changed = {n: value for n, value in match.parameters.items() if defaults.get(n) != value}
        return cls(
            path, function, changed, match.scale, match.offset, dtype, match.max_difference,
            operators, 1, elements, claim,
        )  # fmt: skip

    @property
    def answer(self) -> str:
        """The function with its numbers as text."""
        return UNKNOWN if self.function == UNKNOWN else written_call(self)

    @property
    def label(self) -> str:
        """The function as commands accept it; `answer` if it has a scale or an offset."""
        if self.function == UNKNOWN or (self.scale, self.offset) != (1.0, 0.0):
            return self.answer
        return label(self.unscaled)

    @property
    def unscaled(self) -> Activation:
        """The function of the catalogue, without scale and offset; KeyError if it is unknown."""
        return activations()[self.function].bind(**self.parameters)


@dataclass(frozen=True)
class Scan(Record):
    """Every activation of a model, identified by its values."""

    schema: ClassVar[str] = "softgate.scan"

    target: str
    kind: str
    """torch, onnx or keras."""
    unit: str
    """What `elements` are counted for: token or sample."""
    claim: str | None
    """The claim of the model's configuration, such as "hidden_act = gelu_new"; None without one."""
    activations: tuple[ScannedActivation, ...]
    unidentified: tuple[ScannedActivation, ...]
    """Elementwise functions that no activation of the catalogue fits, such as x**2."""
    notes: tuple[str, ...]
    """Functions that were not examined, and mismatches as sentences."""
    operators: int | None = None
    """Activation operators of the model, counted without the code that finds the functions.

    Each is in one row or in `unlisted`: the sum of both counts. None if they were not counted.
    """
    unlisted: tuple[UnlistedOperator, ...] = ()
    """Those that are in no row, with the reasons."""

    @property
    def mismatches(self) -> tuple[ScannedActivation, ...]:
        """The activations that are not what the configuration claims."""
        return tuple(a for a in self.activations if a.mismatch)

    @property
    def counts(self) -> dict[str, int]:
        """The number of places of each function."""
        counts: dict[str, int] = {}
        for activation in self.activations:
            counts[activation.answer] = counts.get(activation.answer, 0) + 1
        return counts

    def grids(self) -> tuple[Grid, ...]:
        """Return the activations that were identified, and the notes."""
        return self.grids_of(self.activations)

    def grids_of(self, activations: tuple[ScannedActivation, ...]) -> tuple[Grid, ...]:
        """Return the grid of some activations, with the totals as its title."""
        totals = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        lines = [f"{self.target} ({self.kind}): {totals or 'no activation was found'}"]
        if self.claim:
            lines.append(f"configuration: {self.claim}")
        lines += [f"note: {note}" for note in self.notes]
        rows = tuple(
            (
                a.path,
                a.answer + (f"\nnot {a.claim}" if a.mismatch else ""),
                a.dtype,
                "" if a.elements is None else f"{a.elements:,}",
                a.operators,
            )
            for a in activations
        )
        header = ("path", "function", "dtype", f"elements\nper {self.unit}", "operators")
        return (Grid("\n".join(lines), header, rows, text=True, closing=self.closing),)

    @property
    def closing(self) -> str:
        """How many activation operators of the model are in no row, and why."""
        if self.operators is None:
            return "The activation operators of the model were not counted."
        which = "of the model" if self.kind == "onnx" else "that the model ran"
        left = sum(operator.count for operator in self.unlisted)
        if not left:
            hidden = sum(row.counted for row in self.unidentified)
            where = f", {hidden} of them in functions that --all lists" if hidden else ""
            return f"All {self.operators:,} activation operators {which} are listed{where}."
        groups: dict[tuple[str, str], list[UnlistedOperator]] = {}
        for operator in self.unlisted:
            groups.setdefault((operator.operator, operator.reason), []).append(operator)
        lines = [f"{left:,} of {self.operators:,} activation operators {which} are not listed:"]
        for (name, reason), members in groups.items():
            count = sum(member.count for member in members)
            paths = some([member.path for member in members])
            lines.append(f"  {count:,} {name} ({paths}), because {reason}")
        return "\n".join(lines)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each activation, each function that was not identified, and the rest.

        The rest are the operators that are not listed, with the reasons and without a function.
        """
        header = (
            "path", "function", "parameters", "scale", "offset", "dtype", "max_difference",
            "operators", "calls", "elements", "claim", "mismatch", "reason",
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = [
            (
                a.path,
                a.function,
                ", ".join(f"{name}={value:.12g}" for name, value in a.parameters.items()),
                a.scale,
                a.offset,
                a.dtype,
                a.max_difference,
                a.operators,
                a.calls,
                a.elements,
                a.claim,
                str(a.mismatch).lower(),
                None,
            )
            for a in (*self.activations, *self.unidentified)
        ]
        none = (None,) * 6
        rows += [
            (o.path, *none, o.operator, o.count, None, None, None, o.reason) for o in self.unlisted
        ]
        return header, rows
