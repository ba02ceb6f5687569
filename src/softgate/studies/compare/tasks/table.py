"""Tables of text, as in a CSV file, and their conversion to numbers.

Blanks are filled and categories encoded by scikit-learn, fitted to the training rows alone.
"""

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
from softgate.runtime.files import read_text

BLANK = {"", "na", "n/a", "nan", "null", "?"}
"""Cells without a value, in any case."""
MAX_CLASSES = 20
MIN_ROWS = 10
"""Minimum number of rows of a class, so that each part has some."""
SEPARATORS = ",;\t|"
MAX_CATEGORIES = 20
MOSTLY_DIFFERENT = 0.5
"""A text column with more distinct values, as a fraction of rows, identifies rows: left out."""
EMPTY = "(blank)"

Array = npt.NDArray[Any]


def is_blank(text: str) -> bool:
    """Return whether a cell has no value."""
    return text.casefold() in BLANK


@dataclass(frozen=True)
class DataTable:
    """Rows of cells, stripped of spaces; `target` is the column to predict.

    `unknown_targets` is the number of rows left out because their target is blank.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    target: str = ""
    unknown_targets: int = 0

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        i = self.header.index(name)
        return [row[i] for row in self.rows]

    def with_target(self, target: str | None) -> DataTable:
        """Return the table with a column to predict, without rows in which that is blank."""
        if numbers(list(self.header)) is not None:
            raise ValueError(
                f"the first line of the table is numbers ({', '.join(self.header[:5])}): "
                "expected a header, a name for each column"
            )
        if target is None:
            named = [name for name in self.header if name.casefold() == "churn"]
            if len(named) != 1:
                raise ValueError(
                    "no column to predict was named: give target=COLUMN (--set target=COLUMN), "
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
        """The values of the target, sorted."""
        return tuple(sorted(set(self.column(self.target))))

    @property
    def content(self) -> bytes:
        """The whole table as bytes."""
        return repr((self.header, self.rows, self.target)).encode()

    def check(self) -> None:
        """Raise ValueError unless the target has a few classes with enough rows each."""
        values = self.column(self.target)
        if not 2 <= len(self.classes) <= MAX_CLASSES:
            raise ValueError(
                f"column {self.target!r} has {len(self.classes)} different values: expected 2 to "
                f"{MAX_CLASSES} classes"
            )
        for name in self.classes:
            if (count := values.count(name)) < MIN_ROWS:
                raise ValueError(
                    f"column {self.target!r} is {name!r} in {count} rows: expected {MIN_ROWS} or "
                    "more, for training, validation and testing"
                )
        if len(self.header) < 2:
            raise ValueError(f"the table has no column beside {self.target!r} to predict it from")


def numbers(cells: list[str]) -> list[float] | None:
    """Return a column as numbers, NaN for blanks; None if it holds text or only blanks."""
    values = []
    for cell in cells:
        try:
            value = math.nan if is_blank(cell) else float(cell)
        except ValueError:
            return None
        if math.isinf(value):
            return None
        values.append(value)
    return None if all(map(math.isnan, values)) else values


def read_table(file: Path) -> DataTable:
    """Return the table in a CSV file with a header; the separator is found from the first line."""
    text = read_text(file, "utf-8-sig")
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    cells = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        lines = [(i, tuple(cell.strip() for cell in row)) for i, row in enumerate(cells, 1) if row]
    except csv.Error as error:
        raise ValueError(
            f"{file}, line {cells.line_num}: {error}; is a quote missing there?"
        ) from None
    if len(lines) < 2:
        raise ValueError(f"{file} has {len(lines)} lines: expected a header and rows")
    header = lines[0][1]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"{file} has two columns {twice!r}: expected different names")
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise ValueError(
                f"{file}, row {number}: {len(row)} cells, but the header has {len(header)}"
            )
    return DataTable(header, tuple(row for _, row in lines[1:]))


class PreparedTable(NamedTuple):
    """Inputs and classes of the three parts, and notes on the conversion."""

    x: list[Array]
    y: list[Array]
    notes: list[str]


class Columns(NamedTuple):
    """Numeric columns, text columns, and the names of those left out."""

    numbers: dict[str, list[float]]
    texts: dict[str, list[str]]
    left_out: list[str]


def prepare(table: DataTable) -> PreparedTable:
    """Return a table as numbers in three parts: 60, 20 and 20 % of each class."""
    from ..data import split

    codes = {name: i for i, name in enumerate(table.classes)}
    y = np.array([codes[cell] for cell in table.column(table.target)])
    rest, test = split(y, 0.2)
    train, validation = split(y[rest], 0.25)
    parts = (rest[train], rest[validation], test)
    columns = sort_columns(table, parts[0])
    if not columns.numbers and not columns.texts:
        raise ValueError(
            "no column can be used as input: each is blank, constant, or different in each row"
        )
    transformer = _transformer(len(columns.numbers), len(columns.texts))
    cells = np.column_stack(
        [np.array(values, object) for values in (columns.numbers | columns.texts).values()]
    )
    transformer.fit(cells[parts[0]])
    x = [transformer.transform(cells[part]).astype(np.float32) for part in parts]
    notes = _notes(table, columns, len(parts[0]), x[0].shape[1])
    return PreparedTable(x, [y[part] for part in parts], notes)


def sort_columns(table: DataTable, train: Array) -> Columns:
    """Return columns by kind, as determined by the training rows."""
    columns = Columns({}, {}, [])
    for name in table.header:
        if name == table.target:
            continue
        cells = table.column(name)
        known = [cells[i] for i in train if not is_blank(cells[i])]
        if len(set(known)) < 2:
            columns.left_out.append(f"{name} (one value, or none)")
        elif (values := numbers(cells)) is not None:
            columns.numbers[name] = values
        elif len(set(known)) > max(MAX_CATEGORIES, MOSTLY_DIFFERENT * len(known)):
            columns.left_out.append(f"{name} (identifies rows)")
        else:
            columns.texts[name] = [EMPTY if is_blank(cell) else cell for cell in cells]
    return columns


def _transformer(numeric: int, texts: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    filled = make_pipeline(
        FunctionTransformer(np.asarray, kw_args={"dtype": np.float64}),
        SimpleImputer(strategy="median", add_indicator=True),
        StandardScaler(),
    )
    # Rare categories, and those that do not occur in the training rows, share one column.
    encoded = OneHotEncoder(
        sparse_output=False, handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES
    )
    columns = list(range(numeric + texts))
    return ColumnTransformer(
        [("numbers", filled, columns[:numeric]), ("texts", encoded, columns[numeric:])]
    )


def _notes(table: DataTable, columns: Columns, train: int, inputs: int) -> list[str]:
    blanks = {name: int(np.isnan(values).sum()) for name, values in columns.numbers.items()}
    filled = [f"{name} ({count:,})" for name, count in blanks.items() if count]
    empty = [f"{n} ({c:,})" for n, v in columns.texts.items() if (c := v.count(EMPTY))]
    notes = []
    if table.unknown_targets:
        notes.append(f"{table.unknown_targets:,} rows have no {table.target} and were left out.")
    if filled:
        notes.append(
            f"Blank numbers (empty, NA, NaN, null, ?), in {', '.join(filled)}, became the median "
            "of the training rows, with a further column that marks them."
        )
    if empty:
        notes.append(f"Blank texts, in {', '.join(empty)}, are a category of their own.")
    if columns.texts:
        notes.append(
            f"Categories, in {', '.join(columns.texts)}, became a column each, {MAX_CATEGORIES} "
            "at most; those that do not occur in the training rows count as rare ones, or as none."
        )
    if columns.left_out:
        notes.append(f"Left out: {', '.join(columns.left_out)}.")
    notes.append(f"{inputs} inputs, standardised by the {train:,} training rows alone.")
    return notes
