"""The activation in context: its share of a feed-forward layer's time, memory and arithmetic.

What swapping one activation for another can gain follows by Amdahl's law from the share that the
first has and from how much less the second takes. Everything else in the layer stays as it is, so
no swap gains more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from softgate.runtime.machine import Machine
from softgate.runtime.records import Cell, Grid, Record

OURS, THEIRS = "softgate", "torch"
PHASES = {"forward": "forward", "step": "training step"}
"""What is timed, and what readers call it."""
REFERENCES = {"plain": "relu", "gated": "reglu"}
"""What the others are held against: the cheapest of their kind."""


@dataclass(frozen=True)
class LayerRow:
    """One layer in one phase: times in ns of the whole and of the activation within."""

    activation: str
    kind: str
    """"plain", or "gated" where one linear layer gates another."""
    implementation: str
    phase: str
    """"forward", or "step": forward and backward, to the input and to every weight."""
    d_hidden: int
    whole_ns: float
    whole_median_ns: float
    activation_ns: float
    activation_median_ns: float
    doubt: float
    """How far the least times of every other run and of the rest are apart, as a share of the
    smaller; of the whole or of the activation, whichever is larger."""
    runs: int
    saved_bytes: int | None
    """Kept for the way back, as autograd's hooks see it; None of a forward pass alone."""
    matmul_flops: int
    activation_flops: int | None
    """None where it is not counted: torch's own, and what is looked up in a table."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What the row is of."""
        return self.activation, self.implementation, self.phase

    @property
    def share(self) -> float:
        """The activation's share of the layer's time, both at their least."""
        return self.activation_ns / self.whole_ns

    @property
    def gain_if_free(self) -> float:
        """How many times as fast the layer would be if its activation took no time."""
        return 1 / (1 - self.share)

    def gain(self, other: LayerRow) -> float:
        """How many times as fast the layer would be with another's activation: Amdahl's law."""
        return 1 / (1 - self.share * (1 - other.activation_ns / self.activation_ns))


@dataclass(frozen=True)
class Layer(Record):
    """What activations cost inside a feed-forward layer, torch's own and softgate's."""

    schema: ClassVar[str] = "softgate.layer"
    machine: Machine
    d_model: int
    d_hidden: int
    tokens: int
    dtype: str
    threads: int
    seed: int
    when: str
    seconds: float
    rows: tuple[LayerRow, ...]
    others_share: float | None = None
    """What other processes took of all cores meanwhile."""
    warnings: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[LayerRow]:
        return iter(self.rows)

    def find(self, activation: str, implementation: str, phase: str) -> LayerRow:
        """Return one row; ValueError where it was not measured."""
        for row in self.rows:
            if row.key == (activation, implementation, phase):
                return row
        measured = ", ".join(
            dict.fromkeys(f"{row.activation} in {row.implementation}" for row in self)
        )
        raise ValueError(
            f"{activation} in {implementation}, {phase}: not measured; there are {measured}, "
            f"each with {' and '.join(PHASES)}"
        )

    def reference(self, row: LayerRow) -> LayerRow:
        """Return the cheapest activation of the same kind in the same implementation."""
        return self.find(REFERENCES[row.kind], row.implementation, row.phase)

    def grids(self) -> tuple[Grid, ...]:
        """Return times, memory and operations, what swaps can gain, and the answers in words."""
        from .layer_text import grids

        return grids(self)

    def answers(self) -> tuple[str, ...]:
        """Return in sentences what the figures say."""
        from .layer_text import answers

        return answers(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every row with all digits."""
        header = (*(one.name for one in fields(LayerRow)), "share")
        return header, [tuple(getattr(row, name) for name in header) for row in self.rows]
