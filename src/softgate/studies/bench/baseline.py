"""Two benches of one machine: what got slower, by ratios of least times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from softgate.runtime.machine import Machine
from softgate.runtime.records import Cell, Grid, Record

from .ratios import related
from .record import COPY, Bench, Row

SHOWN = (
    "function", "implementation", "quantity", "dtype", "count", "size", "threads", "inputs",
    "buffers",
)  # fmt: skip
"""What a figure is of: the columns before its times."""


@dataclass(frozen=True)
class Change:
    """One figure, then and now."""

    old_ns: float
    now: Row

    @property
    def ratio(self) -> float | None:
        """Now over then: above 1 is slower; None where there is no time now."""
        return self.now.least_ns / self.old_ns if self.now.least_ns else None

    def __str__(self) -> str:
        row = self.now
        threads = "1 thread" if row.threads == 1 else f"{row.threads} threads"
        return (
            f"{row.function} in {row.implementation}, {row.quantity}, {row.dtype}, "
            f"{row.count:,} elements, {threads}, {row.inputs}, {row.buffers}"
        )


@dataclass(frozen=True)
class Comparison(Record):
    """What an older bench and a new one have in common, and where the new one is slower."""

    schema: ClassVar[str] = "softgate.bench.comparison"
    old_when: str
    new_when: str
    tolerance: float
    changes: tuple[Change, ...]
    remarks: tuple[str, ...] = ()

    @property
    def slower(self) -> tuple[Change, ...]:
        """What got slower by more than the tolerance, the worst first."""
        past = [
            one for one in self.changes if one.ratio is not None and one.ratio > 1 + self.tolerance
        ]
        return tuple(sorted(past, key=lambda one: -(one.ratio or 0.0)))

    @property
    def lost(self) -> tuple[Change, ...]:
        """What had a time and has none now."""
        return tuple(one for one in self.changes if one.now.least_ns is None)

    @property
    def failures(self) -> tuple[str, ...]:
        """What got slower past the tolerance, or has no time any more; a line each."""
        slower = [
            f"{one}: {one.ratio:.2f} times as long as then ({one.old_ns:.3f} ns, now "
            f"{one.now.least_ns:.3f}); allowed {1 + self.tolerance:.2f}"
            for one in self.slower
        ]
        return (*slower, *(f"{one}: had a time then, and has none now" for one in self.lost))

    def grids(self) -> tuple[Grid, ...]:
        """Return every figure with its ratio, and the remarks."""
        header = (*SHOWN, "then ns", "now ns", "ratio", "")
        past = {id(one) for one in (*self.slower, *self.lost)}
        rows = tuple(
            (
                *(str(getattr(one.now, name)) for name in SHOWN),
                *(_number(value) for value in (one.old_ns, one.now.least_ns, one.ratio)),
                "SLOWER" if id(one) in past else "",
            )
            for one in self.changes
        )
        title = f"{self.old_when} and {self.new_when}: least ns per element, ratio now/then"
        shown = (Grid(title, header, rows, labels=2),)
        if not self.remarks:
            return shown
        remarks = tuple((text,) for text in self.remarks)
        return (*shown, Grid("", ("remarks",), remarks, text=True))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every figure with all digits."""
        header = (*SHOWN, "old_ns", "new_ns", "ratio")
        return header, [
            (
                *(getattr(one.now, name) for name in SHOWN),
                one.old_ns,
                one.now.least_ns,
                one.ratio,
            )
            for one in self.changes
        ]


def merged(one: Bench, again: Bench) -> Bench:
    """Return a bench with the least time of two runs of it, where the second timed a row too."""
    second = {row.key: row for row in again.rows if row.least_ns is not None}

    def better(row: Row) -> Row:
        other = second.get(row.key)
        if other is None or other.least_ns is None:
            return row
        return other if row.least_ns is None or other.least_ns < row.least_ns else row

    return replace(one, rows=related(better(row) for row in one.rows))


def check_machine(here: Machine, there: Machine) -> None:
    """Refuse to compare times of two machines."""
    apart = here.differs(there)
    if apart:
        raise ValueError(
            "the older result is of another machine, and times of two machines do not compare: "
            + "; ".join(apart)
        )


def compare(new: Bench, old: Bench, tolerance: float) -> Comparison:
    """Hold a bench against an older one; ValueError where times of the two do not compare.

    Another machine is refused. What only one of them timed is said, as are other versions.
    """
    check_machine(new.machine, old.machine)
    now = {row.key: row for row in new.rows}
    then = {row.key: row.least_ns for row in old.rows if row.least_ns is not None}
    shared = [key for key in then if key in now]
    if not shared:
        raise ValueError(
            "the older result has nothing in common with what was timed now: leave out the names "
            "and options, and what was timed then is timed again"
        )
    changes = tuple(Change(then[key], now[key]) for key in shared)
    return Comparison(old.when, new.when, tolerance, changes, _remarks(new, old, len(shared)))


def _remarks(new: Bench, old: Bench, shared: int) -> tuple[str, ...]:
    said = []
    names = dict.fromkeys((*old.machine.versions, *new.machine.versions))
    for name in names:
        then, now = old.machine.versions.get(name), new.machine.versions.get(name)
        if then != now:
            said.append(f"{name} was {then or 'not installed'}, and is {now or 'not installed'}")
    for which, bench in (("then", old), ("now", new)):
        timed = sum(row.least_ns is not None for row in bench.rows)
        if timed > shared:
            said.append(f"{timed - shared} figures were timed {which} only")
    copies = [
        (row.least_ns, other.least_ns)
        for row in new.rows
        for other in old.rows
        if row.function == COPY and row.key == other.key
    ]
    moved = [a / b for a, b in copies if a and b]
    if moved and max(moved) > 1.1:
        said.append(
            f"the copy alone takes up to {max(moved):.2f} times as long as then: the machine is "
            "slower, or busy"
        )
    return tuple(said)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
