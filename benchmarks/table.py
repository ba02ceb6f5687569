"""The printed report: a table for each setting, footnotes, the bars missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median
from string import ascii_lowercase
from typing import Any

from bars import Verdict, backward_of_value, binds, judge
from cells import PEERS, Cell, Row
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 130
"""What the table needs. A narrower terminal wraps lines, which loses less than cutting cells."""

DISTURBED = 0.1
"""From this share of all cores on, what others took is worth a word."""

TIMES = ("ours", *PEERS, "copy")
RATIOS = ("x copy", "x torch", "x jax", "special", "x value")


class Footnotes:
    """Letters for remarks, in the order in which they are first made."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}

    def letter(self, remark: str) -> str:
        count = len(self.letters)
        first = ascii_lowercase[count // 26 - 1] if count >= 26 else ""
        return self.letters.setdefault(remark, first + ascii_lowercase[count % 26])


class Report:
    """Renders rows; computes nothing beyond ratios."""

    def __init__(self, rows: Sequence[Row], console: Console) -> None:
        self.rows, self.console = rows, console
        self.by_cell = {row.cell: row for row in rows}
        self.verdicts = {(v.cell, v.against): v for v in judge(rows)}
        self.footnotes = Footnotes()

    def print(self) -> None:
        settings = groupby(self.rows, key=lambda row: (row.cell.threads, row.cell.size))
        for (threads, size), rows in settings:
            self._print_table(threads, size, list(rows))
        for remark, letter in self.footnotes.letters.items():
            self.console.print(f"  {letter}  {remark}", highlight=False, markup=False)
        self._print_verdicts()

    def _print_table(self, threads: str, size: str, rows: list[Row]) -> None:
        where = f"{size} elements, {'1 thread' if threads == '1' else 'all threads'}"
        self._say(f"\nns per element, {where}{_disturbance(threads, rows)}", "italic")
        table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False)
        for name in ("", "", *TIMES, *RATIOS):
            table.add_column(name, justify="left" if not name else "right", no_wrap=True)
        for dtype, group in groupby(rows, key=lambda row: row.cell.dtype):
            table.add_section()
            table.add_row(Text(dtype, "bold"))
            for row in group:
                table.add_row(*self._cells(row))
        self.console.print(table)

    def _cells(self, row: Row) -> Iterable[Text | str]:
        cell = row.cell
        yield f"{cell.activation}" if cell.quantity == "value" else ""
        yield cell.quantity
        for name in TIMES:
            yield self._time(row, name)
        yield _number(row.ratio("ours", "copy"))
        yield self._ratio(cell, "torch", row.ratio("ours", "torch"))
        yield self._ratio(cell, "jax", row.ratio("ours", "jax"))
        yield self._ratio(cell, "randn", row.ratio("ours special", "ours"))
        backward = cell.quantity == "backward"
        yield self._ratio(cell, "value", backward_of_value(row, self.by_cell) if backward else None)

    def _time(self, row: Row, name: str) -> Text:
        if name in row.errors:
            return Text(f"– {self.footnotes.letter(row.errors[name])}", "dim")
        text = Text(_number(row.ns(name), 3), "bold" if name == "ours" else "")
        if name in row.notes:
            text.append(f" {self.footnotes.letter(row.notes[name])}", "dim")
        return text

    def _ratio(self, cell: Cell, against: str, measured: float | None) -> Text:
        verdict = self.verdicts.get((cell, against))
        if verdict is None:
            return Text(_number(measured))
        mark, style = ("✓", "green") if verdict.holds else ("✗", "bold red")
        return Text(f"{_number(measured)} ≤ {_number(verdict.limit)} {mark}", style)

    def _print_verdicts(self) -> None:
        verdicts = list(self.verdicts.values())
        failed = [row for row in self.rows if "ours" in row.errors]
        for error, rows in _by_error(failed).items():
            names = ", ".join(dict.fromkeys(row.cell.activation for row in rows))
            self._say(f"✗ no time of ours in {len(rows)} cells of {names}: {error}", "bold red")
        if not verdicts and not failed:
            self._say("No bar binds here: they do at 1M elements, 1 thread.")
            return
        missed = missed_bars(verdicts)
        self._say(f"Bars: {len(verdicts) - len(missed)} of {len(verdicts)} hold.")
        for verdict in missed:
            self._say(f"  ✗ {verdict}", "red")

    def _say(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style))


def _by_error(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.errors["ours"], []).append(row)
    return found


def _disturbance(threads: str, rows: Sequence[Row]) -> str:
    """Say what others did to the figures, where they did."""
    shares = [row.others_share for row in rows if row.others_share is not None]
    taken = median(shares) if shares else 0.0
    if taken < DISTURBED:
        return ""
    effect = "figures are noisy" if threads == "1" else "DO NOT BELIEVE these figures"
    return f" (others took {taken:.0%} of the cores meanwhile: {effect})"


def missed_bars(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the bars that do not hold, the furthest off first."""
    missed = [verdict for verdict in verdicts if not verdict.holds]
    return sorted(missed, key=lambda verdict: verdict.limit / verdict.measured)


def failed(rows: Sequence[Row]) -> bool:
    """Tell whether a bar is missed, or a cell in which one would bind gave no time of ours."""
    return bool(missed_bars(judge(rows))) or any(
        binds(row.cell) and "ours" in row.errors for row in rows
    )


def console(**options: Any) -> Console:
    """Return a console that is wide enough for the table."""
    return Console(width=max(WIDTH, Console(**options).width), **options)


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}".removeprefix("0")
