"""The record of a benchmark: settings, machine, and a row for each time.

Times are per element. `least_ns` is the time on a quiet machine, `median_ns` the usual one here,
`spread` their relative difference; `relative_uncertainty` is that of the least times of even and of
odd turns, and smaller differences between two times are not significant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar, cast

from softgate.records.files import PICTURES, TABLES
from softgate.records.record import Cell, Grid, Record
from softgate.runtime.machine import Machine

if TYPE_CHECKING:
    from softgate.plotting.vega import Chart

OURS = "softgate"
"""The label of softgate's implementation."""

COPY = "copy"
"""The function that copies the bytes and computes nothing; its implementation is NumPy's."""

RELU = "relu"

SETTING = ("quantity", "dtype", "count", "size", "threads", "inputs", "buffers")
"""The fields that comparable times share."""
Setting = tuple[str, str, int, str, int, str, str]
"""Their values."""

UNCERTAIN = 0.1
"""Doubt above which there is a warning."""

DISTURBED = 0.1
"""Share of all cores used by other processes above which there is a warning."""


@dataclass(frozen=True)
class BenchRow:
    """The time of one implementation of a function, per element."""

    function: str
    implementation: str
    quantity: str
    """"value" or "backward"."""
    dtype: str
    count: int
    size: str
    """Where the arrays fit: a cache such as "L2", or "DRAM"."""
    threads: int
    inputs: str
    """"randn", or "mix": tails, subnormals, infinities, NaN, zeros."""
    buffers: str
    """"reused" or "fresh" output memory."""
    least_ns: float | None = None
    median_ns: float | None = None
    spread: float | None = None
    """(median - least)/least."""
    relative_uncertainty: float | None = None
    """Distance of the least time of every other turn and of the rest, relative to the smaller."""
    calls: int = 0
    first_call_ms: float | None = None
    """The first call alone: tracing, compiling, building tables."""
    ratio_to_copy: float | None = None
    """As a multiple of a copy of the same bytes in the same rounds."""
    ratio_to_relu: float | None = None
    """As a multiple of the same implementation's relu; of softgate's if it has none."""
    ratio_to_softgate: float | None = None
    """As a multiple of softgate's time, for code that of `same_as`."""
    same_as: str = ""
    """The function of the catalogue with the values of code that was passed."""
    error: str = ""
    """Why there is no time."""
    notes: tuple[str, ...] = ()

    @property
    def setting(self) -> Setting:
        """The fields that comparable times share."""
        return cast(Setting, tuple(getattr(self, name) for name in SETTING))

    @property
    def key(self) -> tuple[str, str, Setting]:
        """Function, implementation and setting."""
        return (self.function, self.implementation, self.setting)


@dataclass(frozen=True)
class Settings:
    """The settings of a benchmark, apart from the machine."""

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
    """Times of each function in each implementation, on one machine.

    `not_run` lists what was left out and why, `remarks` what frameworks reported, `warnings` why
    times may not be reliable.
    """

    schema: ClassVar[str] = "softgate.bench"
    formats: ClassVar[tuple[str, ...]] = (*TABLES, *PICTURES)
    machine: Machine
    settings: Settings
    when: str
    seconds: float
    rows: tuple[BenchRow, ...]
    background_load: float | None = None
    """Share of all cores that other processes used during the benchmark."""
    warnings: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[BenchRow]:
        return iter(self.rows)

    def find(self, function: str, implementation: str = OURS, **setting: str | int) -> BenchRow:
        """Return the one row that matches; raise ValueError if there is none or several.

        `setting` names fields of a row: quantity="value", dtype="float32", threads=1.
        """
        wanted = {"function": function, "implementation": implementation, **setting}
        rows = [row for row in self.rows if all(getattr(row, k) == v for k, v in wanted.items())]
        if len(rows) != 1:
            fields = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
            raise ValueError(f"{len(rows)} rows have {fields}: expected one; give other fields")
        return rows[0]

    def settings_timed(self) -> tuple[Setting, ...]:
        """Return the settings of the rows, in their order."""
        return tuple(dict.fromkeys(row.setting for row in self.rows))

    def figure(self, functions: Sequence[str] = ()) -> Chart:
        """Return the chart of times in the first setting, by implementation.

        Parameters
        ----------
        functions : sequence of str
            The functions to draw, by default the first three that were timed.

        Raises
        ------
        ValueError
            If the value of none of them was timed.
        """
        from .plots import time_chart

        return time_chart(self, functions or self.settings.functions[:3])

    def grids(self) -> tuple[Grid, ...]:
        """Return a table for every setting."""
        from .text import grids

        return grids(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every row with all digits."""
        header = tuple(field.name for field in fields(BenchRow))
        return header, [tuple(map(_cell, (getattr(row, n) for n in header))) for row in self.rows]


def _cell(value: Cell | Iterable[str]) -> Cell:
    return "; ".join(value) if isinstance(value, tuple) else value  # type: ignore[return-value]


def related(rows: Iterable[BenchRow]) -> tuple[BenchRow, ...]:
    """Return the rows with ratios to copy, relu and softgate, and one copy for each setting."""
    unique = _one_copy(rows)
    times = {row.key: row.least_ns for row in unique if row.least_ns}

    def ratio(row: BenchRow, function: str, implementation: str) -> float | None:
        base = times.get((function, implementation, row.setting))
        return row.least_ns / base if row.least_ns and base else None

    return tuple(
        replace(
            row,
            ratio_to_copy=ratio(row, COPY, "numpy"),
            ratio_to_relu=ratio(row, RELU, row.implementation) or ratio(row, RELU, OURS),
            ratio_to_softgate=ratio(row, row.same_as or row.function, OURS),
        )
        for row in unique
    )


def _one_copy(rows: Iterable[BenchRow]) -> list[BenchRow]:
    """Return the rows with only the fastest copy of each setting."""
    least: dict[Setting, BenchRow] = {}
    others: list[BenchRow] = []
    for row in rows:
        if row.function != COPY:
            others.append(row)
        elif row.least_ns is not None:
            best = least.get(row.setting)
            if best is None or best.least_ns is None or row.least_ns < best.least_ns:
                least[row.setting] = row
    return others + list(least.values())


def apart(row: BenchRow, other: BenchRow, noise: float = 0.0) -> bool:
    """Return whether two times differ by more than their uncertainties, and than `noise`."""
    if row.least_ns is None or other.least_ns is None:
        return False
    uncertainty = (row.relative_uncertainty or 0.0) + (other.relative_uncertainty or 0.0)
    low, high = sorted((row.least_ns, other.least_ns))
    return high > low * (1 + max(uncertainty, noise))


def comparison_noise(rows: Iterable[BenchRow]) -> float:
    """Return the relative difference that two of these times may have by noise alone.

    The uncertainty of one time is the difference of two halves of its rounds, which may be small by
    chance. This is twice the uncertainty that nine of ten times do not exceed.
    """
    known = sorted(r.relative_uncertainty for r in rows if r.relative_uncertainty is not None)
    return 2 * known[min(len(known) - 1, int(0.9 * len(known)))] if known else 0.0


def warnings(
    rows: Sequence[BenchRow], background_load: float | None, threads: int
) -> tuple[str, ...]:
    """Return warnings on times that may not be reliable."""
    texts = []
    if background_load is not None and background_load > DISTURBED:
        effect = "times are noisy, and those of long calls, which are interrupted, are too high"
        if threads > 1:
            effect = "DO NOT TRUST times of several threads"
        texts.append(f"other processes used {background_load:.0%} of the cores: {effect}")
    timed = [row for row in rows if row.relative_uncertainty is not None]
    uncertain = [row for row in timed if (row.relative_uncertainty or 0.0) > UNCERTAIN]
    if uncertain:
        worst = max(uncertain, key=lambda row: row.relative_uncertainty or 0.0)
        texts.append(
            f"{len(uncertain)} of {len(timed)} times are uncertain by more than {UNCERTAIN:.0%} "
            f"(worst: {worst.function} in {worst.implementation}, "
            f"{worst.relative_uncertainty:.0%}): this machine is too noisy; run again, or with a "
            "larger budget"
        )
    return tuple(texts)
