"""Tables: two articles on GELU, checked, and the properties of every activation.

The first, "GELU Activation Function", has three tables and the output of a program, all at the same
six points. A printed figure is right if it is the true one rounded to as many decimals. The second,
"GELU Activation Function: Formula, Intuition, and Use in Deep Learning", compares five activations;
its summary is a picture, so its sentences are checked. Each sentence has a test that computes what
is shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from softgate.records.record import Cell, Grid, Record
from softgate.runtime.activation import Activation
from softgate.runtime.lookup import records_of
from softgate.runtime.registry import activations
from softgate.studies.bench.flops import kernel_operations
from softgate.studies.properties import PropertyTable, properties
from softgate.studies.properties.record import Properties, lines
from softgate.studies.table import table as value_table

from ..elements import Markup, MissingRecord, Results, Section, minus, of_grid, shown, swatch, table
from .approximation import Approximations

TITLE = "Tables"
POINTS = (-3.0, -1.0, 0.0, 0.5, 1.0, 3.0)
SUMMED_UP = ("sigmoid", "tanh", "relu", "leaky_relu", "gelu")
"""The activations that the second article compares."""


@dataclass(frozen=True)
class Column:
    """A printed column: its head, the function and quantity, and the figures at `POINTS`."""

    head: str
    function: str
    quantity: str
    printed: tuple[str, ...]


PHI = Column("Φ(z)", "Phi", "value", ("0.0013", "0.1587", "0.5000", "0.6915", "0.8413", "0.9987"))
GELU = Column(
    "GELU", "gelu", "value", ("-0.0040", "-0.1587", "0.0000", "0.3457", "0.8413", "2.9960")
)
TANH = Column(
    "tanh form", "gelu_tanh", "value",
    ("-0.0040", "-0.1588", "0.0000", "0.3457", "0.8412", "2.9960"),
)  # fmt: skip
SLOPE = Column(
    "GELU′", "gelu", "slope", ("0.0040", "0.0833", "0.5000", "0.8832", "1.0833", "1.0040")
)
ELU = Column(
    "ELU (α = 1)", "elu", "value", ("-0.9502", "-0.6321", "0.0000", "0.5000", "1.0000", "3.0000")
)
RELU = Column("ReLU", "relu", "value", ("0", "0", "0", "0.5", "1", "3"))
RELU_SLOPE = Column("ReLU′", "relu", "slope", ("0", "0", "0", "1", "1", "1"))
PROGRAM = {"GELU_exact": GELU, "GELU_approx": TANH, "GELU_grad": SLOPE}

TABLES: tuple[tuple[str, tuple[Column, ...]], ...] = (
    ("The gate, GELU and its tanh form", (PHI, GELU, TANH)),
    ("GELU and ReLU with their slopes", (GELU, TANH, SLOPE, RELU, RELU_SLOPE)),
    ("ReLU, ELU and GELU", (RELU, ELU, GELU)),
    (
        "Output of the program, as printed",
        tuple(replace(column, head=head) for head, column in PROGRAM.items()),
    ),
)
"""The titles and columns of the first article's tables."""


FIRST, SECOND = "first", "second"
DECIMALS = 4


@dataclass(frozen=True)
class Figure:
    """A printed figure, the true value, and that value rounded to as many decimals."""

    printed: str
    value: float
    true: str
    right: bool


@dataclass(frozen=True)
class CheckedTable:
    """A printed table, checked: a row for each of the points."""

    title: str
    header: tuple[str, ...]
    points: tuple[float, ...]
    rows: tuple[tuple[Figure, ...], ...]


@dataclass(frozen=True)
class Statement:
    """A sentence of an article, whether it is true, and what was computed."""

    article: str
    says: str
    holds: bool
    computed: str


@dataclass(frozen=True)
class Articles(Record):
    """The figures and statements of two articles, checked; `own` has the user's formulas."""

    schema: ClassVar[str] = "softgate.report.articles"

    tables: tuple[CheckedTable, ...]
    statements: tuple[Statement, ...]
    own: tuple[Grid, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures of all tables."""
        return tuple(figure for table in self.tables for row in table.rows for figure in row)

    def grids(self) -> tuple[Grid, ...]:
        """Return the wrong figures and the statements."""
        wrong = tuple(
            (table.title, head, f"{x:g}", figure.printed, figure.true)
            for table in self.tables
            for x, row in zip(table.points, table.rows, strict=True)
            for head, figure in zip(table.header, row, strict=True)
            if not figure.right
        )
        statements = tuple(
            (s.says, "true" if s.holds else "false", s.computed) for s in self.statements
        )
        return (
            Grid("Wrong figures", ("table", "column", "z", "printed", "true"), wrong, 2, text=True),
            Grid("Statements", ("statement", "verdict", "computed"), statements, text=True),
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return every figure."""
        rows: list[tuple[Cell, ...]] = [
            (table.title, head, x, figure.printed, figure.value, str(figure.right))
            for table in self.tables
            for x, row in zip(table.points, table.rows, strict=True)
            for head, figure in zip(table.header, row, strict=True)
        ]
        return ("table", "column", "z", "printed", "true", "right"), rows


def articles(approximations: Approximations, formulas: Iterable[Activation] = ()) -> Articles:
    """Check the articles; statements on the tanh form are compared with `approximations`."""
    chosen = tuple(formulas)
    of_formulas = value_table(*chosen, at=POINTS, digits=DECIMALS).tables if chosen else ()
    return Articles(
        tables=tuple(_check_table(title, columns) for title, columns in TABLES),
        statements=tuple(test(approximations) for test in TESTS),
        own=of_formulas,
    )


def _check_table(title: str, columns: tuple[Column, ...]) -> CheckedTable:
    figures = [_figures(column) for column in columns]
    return CheckedTable(
        title, tuple(c.head for c in columns), POINTS, tuple(zip(*figures, strict=True))
    )


def _figures(column: Column) -> list[Figure]:
    exact = value_table(column.function, at=POINTS, columns=column.quantity, digits=15)
    figures = []
    for row, printed in zip(exact.rows, column.printed, strict=True):
        value = float(row.value or 0.0)
        decimals = len(printed.partition(".")[2])
        true = f"{value:.{decimals}f}"
        figures.append(Figure(printed, value, true, float(true) == float(printed)))
    return figures


def _tanh_form(approximations: Approximations) -> Statement:
    form = next(f for f in approximations.functions if f.name == "gelu_tanh")
    return Statement(
        FIRST,
        "The approximate form matches to four decimal places across the entire range.",
        form.largest < 0.5e-4,
        f"The largest difference is {form.largest:.3e}, at x = ±{abs(form.largest_at):.3f}.",
    )


def _near_zero(approximations: Approximations) -> Statement:
    form = next(f for f in approximations.functions if f.name == "gelu_tanh")
    at = next(reading for reading in form.readings if reading.x == 0.1)
    return Statement(
        FIRST,
        "The approximate form introduces a small error near z = 0 on the order of 1e-4.",
        1e-5 < abs(at.difference) < 1e-3,
        f"The error is {at.difference:.2e} at z = 0.1, and 0 at z = 0.",
    )


def _positive_slope(_: Approximations) -> Statement:
    (gelu,) = properties("gelu")
    least = gelu.smallest_slope
    where = (
        "" if least is None else f"; its minimum is {least.value:.4f} at x = {least.at[0].low:.4f}"
    )
    return Statement(
        FIRST,
        "GELU′(z) > 0 for all z (no dead neurons).",
        not gelu.negative_slope_share,
        f"The slope is negative for {100 * (gelu.negative_slope_share or 0):.1f} % of inputs from "
        f"N(0,1){where}.",
    )


def _bounded_elu(_: Approximations) -> Statement:
    (elu,) = properties("elu")
    lowest = None if elu.minimum is None else elu.minimum.value
    return Statement(
        FIRST,
        "[Choose] unbounded negative output (ELU, useful for centering) or near-zero.",
        lowest is None,
        f"ELU is bounded below by {lowest:g}." if lowest is not None else "ELU has no lower bound.",
    )


def _defaults(_: Approximations) -> Statement:
    paths = {record.path: record.computes for record in records_of(name="gelu")}
    defaults = ("torch.nn.functional.gelu", "tf.nn.gelu", "jax.nn.gelu", "keras.activations.gelu")
    computed = [f"{path} computes {paths[path]}" for path in defaults if path in paths]
    return Statement(
        "both",
        "PyTorch and TensorFlow compute the tanh form by default.",
        all(paths.get(path) == "gelu_tanh" for path in defaults[:2]),
        f"{'; '.join(computed)}.",
    )


def _operations(_: Approximations) -> Statement:
    counts = {}
    for name in ("gelu", "gelu_tanh", "relu"):
        operations = kernel_operations(activations()[name].entry, "value", "float32", {})
        counts[name] = 0 if operations is None else operations.flops
    ratios = [counts[name] / max(counts["relu"], 1) for name in ("gelu", "gelu_tanh")]
    return Statement(
        FIRST,
        "GELU adds roughly 3–4× the FLOPs of a max(0, z) call.",
        all(3 <= ratio <= 4 for ratio in ratios),
        f"softgate’s float32 kernels need {counts['gelu']} operations per element for GELU, "
        f"{counts['gelu_tanh']} for its tanh form and {counts['relu']} for ReLU. For times, see "
        "Speed.",
    )


def _smoother(_: Approximations) -> Statement:
    gelu, tanh = properties("gelu", "tanh")
    curvatures = [
        abs(p.largest_curvature.value) if p.largest_curvature else 0.0 for p in (gelu, tanh)
    ]
    return Statement(
        SECOND,
        "GELU produces a smoother output curve than tanh.",
        gelu.smoothness != tanh.smoothness and curvatures[0] < curvatures[1],
        f"GELU is {gelu.smoothness}, tanh is {tanh.smoothness}. The largest |curvature| is "
        f"{curvatures[0]:.4f} for GELU and {curvatures[1]:.4f} for tanh.",
    )


def _gradient(_: Approximations) -> Statement:
    slopes = [activations()[name].slope for name in ("gelu", "sigmoid")]
    x = np.arange(-12.0, 12.0, 1e-3)
    gelu, sigmoid = (np.abs(slope(x)) for slope in slopes)
    below = x[gelu < sigmoid]
    gelu_at, sigmoid_at = (float(slope(np.array([-3.0]))[0]) for slope in slopes)
    return Statement(
        SECOND,
        "Unlike sigmoid's, GELU's gradient stays meaningful across a wider input range.",
        below.size == 0,
        f"True for large x. Below x = {below[below < 0].max():.2f}, |GELU′| is smaller: at x = -3 "
        f"GELU′ is {gelu_at:.4f} and sigmoid′ is {sigmoid_at:.4f}.",
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
"""The checked statements, a function each."""


DIGITS = 4
ARTICLES = {"first": "first article", "second": "second article", "both": "both articles"}
FALSE = '<span class="bad">false</span>'
SHOWN = (
    ("range", "range"),
    ("smoothness", "smoothness"),
    ("monotone", "monotone"),
    ("minimum", "minimum"),
    ("largest_slope", "largest slope"),
    ("smallest_slope", "smallest slope"),
    ("small_slope_share", "|slope| < 0.01, share of N(0,1)"),
    ("negative_slope_share", "slope < 0, share of N(0,1)"),
    ("mean", "mean output"),
    ("sd", "sd of output"),
    ("gain", "initial gain"),
)
"""Keys of properties, and the heads of their columns."""


def section(results: Results) -> Section:
    """Return the checked tables and statements, and the properties of every activation."""
    record = results.take("articles", Articles)
    wrong = sum(not figure.right for figure in record.figures)
    body = (
        f"<p>Two articles on GELU, checked. <strong>{wrong} of the {len(record.figures)} figures "
        "in the first are wrong</strong>: they are struck out, with the correct figure beside "
        "them, computed from the definition in arbitrary precision.</p>"
        + '<div class="tables">'
        + "".join(_checked(checked) for checked in record.tables)
        + "".join(of_grid(grid, "Your formula at the same points") for grid in record.own)
        + "</div>"
        + "<h3>Statements of the articles</h3>"
        + _statements(record)
        + "<h3>Properties of the activations</h3>"
        + _properties(results)
    )
    return Section("tables", TITLE, body)


def _checked(checked: CheckedTable) -> str:
    rows = [
        (minus(f"{x:g}"), *map(_figure, row))
        for x, row in zip(checked.points, checked.rows, strict=True)
    ]
    return table(checked.title, ("z", *checked.header), rows)


def _figure(figure: Figure) -> Markup:
    true = shown(minus(figure.true))
    if figure.right:
        return Markup(true)
    printed = shown(minus(figure.printed))
    return Markup(
        f'<span class="wrong"><s><span class="hidden">wrong: </span>{printed}</s>'
        f'<span class="hidden"> true: </span><strong>{true}</strong></span>'
    )


def _statements(record: Articles) -> str:
    rows = [
        (
            Markup(f'“{shown(s.says)}” <span class="note">({ARTICLES[s.article]})</span>'),
            Markup('<span class="good">true</span>' if s.holds else FALSE),
            minus(s.computed),
        )
        for s in record.statements
    ]
    head = ("statement", "verdict", "computed")
    return table("Statements, checked", head, rows, labels=0, kind="words long")


def _properties(results: Results) -> str:
    """Return the properties of the activations of the second article, and of all."""
    try:
        record = results.take("properties", PropertyTable)
    except MissingRecord as missing:
        return f'<p class="failed" role="note">{shown(str(missing))}.</p>'
    some = [p for name in SUMMED_UP for p in record if p.function == name]
    user_rows, reason = _formulas(results)
    return (
        table("The activations of the second article", *_turned(*_rows([*some, *user_rows])))
        + reason
        + f"<details><summary>All {len(record) + len(user_rows)} activations</summary>"
        + table("Properties of every activation", *_rows([*user_rows, *record]))
        + "</details>"
    )


def _formulas(results: Results) -> tuple[list[Properties], str]:
    """Return the properties of the user's formulas, and the reason if they are missing."""
    if "formulas" not in results.records:
        return [], ""
    try:
        return list(results.take("formulas", PropertyTable)), ""
    except MissingRecord as missing:
        return [], f'<p class="failed" role="note">{shown(str(missing))}.</p>'


def _rows(several: Iterable[Properties]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows = []
    for p in several:
        texts = {key: text for key, _, text in lines(p, DIGITS)}
        name = p.function.partition(":")[0]
        cells = (minus(texts[key].replace("\n", "; ")) for key, _ in SHOWN)
        head = f'<span class="nowrap">{swatch(name)}{shown(p.function)}</span>'
        rows.append((Markup(head), *cells))
    return ("activation", *(head for _, head in SHOWN)), rows


def _turned(
    header: tuple[str, ...], rows: list[tuple[str, ...]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a table with rows and columns exchanged: a few activations then fit a phone."""
    first, *others = zip(header, *rows, strict=True)
    return first, others
