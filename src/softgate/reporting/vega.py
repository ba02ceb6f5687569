"""Charts by Vega: compiled and drawn here once, drawn again by the page's own script.

Vega-Lite is compiled in Python, so that the page starts sooner. Its script comes out of the
package vl-convert-python, which needs no network and no Node. Colours of text and axes are left to
the page's style sheet: one drawing serves the light and the dark theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

NARROW = 326
"""The width of a chart on a phone of 390 pixels."""
MISSING = "the report needs vl-convert-python: pip install 'softgate[report]'"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"

CONFIG: dict[str, Any] = {
    "background": None,
    "aria": False,  # the element around it says in words what the chart shows
    "font": FONT,
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
        "gridColor": "#dddddd",
        "labelOverlap": True,
        "labelSeparation": 4,
    },
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": "#555555"},
    "line": {"strokeWidth": 2, "strokeCap": "butt", "strokeJoin": "round"},
}


@cache
def library() -> ModuleType:
    """Return vl_convert; an ImportError says how to get it."""
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise ImportError(MISSING) from error
    return vl_convert


@cache
def script() -> str:
    """Return the JavaScript that draws: Vega and what embeds it, in one piece."""
    found: str = library().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return found


def compiled(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Vega-Lite specification as one of Vega, as large as its element."""
    whole = {
        **spec,
        "autosize": {"type": "fit", "contains": "padding"},
        "config": CONFIG,
    }
    found: dict[str, Any] = library().vegalite_to_vega(whole)
    found.pop("$schema", None)  # an address, and nothing is ever loaded from one
    return found


def drawn(vega: Mapping[str, Any], width: float) -> str:
    """Return the SVG of a Vega specification at a width."""
    svg: str = library().vega_to_svg({**vega, "width": width})
    return svg.replace('xmlns="http://www.w3.org/2000/svg"', "", 1).replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', "", 1
    )
