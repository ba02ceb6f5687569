"""`table`: values, slopes, curvatures and differences of activations at points, every digit true.

Figures come from the definitions, not from the kernels, so that a table can check both. Code
without a definition is called at the float64 nearest to each point, and its result shown. A table
is a set of rows {x, function, quantity, value} and one or more layouts of the same cells.

Points are written as `-3:3:0.5`, `-3,-1,0`, or both. They are decimals, stepped as decimals:
-3:3:0.1 contains 0.3 and not 0.30000000000000004.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.derivative import derivative
from softgate.formula.graph import Node
from softgate.records import exact_digits
from softgate.records.exact_digits import UNDEFINED, RoundedNumber
from softgate.records.record import Cell, Grid, Record
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label

from .subjects import PassedFunction, resolved

LIMIT = 100_000
"""The largest number of points; more are probably a mistake in the step."""

LARGEST_EXPONENT = 400
EXACT = Context(prec=4 * LARGEST_EXPONENT)
"""Wide enough that no point is rounded, whatever the caller's decimal context is."""


def parse_points(points: Any) -> tuple[Decimal, ...]:
    """Return the points that a text or an iterable of numbers names, in the order given.

    Parameters
    ----------
    points : str, number or iterable of numbers
        As text: numbers and ranges `first:last:step`, separated by commas; a range includes its
        last point where a step ends there. A float is the decimal that it prints as.

    Examples
    --------
    >>> [show_point(point) for point in parse_points("-0.2:0.2:0.1, 3")]
    ['-0.2', '-0.1', '0', '0.1', '0.2', '3']
    """
    if isinstance(points, str):
        parts = [part.strip() for part in points.split(",")]
        numbers = list(islice((p for part in parts for p in _part(part, points)), LIMIT + 1))
    elif isinstance(points, Iterable):
        numbers = [_point(point) for point in islice(points, LIMIT + 1)]
    else:
        numbers = [_point(points)]
    if not numbers:
        raise ValueError("no points were given: expected numbers such as -3,-1,0 or -3:3:0.5")
    if len(numbers) > LIMIT:
        raise ValueError(f"too many points: at most {LIMIT:,} are accepted")
    return tuple(dict.fromkeys(numbers))


def show_point(point: Decimal) -> str:
    """Return a point as it is written, without needless zeros."""
    if point == 0:
        return "0"
    plain = point.normalize(EXACT)
    exponent = int(plain.as_tuple().exponent)
    return f"{plain:f}" if -10 <= exponent <= 10 else f"{plain:e}"


def _part(part: str, text: str) -> list[Decimal]:
    if ":" not in part:
        return [_point(part)]
    ends = part.split(":")
    if len(ends) != 3:
        raise ValueError(f"{part!r} is not a range: write first:last:step, such as -3:3:0.5")
    first, last, step = map(_point, ends)
    if step <= 0:
        raise ValueError(f"{part!r}: the step is {step}, expected a positive number")
    if last < first:
        raise ValueError(
            f"{part!r} ends before it begins: write first:last:step with first <= last"
        )
    count = int((Fraction(last) - Fraction(first)) / Fraction(step)) + 1
    if count > LIMIT:
        raise ValueError(f"{part!r} has {count:,} points: at most {LIMIT:,} are accepted")
    return [EXACT.fma(step, Decimal(i), first) for i in range(count)]


def _point(value: Any) -> Decimal:
    try:
        number = Decimal(value.strip() if isinstance(value, str) else repr(float(value)))
    except (InvalidOperation, TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{value!r} is not a point: expected a number, or a range such as -3:3:0.5"
        ) from None
    if not number.is_finite() or math.isinf(float(number)):
        raise ValueError(f"{value!r} is not a point: expected a finite number within float64")
    if (
        abs(number.adjusted()) > LARGEST_EXPONENT
        or len(number.as_tuple().digits) > LARGEST_EXPONENT
    ):
        raise ValueError(
            f"{value!r} is not a point: it has more digits than a float64 distinguishes"
        )
    return number


POINTS = "-3,-1,0,0.5,1,3"
COLUMNS = ("Phi", "value", "slope", "curvature", "difference", "relative")
FLOAT64_DIGITS = 15
"""Up to here a value is a float64; beyond, it is the text of its digits."""
LARGEST_POINT = Decimal("1e30")

Function = Activation | PassedFunction
Column = tuple[str, Function, Function | None]

LAYOUTS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "The gate Phi(x), exact GELU and its tanh form",
        (("Phi", "value"), ("gelu", "value"), ("gelu_tanh", "value")),
    ),
    (
        "GELU and ReLU with their slopes",
        (
            ("gelu", "value"),
            ("gelu_tanh", "value"),
            ("gelu", "slope"),
            ("relu", "value"),
            ("relu", "slope"),
        ),
    ),
    (
        "ReLU, ELU and GELU side by side",
        (("relu", "value"), ("elu", "value"), ("gelu", "value")),
    ),
)
"""The default tables: titles, and which quantity of which activation."""


@dataclass(frozen=True)
class Row:
    """One figure. `value` is a float64, or text if more digits than that are shown."""

    x: float
    function: str
    quantity: str
    value: float | str | None


@dataclass(frozen=True)
class Table(Record):
    """Figures of some functions at some points, and the grids they are shown in."""

    schema: ClassVar[str] = "softgate.table"

    rows: tuple[Row, ...]
    tables: tuple[Grid, ...]
    digits: int

    def grids(self) -> tuple[Grid, ...]:
        """Return the layouts."""
        return self.tables

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return the rows."""
        rows: list[tuple[Cell, ...]] = [(r.x, r.function, r.quantity, r.value) for r in self.rows]
        return ("x", "function", "quantity", "value"), rows


def table(
    *functions: str | Callable[..., Any],
    at: Any = POINTS,
    columns: str | Sequence[str] | None = None,
    reference: str | Callable[..., Any] | None = None,
    digits: int = 4,
) -> Table:
    """Return values, slopes, curvatures and differences of activations at points.

    Parameters
    ----------
    *functions : str or callable, optional
        The activations: "gelu", "elu:alpha=0.5", "torch.nn.functional.gelu", "file.py:function", or
        a callable. Of code without a formula, the figures are those that it returns in float64, or
        in float32 if it takes no float64. By default three tables of GELU, its tanh form, ReLU and
        ELU.
    at : str or numbers
        The points: `"-3:3:0.5"` (last point included), `"-3,-1,0"`, or numbers. A float stands
        for the decimal it prints as.
    columns : str or sequence of str, optional
        Some of "Phi", "value", "slope", "curvature", "difference" and "relative", the last two
        with respect to `reference`; a single string is split at commas. By default value and
        slope, if it has one; with a reference value, difference and relative.
    reference : str or callable, optional
        The function that differences are taken from: f - reference, and f/reference - 1.
    digits : int
        Number of decimals, up to 50, all correct. A nonzero number that would round to 0 is
        written with an exponent. With more than 15, values are text: float64 has fewer digits.

    Returns
    -------
    Table
        A record: printed, it is a text table; `rows` hold the figures.

    Examples
    --------
    >>> import softgate as sg
    >>> print(sg.table("gelu", at="-1,0.5", columns="Phi,value,slope"))
      x  Phi(x)     gelu    gelu'
    ---  ------  -------  -------
     -1  0.1587  -0.1587  -0.0833
    0.5  0.6915   0.3457   0.8675
    """
    exact_digits.check(digits)
    places = parse_points(at)
    for place in places:
        if abs(place) > LARGEST_POINT:
            raise ValueError(f"the point {place} is too large for a table: at most 1e30")
    if not functions:
        if columns is not None or reference is not None:
            raise ValueError("columns and a reference need activations to be named")
        layouts: list[tuple[str, list[Column]]] = [
            (title, [(quantity, resolved.activation(name), None) for name, quantity in chosen])
            for title, chosen in LAYOUTS
        ]
    else:
        chosen = [resolved.one_array_as_passed(function) for function in functions]
        layouts = [("", _columns(chosen, columns, reference))]
    return _fill(layouts, places, digits)


def _columns(
    chosen: list[Function],
    columns: str | Sequence[str] | None,
    against: str | Callable[..., Any] | None,
) -> list[Column]:
    reference = None if against is None else resolved.one_array_as_passed(against)
    by_default = columns is None
    if columns is None:
        columns = ("value", "slope") if reference is None else ("value", "difference", "relative")
    quantities = [_column(name) for name in _split(columns)]
    if not quantities:
        raise ValueError("no columns were given: name at least one, such as value")
    if reference is None and {"difference", "relative"} & set(quantities):
        raise ValueError("a difference needs a reference: name the function it is taken to")
    column_list: list[Column] = []
    if "Phi" in quantities:
        column_list.append(("value", activations()["Phi"], None))
    for activation in chosen:
        for quantity in quantities:
            if quantity in ("difference", "relative"):
                if activation is not reference:
                    column_list.append((quantity, activation, reference))
            elif by_default and quantity not in _quantities(activation):
                continue
            elif quantity != "Phi":
                column_list.append((quantity, activation, None))
    if not column_list:
        raise ValueError(f"nothing to show: {label(chosen[0])} is the reference itself")
    return list(dict.fromkeys(column_list))


def _split(columns: str | Sequence[str]) -> list[str]:
    if not isinstance(columns, str | list | tuple):
        kind = type(columns).__name__
        raise TypeError(f"columns is a {kind}: expected names such as 'value,slope'")
    return columns.split(",") if isinstance(columns, str) else list(columns)


def _column(name: str) -> str:
    for known in COLUMNS:
        if known.lower() == str(name).strip().lower():
            return known
    raise ValueError(f"unknown column {name!r}: choose from {', '.join(COLUMNS)}")


def _head(column: Column) -> str:
    quantity, activation, reference = column
    name = label(activation)
    if name == "Phi":
        return {"value": "Phi(x)", "slope": "Phi'(x)"}.get(quantity, "Phi''(x)")
    if reference is not None:
        other = label(reference)
        return f"{name} - {other}" if quantity == "difference" else f"{name} / {other} - 1"
    return name + {"value": "", "slope": "'", "curvature": "''"}[quantity]


def _quantity(column: Column) -> str:
    quantity, _, reference = column
    if reference is None:
        return quantity
    what = "difference" if quantity == "difference" else "relative difference"
    return f"{what} from {label(reference)}"


def _quantities(function: Function) -> tuple[str, ...]:
    """Return the quantities that a function has."""
    if isinstance(function, PassedFunction):
        return function.quantities
    return ("value", "slope", "curvature")


def _numbers(column: Column, places: Sequence[Decimal], digits: int) -> list[RoundedNumber]:
    """Return the figures of a column; code is called at the nearest float64 of each point."""
    quantity, *functions = column
    called = [f for f in functions if isinstance(f, PassedFunction)]
    if not called:
        root = _graph(column, {})
        return [exact_digits.number(root, Fraction(place), digits) for place in places]
    x = np.array([float(place) for place in places])
    called_for = quantity if column[2] is None else "value"
    results = {f: f.evaluate(called_for, x) for f in called}
    numbers = []
    for i in range(x.size):
        here = {f: float(y[i]) for f, y in results.items()}
        if all(map(math.isfinite, here.values())):
            numbers.append(exact_digits.number(_graph(column, here), Fraction(float(x[i])), digits))
        else:
            value = sum(here.values()) if column[2] is None else math.nan
            numbers.append(UNDEFINED if math.isnan(value) else RoundedNumber(value, str(value)))
    return numbers


def _graph(column: Column, called: Mapping[PassedFunction, float]) -> Node:
    """Return the expression of a column; `called` has the results of code at the point."""
    quantity, function, reference = column
    f = ExactArithmetic()

    def traced(of: Function) -> Node:
        if isinstance(of, PassedFunction):
            return f.graph.const(Fraction(called[of]))
        return exact_digits.definition(of.entry, of.parameters, f)

    root = traced(function)
    if reference is not None:
        other = traced(reference)
        return root - other if quantity == "difference" else (root - other) / other
    if not isinstance(function, PassedFunction):
        for _ in range(("value", "slope", "curvature").index(quantity)):
            root = derivative(root)
    return root


def _fill(layouts: list[tuple[str, list[Column]]], places: Sequence[Decimal], digits: int) -> Table:
    used = list(dict.fromkeys(column for _, columns in layouts for column in columns))
    cells: dict[Column, list[RoundedNumber]] = {}
    for column in used:
        cells[column] = _numbers(column, places, digits)
    rows = tuple(
        Row(float(x), label(column[1]), _quantity(column), _value(cells[column][i], digits))
        for i, x in enumerate(places)
        for column in used
    )
    grids = tuple(
        Grid(
            title,
            ("x", *map(_head, columns)),
            tuple(
                (show_point(x), *(cells[column][i].text for column in columns))
                for i, x in enumerate(places)
            ),
        )
        for title, columns in layouts
    )
    return Table(rows, grids, digits)


def _value(number: RoundedNumber, digits: int) -> float | str | None:
    if number.value is None or digits <= FLOAT64_DIGITS:
        return number.value
    return number.text
