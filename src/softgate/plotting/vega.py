"""Vega-Lite charts: parts that specifications share, and the rendering of SVG, PNG and PDF.

A picture is one Vega-Lite specification. `save` writes it to a file; the report embeds it in a page
and runs the same Vega there. Both come from the package vl-convert-python, which needs neither a
network nor Node.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from .palette import Style, style

Spec = dict[str, Any]

NARROW = 326
"""Width in pixels of a chart on a phone screen of 390 pixels."""
LINE_WIDTH = 2
NAME_SIZE, NAME_HEIGHT = 12, 15
"""Font size and line height in pixels of names in a chart."""
INK, GRID, GREY = "#222222", "#dddddd", "#767676"
"""Text on white; grid lines; the lightest grey with a contrast of 4.5:1 on white."""
CROSS = "M-1,-1L1,1M-1,1L1,-1"
"""SVG path of a point mark, for values that the axis cannot show."""
TIMES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
"""Axis ticks for times in ns."""
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
"""Colour and dash of an implementation, from the palette's pool; others get those of their name."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

CONFIG: Spec = {
    "background": None,
    "aria": False,  # the element around the chart has the text alternative
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif",
    "padding": {"left": 2, "right": 12, "top": 8, "bottom": 2},
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelPadding": 5,
        "domain": False,
        "tickSize": 0,
        "labelColor": "#555555",
        "titleColor": "#555555",
        "gridColor": GRID,
        "labelOverlap": True,
        "labelSeparation": 4,
    },
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": "#555555"},
    "line": {"strokeWidth": LINE_WIDTH, "strokeCap": "butt", "strokeJoin": "round"},
}
"""Settings of the report's charts; its style sheet sets text colours for light and dark themes."""


@cache
def library(extra: str = "plot") -> ModuleType:
    """Return vl_convert; raise an ImportError that names the extra that installs it."""
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        needs = "the report needs" if extra == "report" else "pictures in files need"
        raise ImportError(f"{needs} vl-convert-python: pip install 'softgate[{extra}]'") from error
    return vl_convert


@cache
def script() -> str:
    """Return the JavaScript of Vega and vega-embed, in one piece."""
    bundle: str = library("report").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def compile_for_page(spec: Mapping[str, Any]) -> Spec:
    """Return a Vega-Lite specification compiled to Vega, as large as its element on the page."""
    vega: Spec = library("report").vegalite_to_vega(
        {**spec, "autosize": {"type": "fit", "contains": "padding"}, "config": CONFIG}
    )
    vega.pop("$schema", None)  # a URL, and the page loads nothing
    return vega


def svg_for_page(vega: Mapping[str, Any], width: float) -> str:
    """Return the SVG of a Vega specification at a width, without name spaces that HTML implies."""
    svg: str = library("report").vega_to_svg({**vega, "width": width})
    return svg.replace('xmlns="http://www.w3.org/2000/svg"', "", 1).replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', "", 1
    )


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
    labels = [str(10**k) if 0 <= k <= 2 else f"10{str(k).translate(SUPERSCRIPT)}" for k in places]
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
