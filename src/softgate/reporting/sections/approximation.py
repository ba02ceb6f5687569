"""How far the tanh form and the sigmoid form are from GELU, over x."""

from __future__ import annotations

import math
from typing import Any

from softgate.plotting.vega import colours, dashes, powers, quantitative

from ..chart import chips, swatch, toggle
from ..section import HALF, Found, Section, figure
from ..studies.approximation import Approximation, Approximations
from ..table import Markup, minus, power, shown, table

TITLE = "Approximations"
HEIGHT = 280
LEAST = 1e-8
"""The lower end of the scale of errors."""
CAPTIONS = {
    "difference": "Absolute error |f(x) − GELU(x)|",
    "relative": "Relative error |f(x)/GELU(x) − 1|",
}


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("approximation", Approximations)
    charts = {f"approximation-{what}": _chart(record, what) for what in CAPTIONS}
    figures = "".join(
        figure(id, caption, _says(record, what), charts[id])
        for (what, caption), id in zip(CAPTIONS.items(), charts, strict=True)
    )
    named = [(one.label, swatch(one.name), True) for one in record.functions]
    body = (
        f"<p>{_introduction(record)}</p>"
        + chips("approximation-names", "Functions shown", named)
        + f'<div class="charts">{figures}</div>'
        + _summary(record)
        + _readings(record)
    )
    return Section("approximation", TITLE, body, charts, toggle("approximation-names", charts))


def _introduction(record: Approximations) -> str:
    parts = [
        f"{shown(one.label)} differs by at most {power(one.largest)} (at x = "
        f"{minus(f'{one.largest_at:.3f}')})"
        for one in record.functions
    ]
    return (
        f"GELU is x·Φ(x). {'; '.join(parts)}. In the left tail, where GELU itself is small, the "
        "relative error is what tells the forms apart. Where a curve drops, the difference changes "
        "its sign."
    )


def _says(record: Approximations, what: str) -> str:
    parts = []
    for one in record.functions:
        readings = ", ".join(
            f"{abs(getattr(reading, what)):.2e} at {reading.x:g}"
            for reading in one.readings
            if math.isfinite(reading.difference)
        )
        parts.append(f"{one.label}: {readings}")
    return f"{CAPTIONS[what]}, from {record.x[0]:g} to {record.x[-1]:g}. {'; '.join(parts)}."


def _summary(record: Approximations) -> str:
    rows = [
        (
            Markup(swatch(one.name) + shown(one.label)),
            power(one.largest),
            minus(f"{one.largest_at:.4f}"),
            power(one.mean),
            power(one.largest_slope),
            minus(f"{one.largest_slope_at:.4f}"),
        )
        for one in record.functions
    ]
    head = ("form", "largest error", "at x", "mean error, x from N(0,1)", "of slope", "at x")
    return table("Errors against GELU, from −6 to 6", head, rows)


def _readings(record: Approximations) -> str:
    points = [reading.x for reading in record.functions[0].readings]
    head = ("form", "error", *(minus(f"{x:g}") for x in points))
    rows = [row for one in record.functions for row in _lines(one)]
    return table("Error at points: f − GELU, and relative to GELU", head, rows, labels=2)


def _lines(one: Approximation) -> list[tuple[str, ...]]:
    named = Markup(swatch(one.name) + shown(one.label))
    return [
        (named, "absolute", *(power(reading.difference, 1) for reading in one.readings)),
        (named, "relative", *(power(reading.relative, 1) for reading in one.readings)),
    ]


def _chart(record: Approximations, what: str) -> dict[str, Any]:
    names = {one.label: one.name for one in record.functions}
    values = [
        {"f": one.label, "x": list(record.x), "y": list(getattr(one, what))}
        for one in record.functions
    ]
    most = max(1.0, *(y for one in values for y in one["y"] if y is not None))
    scale = {"type": "log", "clamp": True, "domain": [LEAST, most], "nice": False}
    return {
        "width": HALF,
        "height": HEIGHT,
        "params": [{"name": "shown", "value": list(names)}],
        "data": {"values": values},
        "transform": [{"filter": "indexof(shown, datum.f) >= 0"}, {"flatten": ["x", "y"]}],
        "mark": {"type": "line", "clip": True},
        "encoding": {
            "x": quantitative("x", "x", scale={"domain": [record.x[0], record.x[-1]]}),
            "y": quantitative(
                "y",
                None,
                scale=scale,
                axis={**powers(-8, math.floor(math.log10(most)), 2), "minExtent": 36},
            ),
            "color": {"field": "f", "scale": colours(names), "legend": None},
            "strokeDash": {"field": "f", "scale": dashes(names), "legend": None},
            "tooltip": {"field": "f", "title": "function"},
        },
    }
