"""A table of text, as a CSV file has it: columns of numbers and of words, and one to foretell."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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


MOST_CATEGORIES = 20
MOSTLY_DIFFERENT = 0.5
"""Words that are so often different, as a share of rows, are names of rows: nothing to learn."""
EMPTY = "(blank)"

Array = npt.NDArray[Any]
Three = tuple[Array, Array, Array]


class Prepared(NamedTuple):
    """Inputs and classes of the three parts, and what was done."""

    x: Three
    y: Three
    notes: list[str]


class Columns(NamedTuple):
    """Columns by what becomes of them; numbers and words by their place in two arrays."""

    numbers: dict[str, list[float]]
    words: dict[str, list[str]]
    left_out: list[str]


def prepare(table: Table) -> Prepared:
    """Return a table as numbers in three parts: 60, 20 and 20 % of each class."""
    from ..data import split

    codes = {name: i for i, name in enumerate(table.classes)}
    y = np.array([codes[cell] for cell in table.column(table.target)])
    rest, test = split(y, 0.2)
    train, validation = split(y[rest], 0.25)
    parts = (rest[train], rest[validation], test)
    columns = sort_columns(table, parts[0])
    if not columns.numbers and not columns.words:
        raise ValueError("no column says anything: each is blank, always the same or a row's name")
    transformer = _transformer(len(columns.numbers), len(columns.words))
    cells = np.column_stack(
        [np.array(values, object) for values in (columns.numbers | columns.words).values()]
    )
    first = transformer.fit_transform(cells[parts[0]])
    x = (first, *(transformer.transform(cells[part]) for part in parts[1:]))
    return Prepared(
        (x[0].astype(np.float32), x[1].astype(np.float32), x[2].astype(np.float32)),
        (y[parts[0]], y[parts[1]], y[parts[2]]),
        _notes(table, columns, parts[0], first.shape[1]),
    )


def sort_columns(table: Table, train: Array) -> Columns:
    """Sort columns into numbers, words and those left out; the rows to learn from decide."""
    found = Columns({}, {}, [])
    for name in table.header:
        if name == table.target:
            continue
        cells = table.column(name)
        seen = [cells[i] for i in train if not is_blank(cells[i])]
        if len(set(seen)) < 2:
            found.left_out.append(f"{name} (one value, or none)")
        elif (values := numbers(cells)) is not None:
            found.numbers[name] = values
        elif len(set(seen)) > max(MOST_CATEGORIES, MOSTLY_DIFFERENT * len(seen)):
            found.left_out.append(f"{name} (a name for each row)")
        else:
            found.words[name] = [EMPTY if is_blank(cell) else cell for cell in cells]
    return found


def _transformer(numeric: int, worded: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    filled = make_pipeline(
        FunctionTransformer(_as_floats),
        SimpleImputer(strategy="median", add_indicator=True),
        StandardScaler(),
    )
    # A category that is rare, or new in the rows to choose by or to test on, is "another".
    coded = OneHotEncoder(
        sparse_output=False, handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES
    )
    columns = list(range(numeric + worded))
    return ColumnTransformer(
        [("numbers", filled, columns[:numeric]), ("words", coded, columns[numeric:])]
    )


def _as_floats(cells: Array) -> Array:
    return cells.astype(np.float64)


def _notes(table: Table, columns: Columns, train: Array, inputs: int) -> list[str]:
    blanks = {name: int(np.isnan(values).sum()) for name, values in columns.numbers.items()}
    filled = [f"{name} ({count:,})" for name, count in blanks.items() if count]
    empty = [f"{n} ({c:,})" for n, v in columns.words.items() if (c := v.count(EMPTY))]
    notes = []
    if table.unknown_targets:
        notes.append(f"{table.unknown_targets:,} rows have no {table.target} and were left out.")
    if filled:
        notes.append(
            f"Blank numbers (empty, NA, NaN, null, ?), in {', '.join(filled)}, became the median "
            "of the rows to learn from, with a further column that says so."
        )
    if empty:
        notes.append(f"Blank words, in {', '.join(empty)}, are a category of their own.")
    if columns.words:
        notes.append(
            f"Categories, in {', '.join(columns.words)}, became a column each, {MOST_CATEGORIES} "
            "at most; those that the rows to learn from do not have count as rare ones, or as none."
        )
    if columns.left_out:
        notes.append(f"Left out: {', '.join(columns.left_out)}.")
    notes.append(
        f"{inputs} inputs, standardised, all by the {len(train):,} rows to learn from alone."
    )
    return notes
