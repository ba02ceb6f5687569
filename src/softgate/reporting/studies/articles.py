"""Two articles on GELU checked: every figure of their tables, and what they say in words.

A printed figure is right where it is the true one rounded to as many decimals. Of a sentence, the
report has a test, and says what was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softgate.runtime.activation import Activation
from softgate.runtime.names import names
from softgate.runtime.records import Cell, Grid, Record
from softgate.runtime.registry import activations
from softgate.studies.bench.flops import kernel_operations
from softgate.studies.properties import properties
from softgate.studies.table import table

from .approximation import Approximations
from .printed import POINTS, TABLES, Column

FIRST, SECOND = "first", "second"
DECIMALS = 4


@dataclass(frozen=True)
class Figure:
    """A printed figure, the true value, and that value with as many decimals."""

    printed: str
    value: float
    true: str
    right: bool


@dataclass(frozen=True)
class Checked:
    """A printed table: a row for each of the points."""

    title: str
    header: tuple[str, ...]
    points: tuple[float, ...]
    rows: tuple[tuple[Figure, ...], ...]


@dataclass(frozen=True)
class Statement:
    """A sentence of an article, whether it holds, and what was computed."""

    article: str
    says: str
    holds: bool
    computed: str


@dataclass(frozen=True)
class Articles(Record):
    """What two articles print and say, checked; `own` has the user's formulas at the points."""

    schema: ClassVar[str] = "softgate.report.articles"

    tables: tuple[Checked, ...]
    statements: tuple[Statement, ...]
    own: tuple[Grid, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures of all tables."""
        return tuple(figure for one in self.tables for row in one.rows for figure in row)

    def grids(self) -> tuple[Grid, ...]:
        """Return the figures that are wrong, and the statements."""
        wrong = tuple(
            (one.title, head, f"{x:g}", figure.printed, figure.true)
            for one in self.tables
            for x, row in zip(one.points, one.rows, strict=True)
            for head, figure in zip(one.header, row, strict=True)
            if not figure.right
        )
        said = tuple(
            (s.says, "holds" if s.holds else "does not", s.computed) for s in self.statements
        )
        return (
            Grid("Wrong figures", ("table", "column", "z", "printed", "true"), wrong, 2, text=True),
            Grid("Statements", ("says", "holds", "computed"), said, text=True),
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every figure."""
        rows: list[tuple[Cell, ...]] = [
            (one.title, head, x, figure.printed, figure.value, str(figure.right))
            for one in self.tables
            for x, row in zip(one.points, one.rows, strict=True)
            for head, figure in zip(one.header, row, strict=True)
        ]
        return ("table", "column", "z", "printed", "true", "right"), rows


def articles(approximations: Approximations, own: Iterable[Activation] = ()) -> Articles:
    """Check the articles; what they say of the tanh form is held against `approximations`."""
    shown = tuple(own)
    extra = table(shown, at=POINTS, digits=DECIMALS).tables if shown else ()
    return Articles(
        tables=tuple(_checked(title, columns) for title, columns in TABLES),
        statements=tuple(test(approximations) for test in TESTS),
        own=extra,
    )


def _checked(title: str, columns: tuple[Column, ...]) -> Checked:
    found = [_figures(column) for column in columns]
    return Checked(title, tuple(c.head for c in columns), POINTS, tuple(zip(*found, strict=True)))


def _figures(column: Column) -> list[Figure]:
    exact = table(column.function, at=POINTS, columns=column.quantity, digits=15)
    figures = []
    for row, printed in zip(exact.rows, column.printed, strict=True):
        value = float(row.value or 0.0)
        decimals = len(printed.partition(".")[2])
        true = f"{value:.{decimals}f}"
        figures.append(Figure(printed, value, true, float(true) == float(printed)))
    return figures


def _tanh_form(found: Approximations) -> Statement:
    form = next(one for one in found.functions if one.name == "gelu_tanh")
    return Statement(
        FIRST,
        "The approximate form matches to four decimal places across the entire range.",
        form.largest < 0.5e-4,
        f"The largest difference is {form.largest:.3e}, at x = ±{abs(form.largest_at):.3f}.",
    )


def _near_zero(found: Approximations) -> Statement:
    form = next(one for one in found.functions if one.name == "gelu_tanh")
    at = next(reading for reading in form.readings if reading.x == 0.1)
    return Statement(
        FIRST,
        "The approximate form introduces a small error near z = 0 on the order of 1e-4.",
        1e-5 < abs(at.difference) < 1e-3,
        f"At z = 0.1 it is {at.difference:.2e}; at 0 it is 0.",
    )


def _positive_slope(found: Approximations) -> Statement:
    (gelu,) = properties("gelu")
    least = gelu.smallest_slope
    where = "" if least is None else f", least {least.value:.4f} at x = {least.at[0].low:.4f}"
    return Statement(
        FIRST,
        "GELU′(z) > 0 for all z (no dead neurons).",
        not gelu.negative_slope_share,
        f"The slope is negative for {100 * (gelu.negative_slope_share or 0):.1f} % of inputs from "
        f"N(0,1){where}.",
    )


def _bounded_elu(found: Approximations) -> Statement:
    (elu,) = properties("elu")
    lowest = None if elu.minimum is None else elu.minimum.value
    return Statement(
        FIRST,
        "[Choose] unbounded negative output (ELU, useful for centering) or near-zero.",
        lowest is None,
        f"ELU is bounded below by {lowest:g}." if lowest is not None else "ELU has no lower bound.",
    )


def _defaults(found: Approximations) -> Statement:
    paths = {record.path: record.computes for record in names(name="gelu")}
    asked = ("torch.nn.functional.gelu", "tf.nn.gelu", "jax.nn.gelu", "keras.activations.gelu")
    said = [f"{path} computes {paths[path]}" for path in asked if path in paths]
    return Statement(
        "both",
        "PyTorch and TensorFlow compute the tanh form by default.",
        all(paths.get(path) == "gelu_tanh" for path in asked[:2]),
        f"{'; '.join(said)}.",
    )


def _operations(found: Approximations) -> Statement:
    known = activations()
    counts = {}
    for name in ("gelu", "gelu_tanh", "relu"):
        counted = kernel_operations(known[name].entry, "value", "float32", {})
        counts[name] = 0 if counted is None else counted.flops
    times = [counts[name] / max(counts["relu"], 1) for name in ("gelu", "gelu_tanh")]
    return Statement(
        FIRST,
        "GELU adds roughly 3–4× the FLOPs of a max(0, z) call.",
        all(3 <= ratio <= 4 for ratio in times),
        f"Our float32 kernels do {counts['gelu']} operations an element for GELU and "
        f"{counts['gelu_tanh']} for its tanh form, {counts['relu']} for ReLU; what that costs in "
        "time stands under Speed.",
    )


def _smoother(found: Approximations) -> Statement:
    gelu, tanh = properties("gelu", "tanh")
    bends = [abs(p.largest_curvature.value) if p.largest_curvature else 0.0 for p in (gelu, tanh)]
    return Statement(
        SECOND,
        "GELU produces a smoother output curve than tanh.",
        gelu.smoothness != tanh.smoothness and bends[0] < bends[1],
        f"GELU is {gelu.smoothness}, tanh is {tanh.smoothness}; the largest |curvature| is "
        f"{bends[0]:.4f} of GELU and {bends[1]:.4f} of tanh.",
    )


def _gradient(found: Approximations) -> Statement:
    known = activations()
    x = np.arange(-12.0, 12.0, 1e-3)
    gelu, sigmoid = (np.abs(known[name].slope(x)) for name in ("gelu", "sigmoid"))
    below = x[gelu < sigmoid]
    at = np.array([-3.0])
    ours, theirs = (float(known[name].slope(at)[0]) for name in ("gelu", "sigmoid"))
    return Statement(
        SECOND,
        "Unlike sigmoid's, GELU's gradient stays meaningful across a wider input range.",
        below.size == 0,
        f"So it is to the right. Below x = {below[below < 0].max():.2f} it is the smaller one: at "
        f"-3 it is {ours:.4f}, sigmoid's {theirs:.4f}.",
    )


TESTS: tuple[Callable[[Approximations], Statement], ...] = (
    _tanh_form,
    _near_zero,
    _positive_slope,
    _bounded_elu,
    _defaults,
    _operations,
    _smoother,
    _gradient,
)
"""What is checked of what the articles say, a function each."""
