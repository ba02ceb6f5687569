"""Speed: the time per element in each implementation, and error against time.

Error against time combines the times with the certificates of the section on accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from softgate.plotting.vega import HALF, TIMES, WHOLE, implementation, quantitative, scales
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations
from softgate.studies import counted
from softgate.studies.bench import bench
from softgate.studies.bench.pareto_measure import chosen_rows, joined
from softgate.studies.bench.pareto_record import Pareto, ulps
from softgate.studies.bench.plots import AXES, pareto_spec
from softgate.studies.bench.record import COPY, OURS, Bench, BenchRow, Setting, apart
from softgate.studies.bench.text import title
from softgate.studies.subjects.peers import absent

from ..elements import (
    Markup,
    MissingRecord,
    Results,
    Section,
    breakable,
    chips,
    coloured,
    figure,
    notes,
    shown,
    swatch,
    table,
    toggle,
)
from .accuracy import PEERS, AccuracyStudy

TITLE = "Speed"
TIMED = ("gelu", "gelu_tanh", "gelu_sigmoid", "silu", "relu", "elu", "tanh", "sigmoid", "mish")
SIZE = "64K"
"""Elements of a timed array: few, so that each function is timed many times."""
FUNCTION, DTYPE = "gelu", "float32"
"""What the chart of error against time is about."""
INSIDE_HEADING = "<h3>Inside the frameworks</h3>"
INSIDE = {
    "PyTorch": ("torch", "softgate.torch"),
    "JAX, jit": ("jax", "softgate.jax"),
    "TensorFlow, tf.function": ("tensorflow.function", "softgate.tensorflow"),
}
"""The framework's own function and softgate's on the same arrays, by the title of a row."""
INSIDE_SIZE = "1M"
PARETO_HEADING, PARETO_HEIGHT = "<h3>Error against time</h3>", 360
QUANTITIES = {"value": "Value", "backward": "Backward"}


def speed(
    formulas: Iterable[Activation], budget_s: float, progress: Callable[[str, int, int], None]
) -> Bench:
    """Time common activations and the user's, in softgate and in the installed peers."""
    return bench(
        [*TIMED, *formulas],
        peers=[name for name in PEERS if not absent(name)] or "none",
        size=SIZE,
        budget=budget_s,
        progress=progress,
    )


def inside(budget_s: float, progress: Callable[[str, int, int], None]) -> Bench:
    """Time softgate's GELU and the framework's own inside each installed framework."""
    names = [name for pair in INSIDE.values() for name in pair if not absent(name)]
    if not names:
        raise MissingRecord("inside", "no framework is installed", skipped=True)
    return bench(
        FUNCTION, peers=names, size=INSIDE_SIZE, buffers="fresh", budget=budget_s,
        progress=progress,
    )  # fmt: skip


def pareto(bench: Bench, accuracy: AccuracyStudy) -> Pareto:
    """Return error against time of GELU in every implementation both timed and certified."""
    certified = {c.implementation: c for c in accuracy.certified if c.function == FUNCTION}
    errors = {
        name: measurement
        for name, peer in certified.items()
        for measurement in peer.certificate
        if (measurement.quantity, measurement.dtype) == ("value", DTYPE)
    }
    rows = chosen_rows(bench, activations()[FUNCTION], DTYPE, bench.settings.threads[0])
    titles = {name: peer.title for name, peer in certified.items()}
    return replace(joined(bench, rows, errors, titles, {}), samples=accuracy.samples)


def section(results: Results) -> Section:
    """Return the times per element in each implementation, and error against time."""
    record = results.take("speed", Bench)
    charts: dict[str, Any] = {}
    figures = tables = ""
    for setting in record.settings_timed():
        rows = [row for row in record if row.setting == setting]
        id = f"speed-{len(charts)}"
        charts[id] = _chart(rows)
        caption = f"{QUANTITIES.get(setting[0], setting[0])}, {setting[1]}: ns per element"
        alternative = _alternative(f"{caption}, {_where(setting)}", rows)
        figures += figure(id, caption, alternative, charts[id])
        tables += _table(setting, rows)
    named = [(n, coloured(implementation(n).colour), True) for n in _implementations(record)]
    timed = list(charts)
    error_against_time = _error_against_time(results, charts)
    body = (
        "<p>Each time is the shortest of many runs; those of all implementations are "
        "interleaved, so that a disturbance affects all alike. The dashed line is the time of a "
        "copy of the same bytes, a lower limit for any function. Bold: the fastest "
        "implementation, and those whose difference from it is within the measurement noise. "
        "Frameworks call their own operators, each in its own process.</p>"
        + notes(record.warnings)
        + chips("speed-names", "Implementations shown", named)
        + f'<div class="charts">{figures}</div>{tables}{_inside(results)}{error_against_time}'
    )
    return Section("speed", TITLE, body, charts, toggle("speed-names", timed))


def _implementations(record: Bench) -> list[str]:
    return list(dict.fromkeys(row.implementation for row in record if row.function != COPY))


def _where(setting: Setting) -> str:
    _, _, count, size, threads, *_ = setting
    return f"{count:,} elements ({size}), {counted(threads, 'thread')}"


def _timed(rows: list[BenchRow]) -> dict[str, dict[str, float]]:
    """Return the shortest times by function and implementation."""
    times: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.least_ns is not None:
            times.setdefault(row.function, {})[row.implementation] = row.least_ns
    return times


def _alternative(caption: str, rows: list[BenchRow]) -> str:
    parts = [
        f"{function}: {', '.join(f'{name} {time:.2f}' for name, time in sorted(times.items()))}"
        for function, times in _timed(rows).items()
    ]
    return f"{caption}. {'; '.join(parts)}."


def _table(setting: Setting, rows: list[BenchRow]) -> str:
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
    heads = [
        Markup(f'<span class="nowrap">{coloured(implementation(name).colour)}{shown(name)}</span>')
        for name in columns
    ]
    return table(title(setting), ("function", *heads), body)


def _fastest(rows: list[BenchRow], function: str) -> set[str]:
    """Return the fastest implementation of a function, and those within the noise of it."""
    timed = [row for row in rows if row.function == function and row.least_ns is not None]
    best = min(timed, key=lambda row: row.least_ns or 0.0)
    return {row.implementation for row in timed if not apart(row, best)}


def _chart(rows: list[BenchRow]) -> dict[str, Any]:
    """Return a row for each function with a point for each implementation, on an axis of time."""
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
            *(floor if copy else []),  # the scale of an empty layer would be infinite
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


def _inside(results: Results) -> str:
    """Return the table of softgate's functions inside the frameworks, or the reason."""
    try:
        record = results.take("inside", Bench)
    except MissingRecord as missing:
        return f'{INSIDE_HEADING}<p class="failed" role="note">{shown(str(missing))}.</p>'
    rows = []
    settings = record.settings_timed()
    for setting in settings:
        times = _timed([row for row in record if row.setting == setting]).get(FUNCTION, {})
        for framework, (theirs, ours) in INSIDE.items():
            if theirs in times and ours in times:
                share = times[ours] / times[theirs]
                cells = (f"{times[theirs]:.3g}", f"{times[ours]:.3g}", f"{share:.2f}")
                rows.append((framework, QUANTITIES.get(setting[0], setting[0]), *cells))
    head = ("framework", "quantity", "its own, ns per element", "softgate, ns per element", "ratio")
    where = _where(settings[0]) if settings else ""
    return (
        f"{INSIDE_HEADING}<p>{shown(FUNCTION)} on the arrays of a framework, in its compiled "
        "programs: the framework’s own function, and softgate’s kernel, "
        "whose results have the same bits everywhere.</p>"
        + notes(record.warnings)
        + table(f"{FUNCTION}, {DTYPE}, {where}", head, rows)
    )


def _error_against_time(results: Results, charts: dict[str, Any]) -> str:
    """Add the chart of error against time to `charts`; return it with its table, or the reason."""
    try:
        record = results.take("pareto", Pareto)
    except MissingRecord as missing:
        return f'{PARETO_HEADING}<p class="failed" role="note">{shown(str(missing))}.</p>'
    if not record.points:
        return f'{PARETO_HEADING}<p class="failed" role="note">No implementation was measured.</p>'
    charts["pareto"] = pareto_spec(record, WHOLE, PARETO_HEIGHT, AXES)
    caption = f"{record.title}, {record.setting}"
    picture = figure("pareto", caption, record.alternative(), charts["pareto"])
    rows = [
        (
            Markup(coloured(implementation(point.implementation).colour) + breakable(point.title)),
            f"{point.least_ns:.3g}",
            ulps(point.max_ulp),
            ulps(point.normal_ulp),
            "yes" if point.on_front else "",
        )
        for point in record
    ]
    head = (
        "implementation",
        "ns per element",
        "max ulp",
        "max ulp without subnormals",
        "Pareto front",
    )
    return (
        f"{PARETO_HEADING}<p>Left is faster, down is more accurate. Pareto front (outlined, dashed "
        "line): nothing else is both faster and more accurate.</p>"
        f'<div class="charts">{picture}</div>{table(caption, head, rows)}'
    )
