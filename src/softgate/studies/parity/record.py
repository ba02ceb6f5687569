"""The result of `parity`: the differences of the outputs and activations of two models."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record

from ..models.arrays import ArrayDifference


@dataclass(frozen=True)
class ComparedOutput:
    """One output of both models, or of a model and the expected output."""

    name: str
    other: str
    """Its name in the second model."""
    shape: tuple[int, ...]
    dtype: str
    difference: ArrayDifference | None
    """None if the shapes do not fit."""

    @property
    def relative(self) -> float:
        """The relative difference; inf if the shapes do not fit."""
        return inf if self.difference is None else self.difference.relative


@dataclass(frozen=True)
class ComparedActivation:
    """An activation of the first model and its counterpart in the second one."""

    path: str | None
    """None if only the second model has it."""
    function: str
    other_path: str | None
    """None if only the first model has it."""
    other_function: str
    shape: tuple[int, ...]
    difference: ArrayDifference | None
    """None if it has no counterpart, or if one of them was not observed."""

    @property
    def functions_differ(self) -> bool:
        """Whether both models have it and compute different functions."""
        matched = self.path is not None and self.other_path is not None
        return matched and self.function != self.other_function


@dataclass(frozen=True)
class ModelVariant:
    """The model with other activations, and how far its outputs are from the expected ones."""

    change: str
    """What was replaced, such as "gelu -> gelu_tanh"; empty for the model itself."""
    relative: float
    ulps: float


@dataclass(frozen=True)
class Parity(Record):
    """Two models on the same inputs: their outputs, and their activations in order of execution."""

    schema: ClassVar[str] = "softgate.parity"

    first: str
    first_kind: str
    """torch, onnx or keras."""
    second: str
    """The second model, or the expected outputs."""
    second_kind: str
    """torch, onnx, keras or expected."""
    tolerance: float
    """The largest relative difference that counts as equal."""
    outputs: tuple[ComparedOutput, ...]
    activations: tuple[ComparedActivation, ...]
    variants: tuple[ModelVariant, ...]
    """Variants of the first model that were tried for expected outputs, the nearest first."""
    notes: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether all outputs, and all activations that were compared, are within the tolerance."""
        relative = [output.relative for output in self.outputs]
        relative += [a.difference.relative for a in self.activations if a.difference is not None]
        return bool(self.outputs) and max(relative) <= self.tolerance

    @property
    def variant(self) -> ModelVariant | None:
        """The variant that reproduces the expected outputs; None if none of those tried does."""
        nearest = self.variants[0] if self.variants else None
        return nearest if nearest is not None and nearest.relative <= self.tolerance else None

    @property
    def first_difference(self) -> ComparedActivation | ComparedOutput | None:
        """The first activation that differs by more than the tolerance, else the first output."""
        for activation in self.activations:
            difference = activation.difference
            if difference is not None and difference.relative > self.tolerance:
                return activation
        return next((o for o in self.outputs if o.relative > self.tolerance), None)

    def grids(self) -> tuple[Grid, ...]:
        """Return the verdict with the outputs, the activations, and the variants."""
        grids = [self._outputs()]
        if self.activations:
            grids.append(self._activations())
        if self.variants:
            rows = tuple(
                (v.change or "unchanged", f"{v.relative:.3g}", f"{v.ulps:.4g}")
                for v in self.variants
            )
            title = "variants of the activations, the nearest first"
            grids.append(Grid(title, ("variant", "relative", "ulps"), rows))
        return tuple(grids)

    def _outputs(self) -> Grid:
        lines = [
            f"{self.first} ({self.first_kind}) and {self.second} ({self.second_kind}): "
            f"{'equal' if self.equal else 'different'} (relative tolerance {self.tolerance:g})"
        ]
        if self.variants:
            lines.append(self._answer())
        elif (compared := self.first_difference) is not None:
            lines.append(f"first difference: {_sentence(compared)}")
        lines += [f"note: {note}" for note in self.notes]
        rows = tuple(
            (
                o.name if o.name == o.other else f"{o.name} / {o.other}",
                f"{o.dtype} {list(o.shape)}",
                *_cells(o.difference, "other shape"),
            )
            for o in self.outputs
        )
        header = ("output", "dtype", "largest", "relative", "ulps", "at", "values")
        return Grid("\n".join(lines), header, rows)

    def _answer(self) -> str:
        if self.variant is None:
            return "none of the variants tried reproduces the expected outputs"
        change = self.variant.change
        return f"the expected outputs are reproduced by {change or 'the model as it is'}"

    def _activations(self) -> Grid:
        rows = tuple(
            (
                a.path or "-",
                a.other_path or "-",
                a.function + (f" / {a.other_function}" if a.functions_differ else "")
                if a.path is not None
                else a.other_function,
                str(list(a.shape)),
                *_cells(a.difference, "not compared")[:3],
            )
            for a in self.activations
        )
        header = ("first", "second", "function", "shape", "largest", "relative", "ulps")
        return Grid("activations in the order of execution", header, rows, labels=2, text=True)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each activation, each output and each variant."""
        header = (
            "kind", "first", "second", "function", "other_function", "max_difference", "relative",
            "ulps",
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = [
            ("activation", a.path, a.other_path, a.function, a.other_function, *_data(a.difference))
            for a in self.activations
        ]
        rows += [
            ("output", o.name, o.other, None, None, *_data(o.difference)) for o in self.outputs
        ]
        rows += [
            ("variant", v.change, None, None, None, None, v.relative, v.ulps) for v in self.variants
        ]
        return header, rows


def _data(difference: ArrayDifference | None) -> tuple[Cell, ...]:
    if difference is None:
        return (None, None, None)
    return difference.max_difference, difference.relative, difference.ulps


def _cells(difference: ArrayDifference | None, missing: str) -> tuple[str, str, str, str, str]:
    if difference is None:
        return missing, "", "", "", ""
    return (
        f"{difference.max_difference:.3g}",
        f"{difference.relative:.3g}",
        f"{difference.ulps:.4g}",
        str(list(difference.index)),
        f"{difference.first:.9g}, {difference.second:.9g}",
    )


def _sentence(compared: ComparedActivation | ComparedOutput) -> str:
    if isinstance(compared, ComparedOutput):
        place = f"the output {compared.name}"
    else:
        functions = compared.function
        if compared.functions_differ:
            functions += f" and {compared.other_function}"
        place = f"{compared.path} and {compared.other_path} ({functions})"
    difference = compared.difference
    if difference is None:
        return f"{place}: the shapes do not fit"
    return (
        f"{place}: {difference.ulps:.4g} ulps, relative {difference.relative:.3g}, "
        f"{difference.first:.9g} and {difference.second:.9g} at {list(difference.index)}"
    )
