"""What was timed, on which machine, and what came out: one row a figure.

Times are per element. `least_ns` is what a quiet machine would give, `median_ns` what this one
gave, `spread` how far the two are apart; `doubt` is how far apart the least times of every other
turn and of the rest are: figures nearer to each other than that cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from softgate.runtime.machine import Machine
from softgate.runtime.records import Cell, Grid, Record

OURS = "softgate"
"""The label of our own implementation."""

COPY = "copy"
"""The function that moves the bytes and computes nothing; its implementation is NumPy's."""

RELU = "relu"

Setting = tuple[str, str, int, str, int, str, str]
"""Quantity, dtype, count, size, threads, inputs, buffers: what two figures must share."""


@dataclass(frozen=True)
class Row:
    """One figure: what an implementation of a function took, an element."""

    function: str
    implementation: str
    quantity: str
    """"value" or "backward"."""
    dtype: str
    count: int
    size: str
    """Where that many elements lie: a cache such as "L2", or "DRAM"."""
    threads: int
    inputs: str
    """"randn", or "mix": tails, subnormals, infinities, NaN, zeros."""
    buffers: str
    """"reused" or "fresh": where the output goes."""
    least_ns: float | None = None
    median_ns: float | None = None
    spread: float | None = None
    """(median - least)/least."""
    doubt: float | None = None
    """The least of every other turn and of the rest: their distance, a share of the smaller."""
    calls: int = 0
    first_call_ms: float | None = None
    """The first call alone: tracing, compiling, building tables."""
    x_copy: float | None = None
    """As a multiple of a copy of the same bytes, here and in the same rounds."""
    x_relu: float | None = None
    """As a multiple of the same implementation's relu; of ours where it has none."""
    x_ours: float | None = None
    """As a multiple of softgate's time for the same."""
    error: str = ""
    """Why there is no time."""
    notes: tuple[str, ...] = ()

    @property
    def setting(self) -> Setting:
        """What a figure must share with another to be compared."""
        return (
            self.quantity, self.dtype, self.count, self.size, self.threads, self.inputs,
            self.buffers,
        )  # fmt: skip

    @property
    def key(self) -> tuple[str, str, Setting]:
        """What the figure is of."""
        return (self.function, self.implementation, self.setting)


@dataclass(frozen=True)
class Settings:
    """What was asked for: the definition of a benchmark, apart from the machine."""

    functions: tuple[str, ...]
    implementations: tuple[str, ...]
    quantities: tuple[str, ...]
    dtypes: tuple[str, ...]
    sizes: tuple[str, ...]
    threads: tuple[int, ...]
    inputs: tuple[str, ...]
    buffers: tuple[str, ...]
    budget_s: float
    seed: int


@dataclass(frozen=True)
class Bench(Record):
    """What each function costs in each implementation, on one machine.

    `not_run` is what was left out and why, `remarks` what frameworks said of themselves, `warnings`
    what keeps figures from being trusted.
    """

    schema: ClassVar[str] = "softgate.bench"
    machine: Machine
    settings: Settings
    when: str
    seconds: float
    rows: tuple[Row, ...]
    others_share: float | None = None
    """What other processes took of all cores meanwhile."""
    warnings: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def find(self, function: str, implementation: str = OURS, **setting: str | int) -> Row:
        """Return the one row that matches; ValueError where there is none, or several.

        `setting` names fields of a row: quantity="value", dtype="float32", threads=1.
        """
        wanted = {"function": function, "implementation": implementation, **setting}
        found = [row for row in self.rows if all(getattr(row, k) == v for k, v in wanted.items())]
        if len(found) != 1:
            said = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
            raise ValueError(f"{len(found)} rows have {said}: expected one; say more, or less")
        return found[0]

    def settings_timed(self) -> tuple[Setting, ...]:
        """Return the settings that rows were timed in, in their order."""
        return tuple(dict.fromkeys(row.setting for row in self.rows))

    def grids(self) -> tuple[Grid, ...]:
        """Return a table for every setting, ours beside the others'."""
        from .text import grids

        return grids(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every row with all digits."""
        header = tuple(one.name for one in fields(Row))
        return header, [tuple(map(_cell, (getattr(row, n) for n in header))) for row in self.rows]


def _cell(value: Cell | Iterable[str]) -> Cell:
    return "; ".join(value) if isinstance(value, tuple) else value  # type: ignore[return-value]
