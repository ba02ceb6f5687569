"""Parts that charts share: colours by name, a filter by what is shown, the mark of a cursor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from softgate.plotting.palette import Style, style

LINE_WIDTH = 2
TIMES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
"""Where axes of times, in ns, have numbers and lines."""
IMPLEMENTATIONS = {
    "softgate": ("#0051f3", "solid"),
    "torch": ("#fc362d", "dashed"),
    "jax": ("#00996c", "dashdot"),
    "tensorflow": ("#997509", "long"),
    "onnxruntime": ("#bd63fc", "short"),
    "scipy": ("#7e9990", "dotted"),
    "keras": ("#ea6c7e", "dashdotdot"),
    "transformers": ("#6c8700", "dashed"),
    "textbook": ("#876399", "dotted"),
}
"""Colour and dash of an implementation, from the palette's pool; others go by their names."""
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Spec = dict[str, Any]


def colours(names: Mapping[str, str]) -> Spec:
    """Return a scale of colours; `names` has, by label, the name that an activation is drawn by."""
    return {"domain": list(names), "range": [style(name).colour for name in names.values()]}


def dashes(names: Mapping[str, str]) -> Spec:
    """Return a scale of dash patterns, as `colours` does."""
    patterns = [[LINE_WIDTH * part for part in style(n).pattern] or [1, 0] for n in names.values()]
    return {"domain": list(names), "range": patterns}


def quantitative(field: str, title: str | None, **more: Any) -> Spec:
    """Return an axis of numbers."""
    axis = {"title": title, **more.pop("axis", {})}
    return {"field": field, "type": "quantitative", "axis": axis, **more}


def powers(low: int, high: int, step: int) -> Spec:
    """Return the numbers of a logarithmic axis: 10 to some powers, written so."""
    places = list(range(low, high + 1, step))
    labels = [str(10**k) if 0 <= k <= 2 else f"10{str(k).translate(RAISED)}" for k in places]
    values = [float(f"1e{k}") for k in places]
    named = json.dumps(labels, ensure_ascii=False)
    return {"values": values, "labelExpr": f"{named}[indexof({json.dumps(values)}, datum.value)]"}


def rule(at: str, kind: str = "cursor", channel: str = "x") -> Spec:
    """Return a thin line across the chart at an expression's value."""
    return {
        "data": {"values": [{}]},
        "transform": [{"calculate": at, "as": "at"}],
        "mark": {
            "type": "rule",
            "style": kind,
            "strokeWidth": 1,
            "clip": True,
            "stroke": "#888888",
        },
        "encoding": {channel: {"field": "at", "type": "quantitative"}},
    }


def swatch(name: str) -> str:
    """Return a short line in the colour of an activation, for legends and tables."""
    return coloured(style(name).colour)


def coloured(colour: str) -> str:
    """Return a short line in a colour."""
    return f'<span class="swatch" style="border-color:{escape(colour)}" aria-hidden="true"></span>'


def chips(id: str, about: str, named: Iterable[tuple[str, str, bool]]) -> str:
    """Return buttons that show and hide lines: what each stands for, its swatch, whether it is on.

    They are buttons and no legend inside the chart, so that keys and screen readers reach them.
    """
    buttons = "".join(
        f'<button type="button" data-name="{escape(name)}" aria-pressed="{str(on).lower()}">'
        f"{drawn}{escape(name)}</button>"
        for name, drawn, on in named
    )
    return (
        f'<div class="chips" id="{escape(id)}" role="group" aria-label="{escape(about)}">'
        f"{buttons}</div>"
    )


def implementation(name: str) -> Style:
    """Return how an implementation is drawn."""
    return Style(*IMPLEMENTATIONS[name]) if name in IMPLEMENTATIONS else style(name)


def scales(names: Iterable[str], own: Mapping[str, str]) -> tuple[Spec, Spec]:
    """Return colours and dashes of implementations, and of functions by the name in `own`."""
    styles = {name: style(own[name]) if name in own else implementation(name) for name in names}
    patterns = [[LINE_WIDTH * part for part in one.pattern] or [1, 0] for one in styles.values()]
    domain = list(styles)
    return (
        {"domain": domain, "range": [one.colour for one in styles.values()]},
        {"domain": domain, "range": patterns},
    )
