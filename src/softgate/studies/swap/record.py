"""The result of `swap`: which activations of a model were replaced, and which were not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record

from ..models.record import some


@dataclass(frozen=True)
class SwappedActivation:
    """An activation of a model that was replaced."""

    path: str
    """The module, layer or node."""
    before: str
    """The function that was computed, as commands accept it."""
    after: str
    """The function that is computed now."""
    how: str
    """What was replaced: "module", "attribute", "call", "layer" or "nodes"."""
    operators: str = ""
    """The operators that computed it; of ONNX files only."""
    new_operators: str = ""
    """Those that compute it now."""


@dataclass(frozen=True)
class UnswappedActivation:
    """An activation of a model that was not replaced."""

    path: str
    function: str
    operators: str
    """The operators that compute it."""
    reason: str


@dataclass(frozen=True)
class OutputDifference:
    """How far an output of the new model is from that of the original one."""

    inputs: str
    """random, or given: those of the caller."""
    output: str
    shape: tuple[int, ...]
    dtype: str
    max_difference: float
    relative: float
    """The largest difference over the largest magnitude of the output."""
    ulps: float
    """The most numbers of the dtype between two elements."""


@dataclass(frozen=True)
class Swap(Record):
    """The activations of a model that were replaced, and those that could not be."""

    schema: ClassVar[str] = "softgate.swap"

    target: str
    kind: str
    """torch, onnx or keras."""
    swapped: tuple[SwappedActivation, ...]
    unswapped: tuple[UnswappedActivation, ...]
    """Activations that should have been replaced; empty unless a partial swap was allowed."""
    notes: tuple[str, ...]
    """What else was changed, such as a configuration, and what was left."""
    output: str | None = None
    """The ONNX file that was written."""
    differences: tuple[OutputDifference, ...] = ()
    """The effect on the outputs of an ONNX file."""
    unchanged: tuple[UnswappedActivation, ...] | None = None
    """Activations and activation operators that are as they were, besides `unswapped`, and why.

    None if they were not determined.
    """

    @property
    def counts(self) -> dict[str, int]:
        """The number of places of each replacement, such as "gelu -> gelu_tanh"."""
        counts: dict[str, int] = {}
        for swapped in self.swapped:
            key = f"{swapped.before} -> {swapped.after}"
            counts[key] = counts.get(key, 0) + 1
        return counts

    @property
    def closing(self) -> str:
        """What was left unchanged besides `unswapped`, and why."""
        if self.unchanged is None:
            return ""
        if not self.unchanged:
            return "No other activation is left unchanged."
        groups: dict[tuple[str, str], list[str]] = {}
        for left in self.unchanged:
            groups.setdefault((left.function or left.operators, left.reason), []).append(left.path)
        return "\n".join(
            [
                "Left unchanged:",
                *(
                    f"  {len(p)} {name} ({some(p)}), because {why}"
                    for (name, why), p in groups.items()
                ),
            ]
        )

    def grids(self) -> tuple[Grid, ...]:
        """Return a grid of what was replaced, and one of what was not."""
        totals = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        lines = [f"{self.target} ({self.kind}): {totals or 'nothing was replaced'}"]
        lines += [f"note: {note}" for note in self.notes]
        header: tuple[str, ...] = ("path", "before", "after", "replaced")
        rows: tuple[tuple[str, ...], ...] = tuple(
            (s.path, s.before, s.after, s.how) for s in self.swapped
        )
        if self.kind == "onnx":
            written = "nothing was written" if self.output is None else f"written to {self.output}"
            lines.append(written)
            header = ("path", "before", "after", "operators", "new operators")
            rows = tuple(
                (s.path, s.before, s.after, s.operators, s.new_operators) for s in self.swapped
            )
        grids = [Grid("\n".join(lines), header, rows, text=True, closing=self.closing)]
        if self.unswapped:
            left = tuple((u.path, u.function, u.operators, u.reason) for u in self.unswapped)
            header = ("path", "function", "operators", "why it is unchanged")
            grids.append(Grid("not replaced", header, left, text=True))
        if self.differences:
            cells = tuple(
                (
                    d.output, d.inputs, f"{d.dtype} {list(d.shape)}", f"{d.max_difference:.3g}",
                    f"{d.relative:.3g}", f"{d.ulps:.4g}",
                )
                for d in self.differences
            )  # fmt: skip
            title = "difference of the outputs from those of the original model"
            header = ("output", "inputs", "dtype", "largest", "relative", "ulps")
            grids.append(Grid(title, header, cells, labels=2))
        return tuple(grids)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each activation that was replaced, and for each that was not."""
        header = ("path", "before", "after", "how", "operators", "reason")
        rows: list[tuple[Cell, ...]] = [
            (s.path, s.before, s.after, s.how, s.operators or None, None) for s in self.swapped
        ]
        rows += [
            (u.path, u.function, u.function, None, u.operators, u.reason)
            for u in (*self.unswapped, *(self.unchanged or ()))
        ]
        return header, rows


class SwapError(ValueError):
    """Activations of a model could not be replaced; `unswapped` lists them."""

    def __init__(self, target: str, total: int, unswapped: tuple[UnswappedActivation, ...]) -> None:
        self.unswapped = unswapped
        lines = [
            f"{target}: {len(unswapped)} of {total} activations cannot be swapped, and nothing was "
            "changed; partial=True (--partial) swaps the others:"
        ]
        lines += [
            f"  {u.path or target}: {u.function} ({u.operators}): {u.reason}" for u in unswapped
        ]
        super().__init__("\n".join(lines))
