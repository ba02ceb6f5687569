"""A table as numbers: blanks filled, categories coded, both as the rows to learn from have them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .table import Table, is_blank, numbers

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
