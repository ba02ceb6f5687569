"""Customers who leave: a table with blanks and categories, one embedded or the user's own CSV.

What fills blanks and codes categories is learnt from the rows to learn from alone, by scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..trainable import Measure
from .options import Option
from .table import Table, read_table
from .task import ACCURACY, Task, usual

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..data import Data
    from ..goals import Goal
    from .preparation import Prepared

AREA = Measure("test area under the ROC curve", higher=True)


@dataclass(frozen=True)
class Churn(Task):
    """A table with a column to foretell; a trial takes seconds."""

    name: ClassVar[str] = "churn"
    options: ClassVar[dict[str, Option]] = {
        **usual(layers=3, width=64, epochs=20),
        "target": Option(None, "the column that is foretold", str, several=False),
    }
    rates: ClassVar[tuple[float, ...]] = (1e-4, 3e-4, 1e-3)
    takes: ClassVar[tuple[str, ...]] = ("data",)

    @cached_property
    def table(self) -> Table:
        """The rows whose target is known."""
        if self.data is None:
            from .customers import customers

            found = customers()
        else:
            found = read_table(Path(self.data))
        target = self.settings["target"]
        return found.foretelling(None if target is None else str(target))

    @property
    def measure(self) -> Measure:
        """The area under the ROC curve of two classes, the accuracy of more."""
        return AREA if len(self.table.classes) == 2 else ACCURACY

    def check(self) -> None:
        """Raise where the table cannot be read, or its target not be foretold."""
        super().check()
        self.table.check()

    def sources(self) -> list[bytes]:
        """Return the table."""
        return [self.table.content]

    def describe(self) -> str:
        """Say in a line what is trained on what."""
        table = self.table
        which = "a synthetic table" if self.data is None else self.data
        return (
            f"{which}: {len(table.rows):,} rows, {len(table.header)} columns, target "
            f"{table.target!r} ({', '.join(table.classes)}): 60 % to learn from, 20 % to choose "
            f"by, 20 % to test, classes in equal shares; {self.architecture()}; {self.course()}"
        )

    @cached_property
    def prepared(self) -> Prepared:
        """The table as numbers."""
        from .preparation import prepare

        return prepare(self.table)

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        """Return what was done to blanks, categories and columns that say nothing."""
        return [*super().notes(names), *self.prepared.notes]

    def load(self) -> Data:
        """Return the table's rows as numbers in three parts."""
        from ..data import classified

        return classified(self.prepared.x, self.prepared.y, len(self.table.classes))

    def goal(self) -> Goal:
        """Return the loss and the score."""
        from ..goals import CLASSES, TWO_CLASSES

        return TWO_CLASSES if len(self.table.classes) == 2 else CLASSES
