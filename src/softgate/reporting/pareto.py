"""Error against time as a chart and a table: part of the section on speed."""

from __future__ import annotations

from typing import Any

from softgate.plotting.vega import TIMES, Spec, implementation, powers, quantitative, scales
from softgate.studies.bench.pareto import Pareto, ulps

from .chart import coloured
from .section import WHOLE, Missing, Results, figure
from .table import Markup, breakable, shown, table

HEADING = "<h3>Error against time</h3>"
LEVELS = (-14, 16, -28)
"""How far above and below their points names stand, in pixels."""
MOST = 1e8
"""Where a result that is no number is drawn, on the scale of errors."""


def front(results: Results, charts: dict[str, Any]) -> str:
    """Return error against time, or why it is not there; its chart goes to `charts`."""
    try:
        record = results.take("pareto", Pareto)
    except Missing as missing:
        return f'{HEADING}<p class="failed" role="note">{shown(str(missing))}.</p>'
    charts["pareto"] = _chart(record)
    caption = f"{record.title}, {record.setting}"
    picture = figure("pareto", caption, record.alternative(), charts["pareto"])
    rows = [
        (
            Markup(coloured(implementation(one.implementation).colour) + breakable(one.title)),
            f"{one.least_ns:.3g}",
            ulps(one.max_ulp),
            ulps(one.normal_ulp),
            "on it" if one.on_front else "",
        )
        for one in record
    ]
    head = (
        "implementation",
        "ns per element",
        "max ulp",
        "if nothing is subnormal",
        "Pareto front",
    )
    return (
        f"{HEADING}<p>Left is faster, down is more exact. On the front is who is beaten by nobody "
        f'in both.</p><div class="charts">{picture}</div>{table(caption, head, rows)}'
    )


def _chart(record: Pareto) -> Spec:
    across = {"type": "log", "padding": 24, "nice": False}
    upright = {"type": "log", "domain": [0.3, MOST * 3], "nice": False, "clamp": True}
    times = {"format": "~g", "values": TIMES}
    shared: Spec = {
        "x": quantitative("ns", "ns per element, logarithmic", scale=across, axis=times),
        "y": quantitative("ulp", "largest error in ulps", scale=upright, axis=powers(0, 8, 2)),
    }
    return {
        "width": WHOLE,
        "height": 340,
        "data": {"values": _values(record)},
        "layer": [_line(shared), _dots(record, shared), *(_names(shared, one) for one in LEVELS)],
    }


def _values(record: Pareto) -> list[Spec]:
    """Return the points; names stand at several heights in turn, so that none hides another."""
    return [
        {
            "f": one.implementation,
            "ns": one.least_ns,
            "ulp": min(one.max_ulp, MOST),
            "says": ulps(one.max_ulp),
            "front": one.on_front,
            "level": LEVELS[place % len(LEVELS)],
        }
        for place, one in enumerate(record)
    ]


def _line(shared: Spec) -> Spec:
    """Return the line through who is on the front."""
    mark = {"type": "line", "interpolate": "step-after", "stroke": "#888888", "strokeWidth": 1.2}
    return {
        "transform": [{"filter": "datum.front"}],
        "mark": {**mark, "strokeDash": [4, 3]},
        "encoding": shared,
    }


def _dots(record: Pareto, shared: Spec) -> Spec:
    colours, _ = scales([one.implementation for one in record], {})
    return {
        "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
        "encoding": {
            **shared,
            "color": {"field": "f", "scale": colours, "legend": None},
            "tooltip": [
                {"field": "f", "title": "implementation"},
                {"field": "ns", "title": "ns per element", "format": ".3g"},
                {"field": "says", "title": "largest error, ulps"},
            ],
        },
    }


def _names(shared: Spec, level: int) -> Spec:
    return {
        "transform": [{"filter": f"datum.level === {level}"}],
        "mark": {"type": "text", "dy": level, "fontSize": 12, "style": "named"},
        "encoding": {**shared, "text": {"field": "f"}},
    }
