"""Whether a CPU reproduces the published bits, as a frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softgate.runtime.records import Cell, Grid, Record


@dataclass(frozen=True)
class Comparison:
    """A digest computed here beside the published one; `published` is None where there is none."""

    function: str
    quantity: str
    dtype: str
    computed: str
    published: str | None

    @property
    def ok(self) -> bool:
        """Whether the two are the same."""
        return self.computed == self.published

    def __str__(self) -> str:
        what = f"{self.function} {self.quantity} {self.dtype}"
        if self.published is None:
            return f"{what}: no digest is published"
        return f"{what}: computed {self.computed}, published {self.published}"


@dataclass(frozen=True)
class Reproduction(Record):
    """Whether a CPU reproduces the published bits, digest by digest."""

    schema: ClassVar[str] = "softgate.reproduction"

    cpu: str
    comparisons: tuple[Comparison, ...]

    @property
    def ok(self) -> bool:
        """Whether every digest is the published one."""
        return all(comparison.ok for comparison in self.comparisons)

    @property
    def differing(self) -> tuple[Comparison, ...]:
        """The digests that are not the published ones."""
        return tuple(comparison for comparison in self.comparisons if not comparison.ok)

    @property
    def checked(self) -> str:
        """The quantities and dtypes that were compared."""
        by_dtype: dict[str, list[str]] = {}
        for comparison in self.comparisons:
            quantities = by_dtype.setdefault(comparison.dtype, [])
            if comparison.quantity not in quantities:
                quantities.append(comparison.quantity)
        return "; ".join(f"{dtype}: {', '.join(names)}" for dtype, names in by_dtype.items())

    def __str__(self) -> str:
        names = {plain_name(comparison.function) for comparison in self.comparisons}
        wrong = {plain_name(comparison.function) for comparison in self.differing}
        verdict = "does not reproduce" if wrong else "reproduces"
        lines = [
            f"this CPU ({self.cpu}) {verdict} the published bits: "
            f"{len(names - wrong)} of {len(names)} functions",
            f"{len(self.comparisons)} digests checked ({self.checked})",
        ]
        return "\n".join([*lines, *map(str, self.differing)])

    def grids(self) -> tuple[Grid, ...]:
        """Return the digests that differ, or all of them where none does."""
        header, rows = self.table()
        shown = tuple(
            tuple(str(cell) for cell in row)
            for row, comparison in zip(rows, self.comparisons, strict=True)
            if self.ok or not comparison.ok
        )
        return (Grid(str(self).splitlines()[0], header, shown, labels=3, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each digest."""
        header = ("function", "quantity", "dtype", "computed", "published")
        return header, [
            (one.function, one.quantity, one.dtype, one.computed, one.published)
            for one in self.comparisons
        ]


def plain_name(function: str) -> str:
    """Return the name of a function without its parameters."""
    return function.partition(":")[0]
