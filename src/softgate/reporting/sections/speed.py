"""What an element costs in each implementation, and error against time."""

from __future__ import annotations

from typing import Any

from softgate.plotting.vega import TIMES, implementation, quantitative, scales
from softgate.studies.bench.ratios import apart
from softgate.studies.bench.record import COPY, OURS, Bench, Row, Setting
from softgate.studies.bench.text import title

from ..chart import chips, coloured, swatch, toggle
from ..pareto import front
from ..section import HALF, Found, Section, figure
from ..table import Markup, notes, shown, table

TITLE = "Speed"
QUANTITIES = {"value": "Value", "backward": "Backward"}


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("speed", Bench)
    charts: dict[str, Any] = {}
    bars = tables = ""
    for setting in record.settings_timed():
        rows = [row for row in record if row.setting == setting]
        id = f"speed-{len(charts)}"
        charts[id] = _bars(rows)
        caption = f"{QUANTITIES.get(setting[0], setting[0])}, {setting[1]}: ns per element"
        says = _says(f"{caption}, {_where(setting)}", rows)
        bars += figure(id, caption, says, charts[id])
        tables += _table(setting, rows)
    named = [(n, coloured(implementation(n).colour), True) for n in _implementations(record)]
    chosen = list(charts)
    traded = front(found, charts)
    body = (
        "<p>Least time of many interleaved turns, so that what disturbs one disturbs all. A copy "
        "of the same bytes, the dashed line, is the floor; bold is what is fastest, and what "
        "cannot be told apart from it. Frameworks call their own operators, each in a process of "
        "its own.</p>"
        + notes(record.warnings)
        + chips("speed-names", "Implementations shown", named)
        + f'<div class="charts">{bars}</div>{tables}{traded}'
    )
    return Section("speed", TITLE, body, charts, toggle("speed-names", chosen))


def _implementations(record: Bench) -> list[str]:
    return list(dict.fromkeys(row.implementation for row in record if row.function != COPY))


def _where(setting: Setting) -> str:
    _, dtype, count, size, threads, *_ = setting
    return f"{dtype}, {count:,} elements ({size}), {threads} thread{'s' if threads > 1 else ''}"


def _timed(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Return times by function and implementation."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.least_ns is not None:
            found.setdefault(row.function, {})[row.implementation] = row.least_ns
    return found


def _says(caption: str, rows: list[Row]) -> str:
    parts = [
        f"{function}: {', '.join(f'{name} {time:.2f}' for name, time in sorted(times.items()))}"
        for function, times in _timed(rows).items()
    ]
    return f"{caption}. {'; '.join(parts)}."


def _table(setting: Setting, rows: list[Row]) -> str:
    timed = _timed(rows)
    columns = list(dict.fromkeys(row.implementation for row in rows if row.function != COPY))
    body = []
    for function, times in timed.items():
        least = min(times.values())
        cells = [
            Markup(f'<span class="best">{times[name]:.3g}</span>')
            if name in _fastest(rows, function)
            else (f"{times[name]:.3g}" if name in times else "–")
            for name in (columns if function != COPY else [])
        ]
        if function == COPY:
            cells = [f"{least:.3g}", *[""] * (len(columns) - 1)]
        body.append((Markup(swatch(function) + shown(function)), *cells))
    heads = [_named(name) for name in columns]
    return table(title(setting), ("function", *heads), body)


def _fastest(rows: list[Row], function: str) -> set[str]:
    """Return the fastest implementation of a function, and those not told apart from it."""
    timed = [row for row in rows if row.function == function and row.least_ns is not None]
    best = min(timed, key=lambda row: row.least_ns or 0.0)
    return {row.implementation for row in timed if not apart(row, best)}


def _named(name: str) -> Markup:
    swatch = coloured(implementation(name).colour)
    return Markup(f'<span class="nowrap">{swatch}{shown(name)}</span>')


def _bars(rows: list[Row]) -> dict[str, Any]:
    """Return dots on a line for each function: an implementation each, on a scale of times."""
    timed = _timed(rows)
    copy = timed.pop(COPY, {})
    names = list(dict.fromkeys(name for times in timed.values() for name in times))
    colours, _ = scales(names, {})
    values = [
        {"function": function, "f": name, "ns": time}
        for function, times in timed.items()
        for name, time in times.items()
    ]
    across = {"type": "log", "nice": False, "padding": 10}
    mine = f"datum.f === '{OURS}'"
    floor = [
        {
            "data": {"values": [{"ns": time} for time in copy.values()]},
            "mark": {"type": "rule", "strokeDash": [4, 3], "stroke": "#888888"},
            "encoding": {"x": {"field": "ns", "type": "quantitative"}},
        }
    ]
    return {
        "width": HALF,
        "height": 40 + 26 * len(timed),
        "params": [{"name": "shown", "value": names}],
        "layer": [
            *(floor if copy else []),  # a scale of nothing would reach to infinity
            {
                "data": {"values": values},
                "transform": [{"filter": "indexof(shown, datum.f) >= 0"}],
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {
                    "x": quantitative(
                        "ns", "ns per element, logarithmic", scale=across,
                        axis={"format": "~g", "values": TIMES},
                    ),
                    "y": {
                        "field": "function", "type": "nominal", "sort": None,
                        "axis": {"title": None, "grid": True, "minExtent": 84, "labelLimit": 110},
                        "scale": {"domain": list(timed)},
                    },
                    "color": {"field": "f", "scale": colours, "legend": None},
                    "size": {"condition": {"test": mine, "value": 150}, "value": 70},
                    "shape": {"condition": {"test": mine, "value": "diamond"}, "value": "circle"},
                    "tooltip": [
                        {"field": "function"},
                        {"field": "f", "title": "implementation"},
                        {"field": "ns", "title": "ns per element", "format": ".3g"},
                    ],
                },
            },
        ],
    }  # fmt: skip
