"""Charts of a benchmark: error against time, and the time of one function by implementation.

Every mark has its name beside it, so that no chart depends on colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from softgate.plotting.palette import style
from softgate.plotting.vega import (
    GREY,
    INK,
    NAME_HEIGHT,
    NAME_SIZE,
    NARROW,
    TIMES,
    Chart,
    Spec,
    implementation,
    powers,
    quantitative,
)

from .. import counted
from .pareto_record import Pareto, ParetoPoint, ulps
from .record import COPY, OURS, RELU, Bench, BenchRow

WIDTH, HEIGHT = 600, 380
"""Pixels between the axes of a chart of error against time."""
AXES = 56
"""Pixels that axes and padding take of the width of a chart on a page."""
LETTER = 0.5 * NAME_SIZE
"""Width of a letter in pixels, more than the mean of the font."""
REACH, MARGIN = 7, 9
"""Pixels around a mark that names keep clear of, and from a mark to its name."""
SIDES = (
    (1, 0), (-1, 0), (1, 1.1), (1, -1.1), (0, 1.4), (0, -1.4), (-1, 1.1), (-1, -1.1), (1, 2.2),
    (1, -2.2), (0, 2.5), (0, -2.5), (-1, 2.2), (-1, -2.2), (1, 3.3), (1, -3.3), (0, 3.6),
    (0, -3.6), (-1, 3.3), (-1, -3.3), (1, 4.4), (1, -4.4), (1, 5.5), (1, -5.5),
)  # fmt: skip
"""Places of a name around its mark, the best first: right or left of it, and lines down or up."""
KEY = (
    "Outlined and dashed: the Pareto front.  Ring: the error without subnormal numbers.",
    "B: bytes saved for the gradient, per element; the mark grows with them.",
)
ROW, TIME_WIDTH = 30, 520
"""Pixels of an implementation in a chart of times, and of its time axis."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels."""


@dataclass(frozen=True)
class NamePlacement:
    """The place of a name, in pixels right of and below its mark, and the end of its leader."""

    dx: float
    dy: float
    align: str
    lead_x: float
    lead_y: float


def pareto_chart(record: Pareto) -> Chart:
    """Return the chart of error against time."""
    if not record.points:
        raise ValueError(f"{record.function}: no implementation was measured, nothing to draw")
    title = {"text": f"{record.title}, {record.setting}", "subtitle": list(KEY)}
    return Chart({**pareto_spec(record, WIDTH, HEIGHT), "title": title}, record.alternative())


def pareto_spec(record: Pareto, width: int, height: int, axes: int = 0) -> Spec:
    """Return the Vega-Lite specification of error against time.

    Names are placed for a width, and for that of a phone, on which a page may show the chart;
    `axes` are the pixels that the axes take of both.
    """
    times, top = [point.least_ns for point in record], _top(record)
    errors = [max(min(e, top), 0.1) for p in record for e in (p.max_ulp, p.normal_ulp)]
    x_domain = (min(times) / 2, max(times) * 2.2)
    y_domain = (min(errors) / 4, max(errors) * 60)
    low, high = math.ceil(math.log10(y_domain[0])), math.floor(math.log10(y_domain[1]))
    decades = powers(low, high, max(1, math.ceil((high - low) / 6)), superscript=False)
    x = quantitative(
        "ns", "ns per element, logarithmic",
        scale={"type": "log", "domain": list(x_domain), "nice": False},
        axis={"format": "~g", "values": TIMES},
    )  # fmt: skip
    y = quantitative(
        "ulp", f"largest error in ulps of {record.dtype}",
        scale={"type": "log", "domain": list(y_domain), "nice": False}, axis=decades,
    )  # fmt: skip
    rows: list[Spec] = [
        {
            "f": point.implementation, "ns": point.least_ns,
            "ulp": max(min(point.max_ulp, top), 0.1),
            "normal": max(point.normal_ulp, 0.1) if _flushes(point) else None,
            "error": ulps(point.max_ulp), "front": point.on_front, "name": _name(point),
            "size": 60 + 12 * (point.saved_bytes or 0.0),
        }
        for point in record
    ]  # fmt: skip
    front = [(row["ns"], row["ulp"]) for row in rows if row["front"]]
    rows.sort(key=lambda row: bool(row["front"]))  # on top of the others
    steps = [(front[0][0], y_domain[1]), *front, (x_domain[1], front[-1][1])]
    for prefix, wide in (("", width), ("narrow_", NARROW)):
        scales = (_LogAxis(*x_domain, 0, wide - axes), _LogAxis(*y_domain, height - axes, 0))
        for row, name in zip(rows, _names(rows, steps, scales), strict=True):
            row |= {prefix + field: value for field, value in vars(name).items()}
    drawn = {name: implementation(name).colour for name in (row["f"] for row in rows)}
    scale = {"domain": list(drawn), "range": list(drawn.values())}
    colour = {"field": "f", "type": "nominal", "scale": scale, "legend": None}
    shared = {"x": x, "y": y}
    tooltip = [{"field": "f", "title": "implementation"},
            {"field": "ns", "title": "ns per element", "format": ".3g"},
            {"field": "error", "title": "largest error, ulps"}]  # fmt: skip
    flushed: Spec = {"transform": [{"filter": "datum.normal !== null"}]}
    lower = {**shared, "y": {**y, "field": "normal"}, "color": colour}
    return {
        "width": width, "height": height, "data": {"values": rows},
        "layer": [
            {
                "data": {"values": [{"ns": ns, "ulp": ulp} for ns, ulp in steps]},
                "mark": {"type": "line", "interpolate": "step-after", "stroke": "#888888",
                         "strokeWidth": 1.2, "strokeDash": [4, 3]},
                "encoding": shared,
            },
            {**flushed, "mark": {"type": "rule"}, "encoding": {**lower, "y2": {"field": "ulp"}}},
            {**flushed, "mark": {"type": "point", "filled": False, "size": 40}, "encoding": lower},
            {
                "mark": {"type": "rule", "stroke": "#888888", "strokeWidth": 0.8,
                         "x2Offset": _by_width("lead_x"), "y2Offset": _by_width("lead_y")},
                "encoding": {**shared, "x2": {"field": "ns"}, "y2": {"field": "ulp"}},
            },
            {
                "mark": {"type": "point", "opacity": 1, "strokeWidth": 2,
                         "stroke": {"expr": f"datum.front ? '{GREY}' : null"}},
                "encoding": {**shared, "fill": colour, "tooltip": tooltip,
                             "size": {"field": "size", "type": "quantitative", "scale": None}},
            },
            {
                "name": "names",
                "mark": {"type": "text", "baseline": "middle", "fontSize": NAME_SIZE,
                         "dx": _by_width("dx"), "dy": _by_width("dy"),
                         "align": _by_width("align")},
                "encoding": {**shared, "text": {"field": "name"}},
            },
            *([_not_finite(top)] if math.isfinite(top) else []),
        ],
    }  # fmt: skip


def _by_width(field: str) -> Spec:
    return {"expr": f"width < {1.5 * NARROW:g} ? datum.narrow_{field} : datum.{field}"}


def _not_finite(top: float) -> Spec:
    """Return the label of the height at which infinite errors are drawn."""
    return {
        "data": {"values": [{"ulp": top}]},
        "mark": {"type": "text", "text": "NaN or inf", "align": "left", "fontSize": 11},
        "encoding": {"x": {"value": 4}, "y": {"field": "ulp", "type": "quantitative"}},
    }


def _flushes(point: ParetoPoint) -> bool:
    """Return whether the error without subnormal numbers is visibly smaller."""
    return point.normal_ulp < 0.5 * point.max_ulp


def _name(point: ParetoPoint) -> str:
    saved = "" if point.saved_bytes is None else f", {point.saved_bytes:g} B"
    return point.implementation + saved


def _top(record: Pareto) -> float:
    """Return the height of errors that are infinite; inf where there are none."""
    finite = [point.max_ulp for point in record if math.isfinite(point.max_ulp)]
    return 30 * max([1.0, *finite]) if len(finite) < len(record.points) else math.inf


@dataclass(frozen=True)
class _LogAxis:
    """A logarithmic axis; a call returns the pixel position of a value."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.first + share * (self.last - self.first)


def _names(
    rows: Sequence[Spec], steps: Sequence[tuple[float, float]], scales: tuple[_LogAxis, _LogAxis]
) -> list[NamePlacement]:
    """Return a place for each name beside its mark, free of marks, other names and the front."""
    x, y = scales
    marks = [(x(row["ns"]), y(row["ulp"])) for row in rows]
    rings = [(x(row["ns"]), y(row["normal"])) for row in rows if row["normal"] is not None]
    taken = [(a - REACH, b - REACH, a + REACH, b + REACH) for a, b in (*marks, *rings)]
    for (x0, y0), (x1, y1) in pairwise((x(ns), y(ulp)) for ns, ulp in steps):
        taken += [(x0, y0, x1, y0), (x1, min(y0, y1), x1, max(y0, y1))]  # a step of the front
    names: dict[int, NamePlacement] = {}
    for i in sorted(range(len(rows)), key=lambda i: -marks[i][0]):
        wide = LETTER * len(rows[i]["name"])
        box, align = _free(marks[i], wide, taken, (x.last, y.first))
        taken.append(box)
        names[i] = _placed(marks[i], box, align)
    return [names[i] for i in range(len(rows))]


def _free(
    mark: tuple[float, float], wide: float, taken: Sequence[Box], edges: tuple[float, float]
) -> tuple[Box, str]:
    """Return the box beside a mark with the fewest overlaps, and the alignment of its text."""
    (x, y), high = mark, NAME_HEIGHT
    best: tuple[float, Box, str] | None = None
    for side, lines in SIDES:
        left = x + MARGIN if side > 0 else x - wide - MARGIN if side else x - wide / 2
        top = y - high / 2 + lines * high
        box = (left, top, left + wide, top + high)
        outside = left < 0 or top < 0 or box[2] > edges[0] or box[3] > edges[1]
        cost = sum(_meet(box, other) for other in taken) + 3 * outside
        if best is None or cost < best[0]:
            best = cost, box, ("center", "left", "right")[side]
    assert best is not None
    return best[1:]


def _placed(mark: tuple[float, float], box: Box, align: str) -> NamePlacement:
    """Return the place of a name; its leader has length 0 if it is level with its mark."""
    (x, y), (left, top, right, bottom) = mark, box
    anchor = {"left": left, "right": right, "center": (left + right) / 2}[align]
    level = top < y < bottom
    lead_x = 0.0 if level else min(max(x, left), right) - x
    lead_y = 0.0 if level else (top if y < top else bottom) - y
    return NamePlacement(anchor - x, (top + bottom) / 2 - y, align, lead_x, lead_y)


def _meet(a: Box, b: Box) -> bool:
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


def value_times(bench: Bench, functions: Sequence[str]) -> dict[str, dict[str, BenchRow]]:
    """Return rows by implementation and function, sorted by the time of the first function.

    The setting is the first in which the benchmark has a value.
    """
    values = [row for row in bench if row.quantity == "value" and row.least_ns is not None]
    if not values:
        raise ValueError("no value was timed: there is nothing to draw")
    times: dict[str, dict[str, BenchRow]] = {}
    for row in values:
        if row.setting == values[0].setting and row.function in functions:
            times.setdefault(row.implementation, {})[row.function] = row
    if not times:
        raise ValueError(f"{', '.join(functions)}: not timed, there is nothing to draw")

    def first_time(rows: dict[str, BenchRow]) -> float:
        row = rows.get(functions[0])
        return math.inf if row is None or row.least_ns is None else row.least_ns

    return dict(sorted(times.items(), key=lambda item: first_time(item[1])))


def lower_limits(bench: Bench, like: BenchRow) -> dict[str, float]:
    """Return the times of a copy and of softgate's relu in the setting of a row."""
    return {
        row.function: row.least_ns
        for row in bench
        if (row.function == COPY or (row.function, row.implementation) == (RELU, OURS))
        and row.setting == like.setting
        and row.least_ns is not None
    }


def time_chart(bench: Bench, functions: Sequence[str] = ("gelu", "gelu_tanh")) -> Chart:
    """Return the chart of times: a row for each implementation, a dot for each function.

    The first function's dots are filled and have their times above them; others are rings. Times
    span decades, so the axis is logarithmic and has no bars. Dashed lines are lower limits: a copy
    of the same bytes, and softgate's relu.
    """
    times = value_times(bench, functions)
    row = next(iter(next(iter(times.values())).values()))
    limits = lower_limits(bench, row)
    values: list[Spec] = [
        {"implementation": name, "function": function, "ns": it.least_ns,
         "shown": f"{it.least_ns:.2f}"}
        for name, rows in times.items() for function, it in rows.items()
    ]  # fmt: skip
    drawn = [value["ns"] for value in values]
    domain = [min([*drawn, *limits.values()]) / 1.5, max(drawn) * 2]
    x = quantitative(
        "ns", "ns per element, logarithmic", scale={"type": "log", "domain": domain, "nice": False},
        axis={"format": "~g", "values": TIMES},
    )  # fmt: skip
    ours = f"split(datum.label, '.')[0] === '{OURS}' ? '{INK}' : '{GREY}'"
    y = {
        "field": "implementation", "type": "nominal", "sort": None,
        "scale": {"type": "band", "domain": list(times)},
        "axis": {"title": None, "grid": False, "labelLimit": 0, "labelColor": {"expr": ours}},
    }  # fmt: skip
    first, *rest = functions
    colours = [style(name).colour for name in functions]
    scale = {"domain": list(functions), "range": colours}
    layers = [*_limit_lines(limits, x)]
    for function, shape, size, filled, band in [
        *((name, "diamond", 45, False, 0.72) for name in rest),
        (first, "circle", 90, True, 0.5),
    ]:
        layers.append({
            "transform": [{"filter": f"datum.function === '{function}'"}],
            "mark": {"type": "point", "shape": shape, "size": size, "filled": filled,
                     "opacity": 1},
            "encoding": {
                "x": x, "y": {**y, "bandPosition": band},
                "color": {"field": "function", "type": "nominal", "scale": scale, "legend": None},
            },
        })  # fmt: skip
    layers.append({
        "transform": [{"filter": f"datum.function === '{first}'"}],
        "mark": {"type": "text", "dy": -11, "fontSize": 10.5, "color": INK},
        "encoding": {"x": x, "y": {**y, "bandPosition": 0.5}, "text": {"field": "shown"}},
    })  # fmt: skip
    threads = counted(row.threads, "thread")
    setting = f"{row.dtype}, {row.count:,} elements ({row.size}), {threads}"
    title = f"{' and '.join(functions)}: ns per element, {setting}"
    named = [f"disc: {first}", *(f"diamond: {name}" for name in rest)]
    key = "; ".join([*named, "dashed: a copy of the same bytes, and softgate's relu"])
    spec = {
        "width": TIME_WIDTH, "height": ROW * len(times) + 12, "data": {"values": values},
        "title": {"text": title, "subtitle": key, "offset": 18}, "layer": layers,
    }  # fmt: skip
    sentences = [
        f"{name} "
        + " and ".join(f"{it.least_ns:.2f} ({function})" for function, it in rows.items())
        for name, rows in times.items()
    ]
    ends = ", ".join(f"{name} {time_ns:.2f}" for name, time_ns in limits.items())
    return Chart(spec, f"{title}. {'; '.join(sentences)}. Lower limits: {ends}.")


def _limit_lines(limits: dict[str, float], x: Spec) -> list[Spec]:
    layers: list[Spec] = []
    for name, time_ns in limits.items():
        colour = style(RELU).colour if name == RELU else GREY
        left = time_ns == min(limits.values())
        mark = {"type": "text", "text": name, "align": "right" if left else "left",
                "dx": -4 if left else 4, "dy": -6, "fontSize": 11}  # fmt: skip
        layers.append({
            "data": {"values": [{"ns": time_ns}]},
            "encoding": {"x": x},
            "layer": [
                {"mark": {"type": "rule", "stroke": colour, "strokeDash": [4, 2]}},
                {"mark": mark, "encoding": {"y": {"value": 0}}},
            ],
        })  # fmt: skip
    return layers
