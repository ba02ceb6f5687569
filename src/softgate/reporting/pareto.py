"""Error against time as a chart and a table: part of the section on speed."""

from __future__ import annotations

from typing import Any

from softgate.plotting.vega import WHOLE, implementation
from softgate.studies.bench.pareto import Pareto, ulps
from softgate.studies.bench.plots import AXES, pareto_spec

from .chart import coloured
from .section import Missing, Results, figure
from .table import Markup, breakable, shown, table

HEADING = "<h3>Error against time</h3>"
HEIGHT = 360


def front(results: Results, charts: dict[str, Any]) -> str:
    """Return error against time, or why it is not there; its chart goes to `charts`."""
    try:
        record = results.take("pareto", Pareto)
    except Missing as missing:
        return f'{HEADING}<p class="failed" role="note">{shown(str(missing))}.</p>'
    if not record.points:
        return f'{HEADING}<p class="failed" role="note">No implementation was measured.</p>'
    charts["pareto"] = pareto_spec(record, WHOLE, HEIGHT, AXES)
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
        f"{HEADING}<p>Left is faster, down is more accurate. Outlined and dashed is the Pareto "
        f'front: nothing else is both faster and more accurate.</p><div class="charts">{picture}'
        f"</div>{table(caption, head, rows)}"
    )
