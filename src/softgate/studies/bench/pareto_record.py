"""The record of error against time: every installed implementation of one function as a point.

A point is on the Pareto front if no other is both at least as accurate and at least as fast, and
better in one of the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

from softgate.records.files import PICTURES, TABLES
from softgate.records.record import Cell, Grid, Record
from softgate.runtime.machine import Machine

from .. import counted

if TYPE_CHECKING:
    from softgate.plotting.vega import Chart

NOTHING = "–"


@dataclass(frozen=True)
class ParetoPoint:
    """One implementation: its largest error, its time, and the bytes it saves for backward."""

    implementation: str
    title: str
    max_ulp: float
    """Over all finite inputs of the certificate; infinite for a wrong NaN or inf."""
    normal_ulp: float
    """The same without subnormal inputs and results, which some implementations flush to 0."""
    worst_x: float
    """The input of the largest error."""
    inputs: int
    least_ns: float
    median_ns: float
    relative_uncertainty: float | None
    saved_bytes: float | None = None
    """Per element; None if it cannot be measured or there is no gradient."""
    on_front: bool = False

    def beaten_by(self, other: ParetoPoint) -> bool:
        """Return whether another point is at least as good in both and better in one."""
        mine, theirs = (self.max_ulp, self.least_ns), (other.max_ulp, other.least_ns)
        return theirs != mine and theirs[0] <= mine[0] and theirs[1] <= mine[1]


def marked(points: Sequence[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """Return the points, the fastest first, with `on_front` set."""
    return tuple(
        replace(point, on_front=not any(map(point.beaten_by, points)))
        for point in sorted(points, key=lambda point: (point.least_ns, point.max_ulp))
    )


@dataclass(frozen=True)
class Pareto(Record):
    """Error and time of one function's value in every implementation, on one machine."""

    schema: ClassVar[str] = "softgate.pareto"
    formats: ClassVar[tuple[str, ...]] = (*TABLES, *PICTURES)
    machine: Machine
    function: str
    dtype: str
    count: int
    size: str
    """Where the arrays fit: a cache such as "L2", or "DRAM"."""
    threads: int
    samples: int | None
    """Requested inputs of each certificate; None for certify's default."""
    seed: int
    when: str
    seconds: float
    points: tuple[ParetoPoint, ...]
    background_load: float | None = None
    warnings: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ParetoPoint]:
        return iter(self.points)

    @property
    def front(self) -> tuple[ParetoPoint, ...]:
        """The points on the Pareto front, the fastest first."""
        return tuple(point for point in self.points if point.on_front)

    @property
    def title(self) -> str:
        """The title of a chart."""
        return f"{self.function}, {self.dtype}: error against time"

    @property
    def setting(self) -> str:
        """Elements and threads, as text."""
        return f"{self.count:,} elements ({self.size}), {counted(self.threads, 'thread')}"

    def alternative(self) -> str:
        """Return the chart's alternative text."""
        points = "; ".join(
            f"{point.implementation} {point.least_ns:.2f} ns and {ulps(point.max_ulp)} ulp"
            for point in self.points
        )
        best = ", ".join(point.implementation for point in self.front)
        return (
            f"{self.title}, {self.setting}. Time per element and largest error: {points}. "
            f"On the Pareto front: {best}."
        )

    def figure(self) -> Chart:
        """Return the chart of error against time; raise ValueError if nothing was measured."""
        from .plots import pareto_chart

        return pareto_chart(self)

    def grids(self) -> tuple[Grid, ...]:
        """Return the points as a table, with warnings and what was not run."""
        from .layer_record import in_words, origin

        rows = tuple(
            (
                point.implementation,
                point.title,
                f"{point.least_ns:.3f}",
                f"{point.median_ns:.3f}",
                ulps(point.max_ulp),
                ulps(point.normal_ulp),
                f"{point.worst_x:.6g}",
                NOTHING if point.saved_bytes is None else f"{point.saved_bytes:g}",
                "front" if point.on_front else "",
            )
            for point in self.points
        )
        header = (
            "implementation", "function", "ns", "median", "max ulp",
            "without\nsubnormals", "worst at x", "bytes saved\nper element", "Pareto",
        )  # fmt: skip
        inputs = "certify's number of" if self.samples is None else f"{self.samples:,}"
        method = (
            f"least time of many interleaved turns; largest error at {inputs} inputs or more; seed "
            f"{self.seed}, {self.when}"
        )
        table = Grid(f"{self.title}, {self.setting}", header, rows, 2)
        texts = {"Warnings": self.warnings, "Not run": self.not_run}
        sentences = (in_words(title, lines) for title, lines in texts.items() if lines)
        return (origin(self.machine, method), table, *sentences)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every point with all digits."""
        header = tuple(field.name for field in fields(ParetoPoint))
        return header, [tuple(getattr(point, name) for name in header) for point in self.points]


def ulps(error: float) -> str:
    """Return an error as text.

    Examples
    --------
    >>> ulps(2.771), ulps(16777216.0), ulps(float("inf"))
    ('2.77', '1.7e+07', 'NaN or inf')
    """
    if not math.isfinite(error):
        return "NaN or inf"
    return f"{error:.2f}" if error < 100 else f"{error:.2g}"
