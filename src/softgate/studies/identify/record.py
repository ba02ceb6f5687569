"""The result of `identify`: the function found, and the candidates that came nearest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from softgate.records.record import Cell, Grid, Record
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Candidate:
    """One function of the catalogue and its distance from the observed values."""

    function: str
    parameters: Mapping[str, float]
    scale: float
    offset: float
    max_difference: float
    confidence: float
    """The probability of this function, among all candidates and none of them."""


@dataclass(frozen=True)
class Identification(Record):
    """The function that a callable computes: scale·function + offset, or unknown."""

    schema: ClassVar[str] = "softgate.identification"

    subject: str
    dtype: str
    points: int
    function: str
    parameters: Mapping[str, float]
    max_difference: float
    """The largest difference at the points; of the nearest function if unknown."""
    scale: float
    offset: float
    confidence: float
    candidates: tuple[Candidate, ...]
    """The functions that came nearest, the best first; none if it is not elementwise."""
    not_elementwise: str = ""
    """Why a result is not a function of its own input alone, with an example; empty if it is."""

    @property
    def answer(self) -> str:
        """The function with its numbers as text."""
        if self.not_elementwise:
            return self.not_elementwise.partition(":")[0]
        return written_call(self) if self.function != UNKNOWN else "unknown: nothing fits"

    @property
    def activation(self) -> Activation | None:
        """The function of the catalogue; None if unknown, or with a scale or an offset."""
        known = activations().get(self.function)
        if known is None or (self.scale, self.offset) != (1.0, 0.0):
            return None
        values = {name: self.parameters[name] for name in known.parameters}
        return known.bind(**values)

    def grids(self) -> tuple[Grid, ...]:
        """Return the answer as a title, and as rows the candidates or why there are none."""
        title = f"{self.subject} in {self.dtype}: {self.answer}"
        if self.not_elementwise:
            evidence = self.not_elementwise.partition(": ")[2]
            return (Grid(title, ("evidence",), ((evidence,),), text=True),)
        rows = tuple(
            (
                written_call(candidate),
                f"{candidate.max_difference:.3g}",
                f"{candidate.confidence:.2f}",
            )
            for candidate in self.candidates
        )
        return (Grid(title, ("candidate", "largest difference", "probability"), rows),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each candidate."""
        header = ("function", "parameters", "scale", "offset", "max_difference", "confidence")
        return header, [
            (c.function, _written(c.parameters), c.scale, c.offset, c.max_difference, c.confidence)
            for c in self.candidates
        ]


class IdentifiedFunction(Protocol):
    """A function of the catalogue with its numbers."""

    @property
    def function(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> Mapping[str, float]:
        """Its parameters."""

    @property
    def scale(self) -> float:
        """The factor of its values."""

    @property
    def offset(self) -> float:
        """What is added to them."""


def written_call(identified: IdentifiedFunction) -> str:
    """Return a function with its numbers as text: 0.5·elu(alpha=2) +1."""
    inside = _written(identified.parameters)
    name = f"{identified.function}({inside})" if inside else identified.function
    scaled = name if identified.scale == 1 else f"{identified.scale:.12g}·{name}"
    return scaled if identified.offset == 0 else f"{scaled} {identified.offset:+.12g}"


def _written(parameters: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:.12g}" for name, value in parameters.items())
