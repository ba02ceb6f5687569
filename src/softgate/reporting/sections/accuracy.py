"""Certificates: how exact our kernels and the installed peers are, and where they are not."""

from __future__ import annotations

import math
from typing import Any

from softgate.plotting.vega import implementation, powers, quantitative, scales
from softgate.studies.certify.record import Measurement

from ..chart import chips, coloured, swatch, toggle
from ..section import WHOLE, Found, Section, figure
from ..studies.accuracy import FUNCTIONS, Accuracy, Certified
from ..table import Markup, breakable, minus, shown, table

TITLE = "Accuracy"
HEIGHT = 300
FURTHEST = 20.0
PLACES = [-20, -10, -5, -2, -1, -0.5, 0, 0.5, 1, 2, 5, 10, 20]
LEAST, MOST = 0.1, 1e8
"""What the scale of errors covers; NaN for a number is drawn at its upper end."""
COUNTS = {
    "not_numbers": "no number",
    "wrong_signs": "wrong sign",
    "lost": "0 for a normal number",
    "flushed": "0 for a subnormal",
}
"""What is counted, and shown where it occurs at all."""


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("accuracy", Accuracy)
    drawn = [one for one in record.certified if one.function == "gelu" or _is_own(one)]
    charts: dict[str, Any] = {}
    figures = ""
    for quantity in ("value", "slope"):
        lines = {_name(one): m for one in drawn for m in one.certificate if m.quantity == quantity}
        if lines:
            id = f"accuracy-{quantity}"
            charts[id] = _chart(lines, {_name(one): one.function for one in drawn if _is_own(one)})
            whose = "GELU’s and of your formula’s" if any(map(_is_own, drawn)) else "GELU’s"
            caption = f"Error of {whose} {quantity} in float32, in ulps, over x"
            figures += figure(id, caption, _says(caption, lines), charts[id])
    body = (
        "<p>One ulp is the spacing of float32 at the exact result; half an ulp is the best there "
        "is. A certificate compares with a rigorous truth at "
        f"{record.samples:,} inputs: every exponent and both signs, ends, roots, and points that "
        "are hard to round. For a slope, ulps are those of its larger part, as beside its root "
        "they mean nothing.</p>"
        + chips("accuracy-names", "Implementations shown", [_chip(one) for one in drawn])
        + f'<div class="charts">{figures}</div>'
        + _table(record)
        + _left_out(record)
    )
    return Section("accuracy", TITLE, body, charts, toggle("accuracy-names", charts))


def _is_own(one: Certified) -> bool:
    return one.function not in FUNCTIONS


def _name(one: Certified) -> str:
    return one.function if _is_own(one) else one.implementation


def _swatch(one: Certified) -> str:
    own = one.function.partition(":")[0]
    return swatch(own) if _is_own(one) else coloured(implementation(one.implementation).colour)


def _chip(one: Certified) -> tuple[str, str, bool]:
    return _name(one), _swatch(one), True


def _table(record: Accuracy) -> str:
    measured = [(one, found) for one in record.certified for found in one.certificate]
    counted = [count for count in COUNTS if any(found.total(count) for _, found in measured)]
    head = (
        "function", "implementation", "of", "max ulp", "at x", "rounded right",
        *(COUNTS[count] for count in counted), "±0, ±inf, NaN",
    )  # fmt: skip
    rows = [_row(one, found, counted) for one, found in measured]
    return table("Certificates in float32", head, rows, labels=2)


def _row(one: Certified, found: Measurement, counted: list[str]) -> tuple[str, ...]:
    wrong = sum(not special.right for special in found.specials)
    return (
        one.function,
        Markup(_swatch(one) + breakable(one.title)),
        found.quantity,
        _ulps(found.max_ulp),
        minus(f"{found.worst.worst:.5g}"),
        f"{100 * found.rounded_share:.1f} %",
        *(f"{found.total(count):,}" for count in counted),
        "all right" if not wrong else f"{wrong} wrong",
    )


def _ulps(error: float) -> str:
    if math.isinf(error):
        return "no number"
    return f"{error:.2f}" if error < 1000 else f"{error:,.0f}"


def _left_out(record: Accuracy) -> str:
    if not record.left_out:
        return ""
    lines = "".join(f"<li>{shown(line)}</li>" for line in record.left_out)
    count = len(record.left_out)
    return f"<details><summary>Not measured ({count})</summary><ul>{lines}</ul></details>"


def _says(caption: str, lines: dict[str, Measurement]) -> str:
    parts = [
        f"{name} at most {_ulps(found.max_ulp)}, at x = {found.worst.worst:.5g}"
        for name, found in lines.items()
    ]
    return f"{caption}. {'; '.join(parts)}."


def _chart(lines: dict[str, Measurement], own: dict[str, str]) -> dict[str, Any]:
    values = [{"f": name, **_points(found)} for name, found in lines.items()]
    colours, dashes = scales(lines, {name: one.partition(":")[0] for name, one in own.items()})
    across = {"type": "symlog", "constant": 0.25, "domain": [-FURTHEST, FURTHEST], "nice": False}
    upright = {"type": "log", "domain": [LEAST, MOST], "clamp": True, "nice": False}
    places = {"format": "~g", "values": PLACES}
    half = {"type": "rule", "strokeWidth": 1, "strokeDash": [4, 3], "stroke": "#888888"}
    return {
        "width": WHOLE,
        "height": HEIGHT,
        "params": [{"name": "shown", "value": list(lines)}],
        "layer": [
            {
                "data": {"values": values},
                "transform": [
                    {"filter": "indexof(shown, datum.f) >= 0"},
                    {"flatten": ["x", "y"]},
                ],
                "mark": {"type": "line", "clip": True, "strokeWidth": 1.6},
                "encoding": {
                    "x": quantitative("x", "x", scale=across, axis=places),
                    "y": quantitative(
                        "y", None, scale=upright, axis={**powers(-1, 8, 1), "minExtent": 36}
                    ),
                    "color": {"field": "f", "scale": colours, "legend": None},
                    "strokeDash": {"field": "f", "scale": dashes, "legend": None},
                    "tooltip": {"field": "f", "title": "implementation"},
                },
            },
            {
                "data": {"values": [{"y": 0.5}]},
                "mark": half,
                "encoding": {"y": {"field": "y", "type": "quantitative"}},
            },
        ],
    }  # fmt: skip


def _points(found: Measurement) -> dict[str, list[float]]:
    """Return the middle of each step of the number line, and the largest error there."""
    edges = found.profile.edges
    steps = [
        ((low + high) / 2, min(error, MOST))
        for low, high, error in zip(edges, edges[1:], found.profile.max_ulp, strict=False)
        if error is not None and max(abs(low), abs(high)) <= FURTHEST
    ]
    return {"x": [float(f"{x:.5g}") for x, _ in steps], "y": [max(y, LEAST) for _, y in steps]}
