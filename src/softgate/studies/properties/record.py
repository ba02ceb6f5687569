"""The properties of one function and of several: frozen records, and their text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from softgate.records.record import Cell, Grid, Record

ALL_DIGITS = 17
"""Significant digits that represent every float64 exactly."""


@dataclass(frozen=True)
class Interval:
    """An interval from `low` to `high`, closed or open at each end."""

    low: float
    high: float
    closed_low: bool = True
    closed_high: bool = True

    def __contains__(self, x: float) -> bool:
        above = x > self.low or (self.closed_low and x == self.low)
        return above and (x < self.high or (self.closed_high and x == self.high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.closed_high, self.closed_low)

    def show(self, digits: int = 5) -> str:
        """Return the interval as a condition on x."""
        if self.low == self.high:
            return f"x = {show(self.low, digits)}"
        below, above = ("<=" if closed else "<" for closed in (self.closed_low, self.closed_high))
        if math.isinf(self.low):
            if math.isinf(self.high):
                return "all x"
            return f"x {above} {show(self.high, digits)}"
        if math.isinf(self.high):
            return f"x {below.replace('<', '>')} {show(self.low, digits)}"
        return f"{show(self.low, digits)} {below} x {above} {show(self.high, digits)}"

    def __str__(self) -> str:
        return self.show()


def point(x: float) -> Interval:
    """Return one number as an interval."""
    return Interval(x, x)


def show(value: float | None, digits: int = 5) -> str:
    """Return a number with `digits` significant digits; "undefined" for None and NaN.

    Trailing zeros mark a number that was rounded: 0.5 is exact, 0.5000 is not.
    """
    if value is None or math.isnan(value):
        return "undefined"
    if not value:
        return "0"
    if digits == ALL_DIGITS:
        return repr(value).removesuffix(".0")
    short = f"{value:.{digits}g}"
    return (
        short
        if math.isclose(float(short), value, rel_tol=1e-14)
        else f"{value:#.{digits}g}".removesuffix(".")
    )


def union(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return the union as sorted disjoint intervals."""
    joined: list[Interval] = []
    for interval in sorted(set(intervals), key=lambda i: (i.low, not i.closed_low, i.high)):
        last = joined[-1] if joined else None
        if last is None or not _touch(last, interval):
            joined.append(interval)
        elif (interval.high, interval.closed_high) > (last.high, last.closed_high):
            joined[-1] = replace(last, high=interval.high, closed_high=interval.closed_high)
    return tuple(joined)


def _touch(left: Interval, right: Interval) -> bool:
    if left.high == right.low:
        return left.closed_high or right.closed_low
    return left.high > right.low


SHOWN = 4
"""The most items of a list that are shown."""
NONE = "none"
OPTIONAL = ("undefined", "left_asymptote", "right_asymptote", "level")

Line3 = tuple[str, str, str]
"""A key, a label and a text."""


@dataclass(frozen=True)
class Extreme:
    """A least or greatest value; `at` is empty if it is only approached."""

    value: float
    at: tuple[Interval, ...]

    @property
    def reached(self) -> bool:
        """Whether the function takes the value, rather than only approaching it."""
        return bool(self.at)


@dataclass(frozen=True)
class Jump:
    """How much value, slope and curvature change at a point, right side minus left side."""

    at: float
    value: float
    slope: float
    curvature: float


@dataclass(frozen=True)
class Asymptote:
    """The asymptote slope·x + intercept."""

    slope: float
    intercept: float


@dataclass(frozen=True)
class Properties(Record):
    """The properties of one activation, computed from its definition and its kernels.

    Attributes
    ----------
    minimum, maximum : Extreme or None
        The ends of the range and where they are taken; `at` is empty where they are approached.
    smoothness : str
        "discontinuous"; "C^k" where k derivatives are continuous; "smooth" where six are.
    jumps : tuple of Jump
        Where value, slope or curvature changes at once, and by how much.
    monotone : str
        "increasing", "non-decreasing", "decreasing", "non-increasing", "constant" or "no".
    slope_roots, level : tuple
        Single points with slope 0, and intervals on which the exact slope is 0.
    many_roots : bool
        Whether the function oscillates: then at most the 64 found nearest to 0 are given.
    limits, slope_limits : pair of float or None
        At -inf and +inf; None where there is no limit.
    asymptotes : pair of Asymptote or None
        Slanted lines that the function approaches at -inf and +inf.
    small_slope_share, negative_slope_share : float
        The share of N(0,1) inputs with |slope| < 0.01, and with slope < 0.
    mean, sd, mean_square, mean_squared_slope : float
        Of the output f(z), and of f'(z), for z from N(0,1).
    gain, backward_gain : float
        1/sqrt(E f(z)²) and 1/sqrt(E f'(z)²): weights of mean 0 and variance gain²/fan_in keep
        the variance of the next layer's inputs, or with fan_out that of the gradients, at 1.
    dead : mapping
        Per dtype the inputs at which the computed slope is exactly 0.
    undefined : tuple of Interval
        Where the function is not a real number; properties that need all inputs are then None.
    """

    schema: ClassVar[str] = "softgate.properties"

    function: str
    formula: str
    minimum: Extreme | None
    maximum: Extreme | None
    smoothness: str
    jumps: tuple[Jump, ...]
    monotone: str
    slope_roots: tuple[float, ...]
    many_roots: bool
    level: tuple[Interval, ...]
    largest_slope: Extreme | None
    smallest_slope: Extreme | None
    largest_curvature: Extreme | None
    limits: tuple[float | None, float | None]
    slope_limits: tuple[float | None, float | None]
    asymptotes: tuple[Asymptote | None, Asymptote | None]
    small_slope_share: float | None
    negative_slope_share: float | None
    mean: float | None
    sd: float | None
    mean_square: float | None
    mean_squared_slope: float | None
    gain: float | None
    backward_gain: float | None
    dead: Mapping[str, tuple[Interval, ...]]
    undefined: tuple[Interval, ...]

    def grids(self) -> tuple[Grid, ...]:
        """Return a line for each property."""
        return (side_by_side([self]),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return rows of function, property and value, with all digits."""
        rows: list[tuple[Cell, ...]] = [
            (self.function, key, text.replace("\n", "; "))
            for key, _, text in lines(self, ALL_DIGITS)
            if text
        ]
        return ("function", "property", "value"), rows


@dataclass(frozen=True)
class PropertyTable(Record):
    """The properties of some activations; iterating gives one record for each."""

    schema: ClassVar[str] = "softgate.property_table"

    functions: tuple[Properties, ...]
    digits: int

    def __iter__(self) -> Iterator[Properties]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __getitem__(self, which: int) -> Properties:
        return self.functions[which]

    def grids(self) -> tuple[Grid, ...]:
        """Return a row for each property and a column for each activation."""
        return (side_by_side(self.functions, self.digits),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return rows of function, property and value, with all digits."""
        header, _ = self.functions[0].table()
        return header, [row for properties in self.functions for row in properties.table()[1]]


def side_by_side(functions: Iterable[Properties], digits: int = 4) -> Grid:
    """Return a grid with a row for each property and a column for each function."""
    chosen = list(functions)
    columns = [lines(properties, digits) for properties in chosen]
    rows = (
        (cells[0][1], *(text for _, _, text in cells))
        for cells in zip(*columns, strict=True)
        # A line without a value for any of the functions is left out.
        if cells[0][0] not in OPTIONAL or {text for _, _, text in cells} != {NONE}
    )
    return Grid("", ("", *(p.function for p in chosen)), tuple(rows), text=True)


def lines(p: Properties, digits: int) -> list[Line3]:
    """Return each property's key, its label and its text."""
    return [*_shape(p, digits), *_ends(p, digits), *_normal(p, digits), *_flat(p, digits)]


def _shape(p: Properties, digits: int) -> list[Line3]:
    rows = [
        ("range", "range", _range(p, digits)),
        *_extreme("minimum", "minimum", p.minimum, digits),
        *_extreme("maximum", "maximum", p.maximum, digits),
        ("undefined", "undefined", places(p.undefined, digits)),
        ("smoothness", "smoothness", p.smoothness),
    ]
    for quantity in ("value", "slope", "curvature"):
        steps = [(jump.at, getattr(jump, quantity)) for jump in p.jumps]
        texts = [f"{show(step, digits)} at {show(x, digits)}" for x, step in steps if step]
        rows.append((f"jump_of_{quantity}", f"{quantity} jump", _list(texts)))
    roots = [show(x, digits) for x in p.slope_roots]
    return [
        *rows,
        ("monotone", "monotone", p.monotone.replace("-", "-\n")),
        ("slope_roots", "slope roots", f"over {len(roots)}" if p.many_roots else _list(roots)),
        ("level", "slope is 0", places(p.level, digits)),
        *_extreme("largest_slope", "largest slope", p.largest_slope, digits, approached=True),
        *_extreme("smallest_slope", "least slope", p.smallest_slope, digits, approached=True),
        *_extreme(
            "largest_curvature", "max |curvature|", p.largest_curvature, digits, approached=True
        ),
    ]


def _extreme(
    key: str, label: str, extreme: Extreme | None, digits: int, approached: bool = False
) -> list[Line3]:
    """Return the lines of an extreme; one that is not reached is shown only if `approached`."""
    if extreme is None or not (extreme.reached or approached):
        return [(key, label, NONE), (f"{key}_at", "  at", "-")]
    where = places(extreme.at, digits) if extreme.reached else "never"
    return [(key, label, show(extreme.value, digits)), (f"{key}_at", "  at", where)]


def _ends(p: Properties, digits: int) -> list[Line3]:
    rows = []
    for i, (end, key) in enumerate((("-inf", "left"), ("+inf", "right"))):
        line = p.asymptotes[i]
        rows += [
            (f"{key}_limit", f"limit at {end}", _limit(p.limits[i], digits)),
            (f"{key}_slope_limit", f"slope at {end}", _limit(p.slope_limits[i], digits)),
            (f"{key}_asymptote", "  asymptote", NONE if line is None else _line(line, digits)),
        ]
    return rows


def _normal(p: Properties, digits: int) -> list[Line3]:
    return [
        ("", "z from N(0,1):", ""),
        ("small_slope_share", "  |slope|<0.01", _percent(p.small_slope_share, digits)),
        ("negative_slope_share", "  slope<0", _percent(p.negative_slope_share, digits)),
        ("mean", "  mean f(z)", show(p.mean, digits)),
        ("sd", "  sd f(z)", show(p.sd, digits)),
        ("mean_square", "  mean f(z)^2", show(p.mean_square, digits)),
        ("mean_squared_slope", "  mean f'(z)^2", show(p.mean_squared_slope, digits)),
        ("gain", "  gain forward", show(p.gain, digits)),
        ("backward_gain", "  gain back", show(p.backward_gain, digits)),
    ]


def _flat(p: Properties, digits: int) -> list[Line3]:
    head = ("", "computed slope", "")
    second = ("", "is exactly 0 in", "")
    rows = [(f"dead_{name}", f"  {name}", places(at, digits)) for name, at in p.dead.items()]
    return [head, second, *rows]


def _range(p: Properties, digits: int) -> str:
    if p.minimum is None or p.maximum is None:
        return "undefined"
    left = "[" if p.minimum.reached else "("
    right = "]" if p.maximum.reached else ")"
    return f"{left}{show(p.minimum.value, digits)},{show(p.maximum.value, digits)}{right}"


def _limit(value: float | None, digits: int) -> str:
    return NONE if value is None else show(value, digits)


def _list(texts: list[str]) -> str:
    more = [f"and {len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return "\n".join([*texts[:SHOWN], *more]) or NONE


def places(intervals: tuple[Interval, ...], digits: int) -> str:
    """Return a set of numbers as short text; with |x| if it is symmetric."""
    if len(intervals) == 2 and intervals[0] == -intervals[1] and math.isinf(intervals[0].low):
        return intervals[1].show(digits).replace("x", "|x|").replace(" ", "")
    if len(intervals) == 1 and intervals[0] == -intervals[0] and 0 < intervals[0].high < math.inf:
        sign = "<=" if intervals[0].closed_high else "<"
        return f"|x|{sign}{show(intervals[0].high, digits)}"
    return _list([_place(interval, digits) for interval in intervals])


def _place(interval: Interval, digits: int) -> str:
    if interval.low == interval.high:
        return show(interval.low, digits)
    text = interval.show(digits)
    return text if text == "all x" else text.replace(" ", "")


def _percent(share: float | None, digits: int) -> str:
    if share is None or digits == ALL_DIGITS:
        return show(share, digits)
    return f"{show(100 * share, digits)}%"


def _line(line: Asymptote, digits: int) -> str:
    factor = {1.0: "x", -1.0: "-x"}.get(line.slope, f"{show(line.slope, digits)}x")
    if not line.intercept:
        return factor
    sign = "-" if line.intercept < 0 else "+"
    return f"{factor} {sign} {show(abs(line.intercept), digits)}"
