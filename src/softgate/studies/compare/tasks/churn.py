"""Churn: a table of customers with blanks and categories, synthetic or a CSV file of the user's.

The synthetic table has 4,000 rows from Python's own generator, whose numbers are the same
everywhere. Its target depends on products and thresholds of columns, so that a linear model does
not predict all of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, ClassVar

from ..trial import Measure
from .table import DataTable, PreparedTable, prepare, read_table
from .task import ACCURACY, Option, Task, perceptron_options

if TYPE_CHECKING:
    from ..data import Data
    from ..training import Objective

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
        from ..data import classified

        return classified(self.prepared.x, self.prepared.y, len(self.table.classes))

    def objective(self) -> Objective:
        """Return cross entropy, and the area under the ROC curve or accuracy."""
        from ..training import BINARY, CLASSIFICATION

        return BINARY if len(self.table.classes) == 2 else CLASSIFICATION
