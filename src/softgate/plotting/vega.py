"""Vega-Lite charts: parts that specifications share, and rendering as SVG, PNG and PDF.

A chart is one Vega-Lite specification. `save` writes it to a file; the report embeds it in a page
and runs the same Vega there. Both are provided by the package vl-convert-python, which needs
neither a network nor Node.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any

from softgate.records.files import PICTURES, file_format, output_path, write_file
from softgate.records.packages import require
from softgate.records.text import escape, visible

from .palette import Style, style
from .polylines import apart

Spec = dict[str, Any]

HALF, WHOLE, NARROW = 524, 1080, 326
"""Pixels of a chart on a page: half and all of a wide one, and on a phone of 390 pixels."""
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
    "torch": ("#fc0063", "dashed"),
    "jax": ("#007e5a", "dashdot"),
    "tensorflow": ("#997500", "long"),
    "onnxruntime": ("#a248fc", "short"),
    "scipy": ("#487e7e", "dotted"),
    "keras": ("#d87575", "dashdotdot"),
    "transformers": ("#6c8700", "dashed"),
    "textbook": ("#995190", "dotted"),
}
"""Colour and dash of implementations, from the palette; others have those of their name."""
CLIP = re.compile(r"(?<=[\"#])clip\d+\b")
SIZE = re.compile(r'\b(?:width|height)="([\d.]+)"')
PDF_ENTRIES = re.compile(rb"(?:^ */[a-z]+\d+ [^\n]*\n)+", re.MULTILINE)
PDF_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
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
FILE_CONFIG: Spec = {
    **CONFIG,
    "background": "#ffffff",
    "font": "'Liberation Sans', Arial, Helvetica, sans-serif",  # vl-convert includes the first
    "padding": 14,
    "axis": {**CONFIG["axis"], "labelColor": INK, "titleColor": INK, "labelFlush": False,
             "labelPadding": 8},
    "legend": {
        "labelFontSize": 11, "labelColor": INK, "title": None, "orient": "top", "offset": 4,
        "padding": 0, "columnPadding": 8, "symbolSize": 90, "symbolStrokeWidth": LINE_WIDTH,
        "labelLimit": 0,
    },
    "text": {"color": INK, "fontSize": NAME_SIZE},
    "title": {
        "anchor": "start", "fontSize": 13, "fontWeight": "normal", "color": INK, "offset": 8,
        "subtitleFontSize": 11, "subtitleColor": INK, "subtitlePadding": 4,
    },
}  # fmt: skip
"""Settings of charts in files, which are on white."""
PIXELS_PER_INCH, PNG_PIXELS_PER_INCH = 96, 200


@cache
def library(extra: str = "plot") -> ModuleType:
    """Return vl_convert; raise an ImportError that names the extra that installs it."""
    purpose = "the report" if extra == "report" else "a picture in a file"
    require("vl_convert", purpose=purpose, extra=extra)
    import vl_convert

    return vl_convert


@cache
def script() -> str:
    """Return the JavaScript of Vega and vega-embed, in one piece."""
    bundle: str = library("report").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def visible_spec(part: Any) -> Any:
    """Return a specification whose texts have no control characters, on which Vega aborts."""
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, Mapping):
        return {visible(name): visible_spec(item) for name, item in part.items()}
    if isinstance(part, list | tuple):
        return [visible_spec(item) for item in part]
    return part


def compile_for_page(spec: Mapping[str, Any]) -> Spec:
    """Return a Vega-Lite specification compiled to Vega, as large as its element on the page."""
    vega: Spec = library("report").vegalite_to_vega(
        {
            **visible_spec(spec),
            "autosize": {"type": "fit", "contains": "padding"},
            "config": CONFIG,
        }
    )
    vega.pop("$schema", None)  # a URL: the page must not refer to any
    return vega


def svg_for_page(vega: Mapping[str, Any], width: float) -> str:
    """Return the SVG of a Vega specification at a width, without name spaces that HTML implies."""
    svg: str = library("report").vega_to_svg({**vega, "width": width})
    return svg.replace('xmlns="http://www.w3.org/2000/svg"', "", 1).replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', "", 1
    )


@dataclass(frozen=True)
class Panel:
    """A part of a chart: its Vega-Lite specification, its caption and its text alternative."""

    spec: Spec
    caption: str
    alternative: str


@dataclass(frozen=True)
class Chart:
    """A chart for files and notebooks: a Vega-Lite specification and its text alternative.

    Attributes
    ----------
    spec : mapping
        The Vega-Lite specification.
    alternative : str
        The text alternative; the title of an SVG file.
    width : float, optional
        Inches to scale the chart to; without, 96 pixels of the specification are an inch.
    """

    spec: Mapping[str, Any]
    alternative: str
    width: float | None = None

    def svg(self) -> str:
        """Return the chart as SVG; the same chart gives the same text."""
        svg: str = library().vegalite_to_svg({**visible_spec(self.spec), "config": FILE_CONFIG})
        ids = {name: f"clip{i}" for i, name in enumerate(dict.fromkeys(CLIP.findall(svg)))}
        svg = CLIP.sub(lambda match: ids[match[0]], svg)  # Vega numbers them across charts
        opening, _, body = svg.partition(">")
        if self.width is not None:
            wide, high = (float(size) for size in SIZE.findall(opening))
            pixels = self.width * PIXELS_PER_INCH
            sizes = iter((f'width="{pixels:g}"', f'height="{pixels * high / wide:g}"'))
            opening = SIZE.sub(lambda _: next(sizes), opening)
        return f'{opening} role="img">\n<title>{escape(self.alternative)}</title>{body}\n'

    def render(self, kind: str) -> bytes:
        """Return the content of an "svg", "png" or "pdf" file."""
        svg = self.svg()
        if kind == "svg":
            return svg.encode()
        if kind == "png":
            scale = 72 / PIXELS_PER_INCH  # vl-convert treats a pixel as a point
            png: bytes = library().svg_to_png(svg, scale=scale, ppi=PNG_PIXELS_PER_INCH)
            return png
        return ordered_pdf(library().svg_to_pdf(svg))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write an .svg, .png or .pdf file; raise ValueError for other names."""
        path = output_path(file, PICTURES)
        write_file(path, self.render(file_format(path)))

    def _repr_svg_(self) -> str:
        return self.svg()


def ordered_pdf(data: bytes) -> bytes:
    """Return a PDF file with its objects in the order of their first use.

    vl-convert writes fonts and opacities in the order of a hash table, which varies. A
    file without a plain cross-reference table, from another PDF writer, is returned unchanged.
    """
    table = int(data[data.rindex(b"startxref") :].split()[1])
    if not data.startswith(b"xref", table):
        return data
    trailer = data[data.rindex(b"trailer") : data.rindex(b"startxref")]
    starts = [int(at) for at in re.findall(rb"(\d{10}) 00000 n", data[table:])]
    ends = dict(pairwise([*sorted(starts), table]))
    objects: dict[int, tuple[bytes, bytes]] = {}
    for number, at in enumerate(starts, 1):
        head, mark, stream = data[at : ends[at]].partition(b"\nstream\n")
        head = PDF_ENTRIES.sub(lambda match: b"".join(sorted(match[0].splitlines(True))), head)
        objects[number] = head.partition(b" 0 obj")[2], mark + stream
    order: dict[int, int] = {}
    waiting = [int(number) for number in PDF_REFERENCE.findall(trailer)]
    while waiting:
        number = waiting.pop(0)
        if number not in order:
            order[number] = len(order) + 1
            waiting += [int(other) for other in PDF_REFERENCE.findall(objects[number][0])]

    def renumbered(text: bytes) -> bytes:
        return PDF_REFERENCE.sub(lambda match: b"%d 0 R" % order[int(match[1])], text)

    result, places = data[: min(starts)], []
    for number, new in order.items():
        head, stream = objects[number]
        places.append(b"%010d 00000 n\r\n" % len(result))
        result += b"%d 0 obj" % new + renumbered(head) + stream
    count = len(order) + 1
    trailer = re.sub(rb"/Size \d+", b"/Size %d" % count, renumbered(trailer))
    head = b"xref\n0 %d\n0000000000 65535 f\r\n" % count
    return result + head + b"".join(places) + trailer + b"startxref\n%d\n%%%%EOF" % len(result)


def concat(direction: str, specs: Sequence[Spec], **more: Any) -> Spec:
    """Return charts side by side ("hconcat") or one below another ("vconcat")."""
    independent = dict.fromkeys(("color", "strokeDash", "fill", "stroke", "opacity"), "independent")
    return {direction: list(specs), "spacing": 28, "resolve": {"scale": independent}, **more}


def line_ends(ends: Sequence[tuple[str, Style, float]], width: float, height: float) -> list[Spec]:
    """Return layers with names to the right of a line chart and leaders from the ends of lines.

    Parameters
    ----------
    ends : sequence of (str, Style, float)
        Name and style of each line, and the height of its end in pixels from the top.
    width, height : float
        Of the chart in pixels.
    """
    rises = apart([height - y for *_, y in ends], 0, height, NAME_HEIGHT)
    places = [height - rise for rise in rises]
    pixels = {"type": "quantitative", "scale": None, "axis": None}
    layers: list[Spec] = []
    for (name, drawn, end), place in zip(ends, places, strict=True):
        path = [(width + 2, end), (width + 12, place), (width + 20, place)]
        line = {"type": "line", "stroke": drawn.colour, "strokeWidth": 1.5,
                "strokeDash": dash_array(drawn)}  # fmt: skip
        layers.append({
            "data": {"values": [{"px": x, "py": y, "name": name} for x, y in path]},
            "encoding": {"x": {"field": "px", **pixels}, "y": {"field": "py", **pixels}},
            "layer": [
                {"mark": line},
                {
                    "transform": [{"filter": f"datum.px === {width + 20}"}],
                    "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 4},
                    "encoding": {"text": {"field": "name"}},
                },
            ],
        })  # fmt: skip
    return layers


def dash_array(drawn: Style) -> list[float]:
    """Return the dash pattern of a line in pixels, of its strokes and gaps."""
    return [LINE_WIDTH * part for part in drawn.pattern] or [1, 0]


def quantitative(field: str, title: str | list[str] | None, **more: Any) -> Spec:
    """Return an axis of numbers."""
    axis = {"title": title, **more.pop("axis", {})}
    return {"field": field, "type": "quantitative", "axis": axis, **more}


def powers(low: int, high: int, step: int, *, superscript: bool = True) -> Spec:
    """Return the ticks of a logarithmic axis at powers of ten, as 10⁸ or as 1e8.

    In files they are not superscript: the font of PNG and PDF files lacks those digits.
    """
    exponents = list(range(low, high + 1, step))
    text = (lambda k: f"10{str(k).translate(SUPERSCRIPT)}") if superscript else "1e{}".format
    labels = [str(10**k) if 0 <= k <= 2 else text(k) for k in exponents]
    values = [float(f"1e{k}") for k in exponents]
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
    """Return the colour and dash of an implementation."""
    return Style(*IMPLEMENTATIONS[name]) if name in IMPLEMENTATIONS else style(name)


def scales(names: Iterable[str], activations: Mapping[str, str]) -> tuple[Spec, Spec]:
    """Return scales of colours and of dash patterns.

    `names` are implementations, and labels of functions; `activations` has, by label, the name of
    the activation that a function is drawn as.
    """
    styles = {
        name: style(activations[name]) if name in activations else implementation(name)
        for name in names
    }
    domain = list(styles)
    return (
        {"domain": domain, "range": [drawn.colour for drawn in styles.values()]},
        {"domain": domain, "range": [dash_array(drawn) for drawn in styles.values()]},
    )


def shown_lines(
    values: list[Spec],
    x: Spec,
    y: Spec,
    scales: tuple[Spec, Spec],
    *transforms: Spec,
    title: str = "",
) -> Spec:
    """Return a layer with the lines that the parameter `shown` names; `title` is the tooltip's.

    A value has the name of a line as "f" and its points as the lists "x" and "y"; `scales` is the
    result of the function of that name.
    """
    colours, dashes = ({"field": "f", "scale": scale, "legend": None} for scale in scales)
    shown = {"filter": "indexof(shown, datum.f) >= 0"}
    return {
        "data": {"values": values},
        "transform": [shown, {"flatten": ["x", "y"]}, *transforms],
        "mark": {"type": "line", "clip": True},
        "encoding": {"x": x, "y": y, "color": colours, "strokeDash": dashes,
                     "tooltip": {"field": "f", "title": title} if title else None},
    }  # fmt: skip
