"""Whether a CPU reproduces the published bits, as a frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record


@dataclass(frozen=True)
class DigestComparison:
    """A digest computed on this machine, and the published one, None if there is none."""

    function: str
    quantity: str
    dtype: str
    computed: str
    published: str | None
    framework: str = ""
    """The framework whose automatic derivative computed it; empty for NumPy arrays."""

    @property
    def ok(self) -> bool:
        """Whether the two are the same."""
        return self.computed == self.published

    def __str__(self) -> str:
        what = f"{self.function} {self.quantity} {self.dtype}"
        what += f" by {self.framework}" if self.framework else ""
        if self.published is None:
            return f"{what}: no digest is published"
        return f"{what}: computed {self.computed}, published {self.published}"


@dataclass(frozen=True)
class Reproduction(Record):
    """Whether a CPU reproduces the published bits, digest by digest."""

    schema: ClassVar[str] = "softgate.reproduction"

    cpu: str
    comparisons: tuple[DigestComparison, ...]

    @property
    def ok(self) -> bool:
        """Whether every digest is the published one."""
        return all(comparison.ok for comparison in self.comparisons)

    @property
    def differing(self) -> tuple[DigestComparison, ...]:
        """The digests that are not the published ones."""
        return tuple(comparison for comparison in self.comparisons if not comparison.ok)

    @property
    def unpublished(self) -> tuple[str, ...]:
        """The functions of which no digest is published."""
        published = {c.function for c in self.comparisons if c.published is not None}
        functions = dict.fromkeys(comparison.function for comparison in self.comparisons)
        return tuple(function for function in functions if function not in published)

    @property
    def checked(self) -> str:
        """The quantities and dtypes that were compared, one line for each set of quantities."""
        by_dtype: dict[tuple[str, str], list[str]] = {}
        for comparison in self._published:
            quantities = by_dtype.setdefault((comparison.framework, comparison.dtype), [])
            if comparison.quantity not in quantities:
                quantities.append(comparison.quantity)
        dtypes: dict[tuple[str, str], list[str]] = {}
        for (framework, dtype), quantities in by_dtype.items():
            dtypes.setdefault((framework, ", ".join(quantities)), []).append(dtype)
        return "\n".join(
            f"{', '.join(names)}: {listed}" + (f", by {framework}" if framework else "")
            for (framework, listed), names in dtypes.items()
        )

    @property
    def _published(self) -> tuple[DigestComparison, ...]:
        """The comparisons of functions that have published digests."""
        unpublished = self.unpublished
        return tuple(c for c in self.comparisons if c.function not in unpublished)

    def __str__(self) -> str:
        lines = []
        compared = self._published
        if compared:
            names = {plain_name(comparison.function) for comparison in compared}
            differing = [comparison for comparison in compared if not comparison.ok]
            wrong = {plain_name(comparison.function) for comparison in differing}
            lines = [
                f"this CPU ({self.cpu}) {'does not reproduce' if wrong else 'reproduces'} the "
                f"published bits: {len(names - wrong)} of {len(names)} functions",
                f"{len(compared)} digests checked:",
                *(f"  {line}" for line in self.checked.splitlines()),
                *map(str, differing),
            ]
        for function in self.unpublished:
            lines.append(
                f"no digests are published for {function!r}: softgate publishes those of its own "
                "functions, with the parameters in digests.toml"
            )
        return "\n".join(lines)

    def grids(self) -> tuple[Grid, ...]:
        """Return the digests that differ, or all digests if none does."""
        header, rows = self.table()
        shown = tuple(
            tuple(str(cell) for cell in row)
            for row, comparison in zip(rows, self.comparisons, strict=True)
            if self.ok or not comparison.ok
        )
        return (Grid(str(self).splitlines()[0], header, shown, labels=4, text=True),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each digest."""
        header = ("function", "quantity", "dtype", "framework", "computed", "published")
        return header, [
            (c.function, c.quantity, c.dtype, c.framework, c.computed, c.published)
            for c in self.comparisons
        ]


def plain_name(function: str) -> str:
    """Return the name of a function without its parameters."""
    return function.partition(":")[0]
