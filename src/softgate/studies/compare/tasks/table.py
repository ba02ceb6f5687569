"""A table of text, as a CSV file has it: columns of numbers and of words, and one to foretell."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from softgate.frameworks.block_arguments import unknown

BLANK = {"", "na", "n/a", "nan", "null", "?"}
"""What stands for nothing, in any case of letters."""
MOST_CLASSES = 20
FEWEST = 10
"""Rows of a class at least, so that each of three parts has some."""
SEPARATORS = ",;\t|"


def is_blank(text: str) -> bool:
    """Tell whether a cell holds nothing."""
    return text.casefold() in BLANK


@dataclass(frozen=True)
class Table:
    """Rows of cells without spaces around them; `target` is the column to foretell."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    target: str = ""
    unknown_targets: int = 0
    """Rows left out as their target is blank."""

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        i = self.header.index(name)
        return [row[i] for row in self.rows]

    def foretelling(self, target: str | None) -> Table:
        """Return the table with a column to foretell, without rows in which that is blank."""
        if numbers(list(self.header)) is not None:
            raise ValueError(
                f"the first line of the table is numbers ({', '.join(self.header[:5])}): "
                "expected a header, a name for each column"
            )
        if target is None:
            named = [name for name in self.header if name.casefold() == "churn"]
            if len(named) != 1:
                raise ValueError(
                    "no column to foretell was named: give target=COLUMN (--set target=COLUMN), "
                    f"one of {', '.join(self.header)}"
                )
            target = named[0]
        if target not in self.header:
            raise unknown("column", target, self.header)
        i = self.header.index(target)
        rows = tuple(row for row in self.rows if not is_blank(row[i]))
        return replace(self, rows=rows, target=target, unknown_targets=len(self.rows) - len(rows))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """What the target can be, in the order of the alphabet."""
        return tuple(sorted(set(self.column(self.target))))

    @property
    def content(self) -> bytes:
        """All of it, as bytes."""
        return repr((self.header, self.rows, self.target)).encode()

    def check(self) -> None:
        """Raise where the target is no small number of classes, each with some rows."""
        values = self.column(self.target)
        if not 2 <= len(self.classes) <= MOST_CLASSES:
            raise ValueError(
                f"column {self.target!r} has {len(self.classes)} different values: expected 2 to "
                f"{MOST_CLASSES} classes to tell apart"
            )
        for name in self.classes:
            if (count := values.count(name)) < FEWEST:
                raise ValueError(
                    f"column {self.target!r} is {name!r} in {count} rows: expected {FEWEST} or "
                    "more, to have some to learn from, to choose by and to test on"
                )
        if len(self.header) < 2:
            raise ValueError(f"the table has no column beside {self.target!r} to foretell it from")


def numbers(cells: list[str]) -> list[float] | None:
    """Return a column as numbers, NaN where it is blank; None where it holds words."""
    found = []
    for cell in cells:
        try:
            value = math.nan if is_blank(cell) else float(cell)
        except ValueError:
            return None
        if math.isinf(value):
            return None
        found.append(value)
    return None if all(map(math.isnan, found)) else found


def read_table(file: Path) -> Table:
    """Return the table in a CSV file: a header, then rows, separated as its first line is."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no text in UTF-8: {error.reason}") from None
    first = text.partition("\n")[0]
    separator = max(SEPARATORS, key=first.count)
    lines = [
        (number, tuple(cell.strip() for cell in row))
        for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator), 1)
        if row
    ]
    if len(lines) < 2:
        raise ValueError(f"{file} has {len(lines)} lines: expected a header and rows")
    header = lines[0][1]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"{file} has two columns {twice!r}: expected names that differ")
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise ValueError(
                f"{file}, row {number}: {len(row)} cells, and the header has {len(header)}"
            )
    return Table(header, tuple(row for _, row in lines[1:]))
