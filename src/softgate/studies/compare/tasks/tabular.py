"""Tables: text of a CSV file, its conversion to numbers, and the task churn.

Blanks are filled and categories encoded by scikit-learn, fitted to the training rows alone.

The synthetic table of churn has 4,000 rows from Python's own generator, whose numbers are the same
everywhere. Its target depends on products and thresholds of columns, so that a linear model does
not predict all of it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from softgate.frameworks.block_arguments import unknown
from softgate.records.files import read_text

from ..trial import Measure
from .task import ACCURACY, Option, Task, perceptron_options

if TYPE_CHECKING:
    from ..splits import Data
    from ..training import Objective

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
    from ..splits import split

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


ROWS = 4000
HEADER = (
    "customer", "tenure_months", "monthly_charge", "total_charge", "contract", "internet",
    "payment", "support_calls", "age", "region", "churn",
)  # fmt: skip
CONTRACTS = {"monthly": 0.55, "one year": 0.25, "two years": 0.20}
INTERNET = {"fibre": 0.45, "dsl": 0.35, "no line": 0.20}
PAYMENTS = {"card": 0.3, "transfer": 0.3, "electronic cheque": 0.3, "cheque": 0.1}
REGIONS = {f"region {letter}": 1 / (i + 1) for i, letter in enumerate("ABCDEFGHIJKL")}
PRICES = {"fibre": 80.0, "dsl": 52.0, "no line": 22.0}


@cache
def customers() -> DataTable:
    """Return the synthetic table.

    Examples
    --------
    >>> table = customers()
    >>> len(table.rows), table.header[:2]
    (4000, ('customer', 'tenure_months'))
    """
    random = Random(20160627)
    return DataTable(HEADER, tuple(_customer(random, i) for i in range(ROWS)))


def _customer(random: Random, number: int) -> tuple[str, ...]:
    contract, internet, payment, region = (
        random.choices(list(shares), list(shares.values()))[0]
        for shares in (CONTRACTS, INTERNET, PAYMENTS, REGIONS)
    )
    tenure = int(72 * random.random() ** (2.0 if contract == "monthly" else 0.8))
    charge = max(15.0, PRICES[internet] + 10 * random.gauss(0, 1))
    calls = min(9, int(random.expovariate(0.7)))
    age = 18 + int(62 * random.random())
    score = (
        {"monthly": 0.4, "one year": -1.2, "two years": -2.4}[contract]
        + (1.1 if internet == "fibre" and charge > 80 else 0.0)
        + (0.6 * calls if contract == "monthly" else 0.15 * calls)
        - 1.8 * math.tanh(tenure / 18)
        + (0.7 if payment == "electronic cheque" else 0.0)
        + 0.9 * math.cos(age / 9)
        + (0.8 if region in ("region C", "region F") and tenure < 12 else 0.0)
        - 0.4
    )
    churns = random.random() < 1 / (1 + math.exp(-1.6 * score))
    total = "" if tenure == 0 else f"{charge * tenure * (1 + 0.05 * random.gauss(0, 1)):.2f}"
    return (
        f"C{number:05d}",
        str(tenure),
        f"{charge:.2f}",
        total,
        contract,
        "" if random.random() < 0.04 else internet,
        payment,
        "" if random.random() < 0.06 else str(calls),
        "NA" if random.random() < 0.08 else str(age),
        region,
        "yes" if churns else "no",
    )


AREA = Measure("test area under the ROC curve", higher=True)


class Churn(Task):
    """A table with a column to predict; a trial takes seconds."""

    name: ClassVar[str] = "churn"
    options: ClassVar[dict[str, Option]] = {
        **perceptron_options(layers=3, width=64, epochs=20),
        "target": Option(None, "the column to predict", str, listable=False),
    }
    rates: ClassVar[tuple[float, ...]] = (1e-4, 3e-4, 1e-3)
    takes: ClassVar[tuple[str, ...]] = ("data",)

    @cached_property
    def table(self) -> DataTable:
        """The table without the rows that lack a target."""
        table = customers() if self.data is None else read_table(Path(self.data))
        target = self.settings["target"]
        return table.with_target(None if target is None else str(target))

    @property
    def measure(self) -> Measure:
        """Area under the ROC curve for two classes, accuracy for more."""
        return AREA if len(self.table.classes) == 2 else ACCURACY

    def check(self) -> None:
        """Raise an error also if the table cannot be read or has no usable target."""
        super().check()
        self.table.check()

    def content(self) -> list[bytes]:
        """Return the table."""
        return [self.table.content]

    def describe(self) -> str:
        """Return one line on data, model and training."""
        table = self.table
        source = "a synthetic table" if self.data is None else self.data
        return (
            f"{source}: {len(table.rows):,} rows, {len(table.header)} columns, target "
            f"{table.target!r} ({', '.join(table.classes)}): 60 % for training, 20 % for "
            f"validation, 20 % for testing, stratified by class; {self.describe_model()}; "
            f"{self.describe_training()}"
        )

    @cached_property
    def prepared(self) -> PreparedTable:
        """The table as numbers."""
        return prepare(self.table)

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return also notes on blanks, categories and columns left out."""
        return [*super().notes(names), *self.prepared.notes]

    def load(self) -> Data:
        """Return the table's rows as numbers in three parts."""
        from ..splits import classified

        return classified(self.prepared.x, self.prepared.y, len(self.table.classes))

    def objective(self) -> Objective:
        """Return cross entropy, and the area under the ROC curve or accuracy."""
        from ..training import BINARY, CLASSIFICATION

        return BINARY if len(self.table.classes) == 2 else CLASSIFICATION
