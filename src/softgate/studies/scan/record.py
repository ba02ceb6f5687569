"""The result of `scan`: every activation of a model, where it is and what it computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from softgate.runtime.records import Cell, Grid, Record
from softgate.runtime.registry import activations, label

from ..identify import UNKNOWN


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
    """What the configuration or the operator is called, as a function of the catalogue."""
    mismatch: bool = False
    """Whether it computes another function than the one claimed."""

    @property
    def answer(self) -> str:
        """The function with its numbers as text."""
        if self.function == UNKNOWN:
            return UNKNOWN
        inside = ", ".join(f"{name}={value:.6g}" for name, value in self.parameters.items())
        name = f"{self.function}({inside})" if inside else self.function
        scaled = name if self.scale == 1 else f"{self.scale:.6g}·{name}"
        return scaled if self.offset == 0 else f"{scaled} {self.offset:+.6g}"

    @property
    def label(self) -> str:
        """The function as commands accept it; with a scale or offset it is none of those."""
        if self.function == UNKNOWN or (self.scale, self.offset) != (1.0, 0.0):
            return self.answer
        return label(activations()[self.function].bind(**self.parameters))


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
    """What the configuration of the model says, such as "hidden_act = gelu_new"; None if nothing.
    """
    activations: tuple[ScannedActivation, ...]
    unidentified: tuple[ScannedActivation, ...]
    """Elementwise functions that no activation of the catalogue fits, such as x**2."""
    notes: tuple[str, ...]
    """What was not read, and mismatches in words."""

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
        return (Grid("\n".join(lines), header, rows, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each activation, then for each function that was not identified."""
        header = (
            "path", "function", "parameters", "scale", "offset", "dtype", "max_difference",
            "operators", "calls", "elements", "claim", "mismatch",
        )  # fmt: skip
        return header, [
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
            )
            for a in (*self.activations, *self.unidentified)
        ]
