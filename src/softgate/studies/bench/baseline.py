"""Compares two benches of one machine by the ratios of their least times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record
from softgate.runtime.machine import Machine

from .. import counted
from .record import COPY, SETTING, Bench, BenchRow, related

SHOWN = ("function", "implementation", *SETTING)
"""The columns before the times."""


@dataclass(frozen=True)
class BaselineChange:
    """The old time and the new row of the same call."""

    old_ns: float
    now: BenchRow

    @property
    def ratio(self) -> float | None:
        """New time over old time, above 1 if slower; None if there is no new time."""
        return self.now.least_ns / self.old_ns if self.now.least_ns else None

    def __str__(self) -> str:
        row = self.now
        return (
            f"{row.function} in {row.implementation}, {row.quantity}, {row.dtype}, {row.count:,} "
            f"elements, {counted(row.threads, 'thread')}, {row.inputs}, {row.buffers}"
        )


@dataclass(frozen=True)
class BaselineComparison(Record):
    """The rows that two benches share, and where the new one is slower."""

    schema: ClassVar[str] = "softgate.bench.comparison"
    old_when: str
    new_when: str
    tolerance: float
    changes: tuple[BaselineChange, ...]
    remarks: tuple[str, ...] = ()

    @property
    def slower(self) -> tuple[BaselineChange, ...]:
        """Changes that are slower by more than the tolerance, the worst first."""
        limit = 1 + self.tolerance
        past = [change for change in self.changes if change.ratio and change.ratio > limit]
        return tuple(sorted(past, key=lambda change: -(change.ratio or 0.0)))

    @property
    def lost(self) -> tuple[BaselineChange, ...]:
        """Changes without a new time."""
        return tuple(change for change in self.changes if change.now.least_ns is None)

    @property
    def failures(self) -> tuple[str, ...]:
        """A line for each change that is slower by more than the tolerance or has no new time."""
        slower = [
            f"{change}: {change.ratio:.2f} times the old time ({change.old_ns:.3f} ns, now "
            f"{change.now.least_ns:.3f}); allowed {1 + self.tolerance:.2f}"
            for change in self.slower
        ]
        return (*slower, *(f"{change}: had a time, and has none now" for change in self.lost))

    def grids(self) -> tuple[Grid, ...]:
        """Return every change with its ratio, and the remarks."""
        header = (*SHOWN, "old ns", "new ns", "ratio", "")
        past = {id(change) for change in (*self.slower, *self.lost)}
        rows = tuple(
            (
                *(str(getattr(change.now, name)) for name in SHOWN),
                *(_number(value) for value in (change.old_ns, change.now.least_ns, change.ratio)),
                "SLOWER" if id(change) in past else "",
            )
            for change in self.changes
        )
        title = f"{self.old_when} and {self.new_when}: least ns per element, ratio new/old"
        table = Grid(title, header, rows, labels=2)
        if not self.remarks:
            return (table,)
        remarks = tuple((text,) for text in self.remarks)
        return (table, Grid("", ("remarks",), remarks, text=True))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every change with all digits."""
        header = (*SHOWN, "old_ns", "new_ns", "ratio")
        return header, [
            (
                *(getattr(change.now, name) for name in SHOWN),
                change.old_ns,
                change.now.least_ns,
                change.ratio,
            )
            for change in self.changes
        ]


def merged(first: Bench, again: Bench) -> Bench:
    """Return the first bench with those rows of the second that are faster."""
    second = {row.key: row for row in again.rows if row.least_ns is not None}

    def better(row: BenchRow) -> BenchRow:
        other = second.get(row.key)
        if other is None or other.least_ns is None:
            return row
        return other if row.least_ns is None or other.least_ns < row.least_ns else row

    return replace(first, rows=related(better(row) for row in first.rows))


def check_machine(here: Machine, there: Machine) -> None:
    """Raise ValueError if two machines differ: their times cannot be compared."""
    differences = here.differs(there)
    if differences:
        raise ValueError(
            "the old result is of another machine, whose times cannot be compared: "
            + "; ".join(differences)
        )


def compare(new: Bench, old: Bench, tolerance: float) -> BaselineComparison:
    """Return the ratios of the times of two benches.

    Raises ValueError if the machines differ or no row is shared. Rows that only one has and
    different versions are listed as remarks.
    """
    check_machine(new.machine, old.machine)
    now = {row.key: row for row in new.rows}
    then = {row.key: row.least_ns for row in old.rows if row.least_ns is not None}
    shared = [key for key in then if key in now]
    if not shared:
        raise ValueError(
            "the old result shares no row with the new one: leave out the names and options to "
            "time the same rows again"
        )
    changes = tuple(BaselineChange(then[key], now[key]) for key in shared)
    return BaselineComparison(
        old.when, new.when, tolerance, changes, _remarks(new, old, len(shared))
    )


def _remarks(new: Bench, old: Bench, shared: int) -> tuple[str, ...]:
    remarks = []
    names = dict.fromkeys((*old.machine.versions, *new.machine.versions))
    for name in names:
        then, now = old.machine.versions.get(name), new.machine.versions.get(name)
        if then != now:
            remarks.append(f"{name} was {then or 'not installed'}, and is {now or 'not installed'}")
    for which, bench in (("old", old), ("new", new)):
        timed = sum(row.least_ns is not None for row in bench.rows)
        if timed > shared:
            remarks.append(f"{timed - shared} times are in the {which} result only")
    copies = [
        (row.least_ns, other.least_ns)
        for row in new.rows
        for other in old.rows
        if row.function == COPY and row.key == other.key
    ]
    moved = [a / b for a, b in copies if a and b]
    if moved and max(moved) > 1.1:
        remarks.append(
            f"the copy alone takes up to {max(moved):.2f} times the old time: the machine is "
            "slower, or busy"
        )
    return tuple(remarks)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
