"""A bench as text: a table for every setting with the limits at its end, and notes.

A few functions have a row for each implementation. Many have one row each, and a column for each
implementation. `~` marks a ratio whose two times differ by less than the machine's noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from textwrap import fill

from softgate.records.record import Grid

from .. import counted
from .plan import FEW
from .record import COPY, OURS, RELU, Bench, BenchRow, Setting, apart

NONE = "–"
WIDTH = 69
"""Columns of a sentence, so that a line fits into 80."""


class Footnotes:
    """Letters for notes, in the order of their first use."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}

    def mark(self, notes: Iterable[str]) -> str:
        """Return the letters of some notes."""
        return "".join(self._letter(note) for note in notes)

    def _letter(self, note: str) -> str:
        count = len(self.letters)
        first = ascii_lowercase[count // 26 - 1] if count >= 26 else ""
        return self.letters.setdefault(note, first + ascii_lowercase[count % 26])


def grids(record: Bench) -> tuple[Grid, ...]:
    """Return the machine, a table for every setting, and the notes."""
    notes = Footnotes()
    tables = []
    for setting in record.settings_timed():
        rows = [row for row in record.rows if row.setting == setting]
        functions = dict.fromkeys(row.function for row in rows if row.function != COPY)
        many = len([name for name in functions if name in record.settings.functions]) > FEW
        make = _matrix if many else _full
        tables.append(make(setting, rows, list(functions), notes))
    return (head(record), *tables, *foot(record, notes))


def head(record: Bench) -> Grid:
    """Return the machine, the versions and the method."""
    versions = ", ".join(f"{name} {version}" for name, version in record.machine.versions.items())
    threads = ", ".join(map(str, record.settings.threads))
    rows = (
        ("versions", versions),
        ("threads", threads),
        ("method", "least time of many interleaved turns, ns per element; the median and by how "
                   "much it is larger; 1st: the first call alone, compiling included; seed "
                   f"{record.settings.seed}, {record.seconds:.0f} s, {record.when}"),
    )  # fmt: skip
    return _text((("machine", str(record.machine)), *rows))


def foot(record: Bench, notes: Footnotes) -> tuple[Grid, ...]:
    """Return warnings, notes, remarks and what was not run."""
    rows = [("WARNING", text) for text in record.warnings]
    rows += [(letter, note) for note, letter in notes.letters.items()]
    rows += [("remark", text) for text in record.remarks]
    rows += [("not run", text) for text in record.not_run]
    rows += [
        ("x copy", "as a multiple of a copy of the same bytes; x softgate: of softgate's time"),
        (
            "x relu",
            "as a multiple of the same implementation's relu; of softgate's if it has none",
        ),
        ("~", "the two times differ by less than the machine's noise"),
    ]
    return (_text((("note", "meaning"), *rows)),)


def _text(rows: Sequence[tuple[str, str]]) -> Grid:
    """Return a table of names and wrapped sentences."""
    header, *lines = ((name, fill(text, WIDTH)) for name, text in rows)
    return Grid("", header, tuple(lines), text=True)


def title(setting: Setting) -> str:
    """Return a setting as text."""
    quantity, dtype, count, size, threads, inputs, buffers = setting
    where = f"{count:,} elements ({size})"
    cores = counted(threads, "thread")
    return f"{quantity}, {dtype}, {where}, {cores}, {inputs}, output {buffers}: ns per element"


FULL = ("function", "in", "ns", "median", "x copy", "x relu", "x softgate", "1st ms", "")


def _full(
    setting: Setting, rows: Sequence[BenchRow], functions: Sequence[str], notes: Footnotes
) -> Grid:
    by_name = {(row.function, row.implementation): row for row in rows}
    lines = []
    for function in sorted(functions, key=lambda name: name == RELU):
        timed = sorted((row for row in rows if row.function == function), key=_rank)
        ours = by_name.get((timed[0].same_as or function, OURS))
        for index, row in enumerate(timed):
            name = function if not index else ""
            lines.append((name, *_line(row, ours, notes)))
    copies = [row for row in rows if row.function == COPY]
    lines += [(COPY, *_line(row, None, notes)) for row in copies]
    return Grid(title(setting), FULL, tuple(lines), labels=2)


def _rank(row: BenchRow) -> float:
    return float("inf") if row.least_ns is None else row.least_ns


def _line(row: BenchRow, ours: BenchRow | None, notes: Footnotes) -> tuple[str, ...]:
    if row.error:
        return (row.implementation, NONE, *[""] * (len(FULL) - 4), notes.mark([row.error]))
    return (
        row.implementation,
        _ns(row.least_ns),
        _ns(row.median_ns) + ("" if row.spread is None else f" +{row.spread:.0%}"),
        _times(row.ratio_to_copy),
        _times(row.ratio_to_relu),
        _relative(row, ours),
        "" if row.first_call_ms is None else f"{row.first_call_ms:.1f}",
        notes.mark(row.notes),
    )


def _relative(row: BenchRow, ours: BenchRow | None) -> str:
    """Return a time as a multiple of softgate's, with ~ if the difference is within the noise."""
    if ours is None or row.ratio_to_softgate is None:
        return ""
    same = row is ours or apart(row, ours)
    return _times(row.ratio_to_softgate) if same else f"~{_times(row.ratio_to_softgate)}"


def _matrix(
    setting: Setting, rows: Sequence[BenchRow], functions: Sequence[str], notes: Footnotes
) -> Grid:
    by_name = {(row.function, row.implementation): row for row in rows}
    columns = list(dict.fromkeys(row.implementation for row in rows if row.function != COPY))
    columns.sort(key=_order)
    lines = []
    for function in functions:
        timed = [by_name.get((function, column)) for column in columns]
        ours = by_name.get((function, OURS))
        cells = [_cell(row, notes) for row in timed]
        lines.append((function, *cells, *_multiples(ours), _against(ours, timed)))
    for row in (row for row in rows if row.function == COPY):
        blank = [""] * (len(columns) - 1)
        lines.append((COPY, _ns(row.least_ns), *blank, *_multiples(row), ""))
    header = ("function", *columns, "x copy", "x relu", "x fastest other")
    return Grid(title(setting), header, tuple(lines))


def _order(column: str) -> int:
    from ..subjects.peers import IMPLEMENTATIONS

    order = list(IMPLEMENTATIONS)
    return order.index(column) if column in order else len(order)


def _cell(row: BenchRow | None, notes: Footnotes) -> str:
    if row is None:
        return ""
    if row.error:
        return f"{NONE} {notes.mark([row.error])}"
    mark = notes.mark(row.notes)
    return f"{_ns(row.least_ns)} {mark}" if mark else _ns(row.least_ns)


def _multiples(row: BenchRow | None) -> tuple[str, str]:
    return ("", "") if row is None else (_times(row.ratio_to_copy), _times(row.ratio_to_relu))


def _against(ours: BenchRow | None, timed: Sequence[BenchRow | None]) -> str:
    """Return softgate's time as a multiple of the fastest other one, and the name of that."""
    others = [row for row in timed if row is not None and row is not ours and row.least_ns]
    if ours is None or not ours.least_ns or not others:
        return ""
    fastest = min(others, key=_rank)
    near = "" if apart(ours, fastest) else "~"
    return f"{near}{_times(ours.least_ns / _rank(fastest))} {fastest.implementation}"


def _ns(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"
