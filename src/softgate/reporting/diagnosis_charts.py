"""The pictures of a diagnosis as charts: outputs over time, units, deaths and gradients by site.

Positions and colours come from `softgate.studies.diagnose.chart_data`; here they become Vega-Lite
specifications.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from softgate.plotting.palette import DASHES, style
from softgate.plotting.vega import LINE_WIDTH, powers, quantitative, rule
from softgate.studies.diagnose import chart_data, text
from softgate.studies.diagnose.chart_data import Block, Flow
from softgate.studies.diagnose.colours import SHADES, TIMES, WHICH
from softgate.studies.diagnose.record import Diagnosis, Site

from .section import HALF, figure

LABEL = 18
"""Letters of a site's name beside its row."""
ROOM = 1.2
"""The right end of an axis that ends at 1, with room for numbers of dead units."""
ROW, ROW_LEAST, MOST = 22, 7, 440
"""Pixels of a row, and of all rows where there are many."""
RIDGE_ROW = 60

Spec = dict[str, Any]


def charts(
    seen: Diagnosis, id: str, about: str, others: Iterable[Diagnosis] = ()
) -> dict[str, tuple[Spec, str]]:
    """Return specifications and figures by id: of outputs, units, deaths and gradients, if any.

    Gradients stand on an axis that has room for those of `others` too, so that they compare.
    """
    if not seen.sites:
        return {}
    found = chart_data.ridges(seen)
    sites = chart_data.rows(seen)
    labels = chart_data.names(sites)
    blocks, deaths = chart_data.units(sites), chart_data.deaths(seen, sites)
    flows = chart_data.flows(sites)
    made = {
        "outputs": (_ridges(found), _some(text.OUTPUTS, found.sites, seen),
                    text.ridges_say(found)),
        "units": (_units(labels, blocks), _some(text.UNITS, sites, seen),
                  text.units_say(labels, blocks)),
    }  # fmt: skip
    if deaths:
        made["deaths"] = (_deaths(labels, deaths), _some(text.DEATHS, sites, seen),
                          text.deaths_say(labels, sites))  # fmt: skip
    if chart_data.decades(flows) is not None:
        beside = [flow for one in others for flow in chart_data.flows(chart_data.rows(one))]
        span = chart_data.decades([*flows, *beside])
        made["gradients"] = (_flows(labels, flows, span), _some(text.GRADIENTS, sites, seen),
                             text.flows_say(labels, flows))  # fmt: skip
    return {
        f"{id}-{name}": (spec, figure(f"{id}-{name}", f"{about}: {caption}", says, spec))
        for name, (spec, caption, says) in made.items()
    }


def _some(caption: str, sites: Sequence[Site], seen: Diagnosis) -> str:
    caption = caption[0].lower() + caption[1:]
    if len(sites) == len(seen.sites):
        return caption
    return f"{caption}, {len(sites)} of {len(seen.sites)} sites"


def _height(rows: int) -> int:
    return 62 + round(rows * min(ROW, max(ROW_LEAST, MOST / rows)))


def _rows(labels: Sequence[str], grid: bool = False) -> Spec:
    numbers = list(range(len(labels)))
    named = json.dumps([chart_data.fitted(name, LABEL) for name in labels])
    axis = {
        "title": None, "grid": grid, "minExtent": 40, "labelLimit": 124,
        "labelExpr": f"{named}[datum.value]",
    }  # fmt: skip
    return {"field": "row", "type": "ordinal", "sort": None,
            "scale": {"domain": numbers, "paddingInner": 0.14}, "axis": axis}  # fmt: skip


def _ridges(found: chart_data.Ridges) -> Spec:
    functions = list(dict.fromkeys(map(chart_data.function_name, found.sites)))
    points, about = [], []
    for number, ridge in enumerate(found.ridges):
        site, base = found.sites[ridge.row], ridge.row + chart_data.base(ridge)
        about.append({
            "r": number, "age": (ridge.order + 1) / ridge.of,
            "site": site.name, "f": chart_data.function_name(site),
            "steps": f"{ridge.first_step} to {ridge.last_step}",
        })  # fmt: skip
        points += [
            {"r": number, "x": float(f"{x:.5g}"), "y": round(base - chart_data.tall(ridge) * h, 3)}
            for x, h in zip(ridge.x, ridge.height, strict=True)
        ]
    across, down = _ridge_axes(found)
    colour = {"domain": functions, "range": [style(name).colour for name in functions]}
    lookup = {"data": {"values": about}, "key": "r",
              "fields": ["age", "site", "f", "steps"]}  # fmt: skip
    outline = {
        "data": {"values": points},
        "transform": [{"lookup": "r", "from": lookup}],
        "mark": {"type": "line", "interpolate": "step", "strokeWidth": 1, "clip": True},
        "encoding": {
            "x": across, "y": down, "detail": {"field": "r"}, "order": {"value": None},
            "fill": {"field": "f", "type": "nominal", "scale": colour, "legend": None},
            "stroke": {"field": "f", "type": "nominal", "scale": colour, "legend": None},
            "fillOpacity": _by_age(0.1, 0.5), "strokeOpacity": _by_age(0.3, 1.0),
            "tooltip": [{"field": "site"}, {"field": "f", "title": "function"},
                        {"field": "steps"}],
        },
    }  # fmt: skip
    broken = [
        {"x": found.high, "y": row + 0.75, "text": text.broken(site)}
        for row, site in enumerate(found.sites) if text.broken(site)
    ]  # fmt: skip
    texts = _texts(broken, "right", {"field": "y", "type": "quantitative"})
    return {"width": HALF, "height": 48 + RIDGE_ROW * len(found.sites),
            "layer": [rule("0", "zero"), outline, *([texts] if broken else [])]}  # fmt: skip


def _ridge_axes(found: chart_data.Ridges) -> tuple[Spec, Spec]:
    """Return the axis of outputs, and that of rows, which counts them from above."""
    rows = len(found.sites)
    places = [row + 0.75 for row in range(rows)]
    named = f"{json.dumps(chart_data.labels(found, LABEL))}[floor(datum.value)]"
    across = quantitative(
        "x", "output", scale={"domain": [found.low, found.high], "nice": False, "zero": False},
        axis={"tickCount": 6},
    )  # fmt: skip
    down = {
        "field": "y", "type": "quantitative", "scale": {"domain": [rows, 0], "nice": False},
        "axis": {"title": None, "grid": False, "values": places, "labelExpr": named,
                 "minExtent": 40, "labelLimit": 124, "labelOverlap": False},
    }  # fmt: skip
    return across, down


def _by_age(first: float, last: float) -> Spec:
    return {"field": "age", "type": "quantitative", "legend": None,
            "scale": {"domain": [0, 1], "range": [first, last]}}  # fmt: skip


def _texts(values: list[Spec], align: str, y: Spec) -> Spec:
    return {
        "data": {"values": values},
        "mark": {"type": "text", "align": align, "dx": 6 if align == "left" else -2,
                 "fontSize": 12},
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": y,
                     "text": {"field": "text"}},
    }  # fmt: skip


def _units(labels: Sequence[str], blocks: Sequence[Block]) -> Spec:
    dead = [
        {"row": block.row, "x": 1, "text": f"{block.count:,} dead"}
        for block in blocks
        if block.kind == chart_data.DEAD
    ]
    across = quantitative(
        "start", "units, the flattest first", scale={"domain": [0, ROOM], "nice": False},
        axis={"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "format": ".0%", "grid": False},
    )  # fmt: skip
    drawn = _blocks(labels, blocks, SHADES)
    drawn["encoding"]["x"] = across
    texts = _texts(dead, "left", _rows(labels))
    return {"width": HALF, "height": _height(len(labels)),
            "layer": [drawn, *([texts] if dead else [])]}  # fmt: skip


def _deaths(labels: Sequence[str], blocks: Sequence[Block]) -> Spec:
    ends = [min(block.start for block in blocks), max(block.end for block in blocks)]
    across = quantitative(
        "start", "step", scale={"domain": ends, "nice": False},
        axis={"tickCount": 6, "format": ",d", "tickMinStep": 1, "grid": False},
    )  # fmt: skip
    drawn = _blocks(labels, blocks, TIMES)
    drawn["encoding"]["x"] = across
    return {"width": HALF, "height": _height(len(labels)), **drawn}


def _blocks(
    labels: Sequence[str], blocks: Sequence[Block], shades: Mapping[str, tuple[str, float]]
) -> Spec:
    used = {block.kind for block in blocks}
    kinds = {kind: _shade(*shade) for kind, shade in shades.items() if kind in used}
    values = [
        {"row": block.row, "start": block.start, "end": block.end, "kind": block.kind,
         "count": block.count, "site": labels[block.row]}
        for block in blocks
    ]  # fmt: skip
    return {
        "data": {"values": values},
        "mark": {"type": "rect"},
        "encoding": {
            "x2": {"field": "end"},
            "y": _rows(labels),
            "color": {
                "field": "kind", "type": "nominal", "legend": None,
                "scale": {"domain": list(kinds), "range": list(kinds.values())},
            },
            "tooltip": [{"field": "site"}, {"field": "kind", "title": "kind"},
                        {"field": "count", "title": "units"}],
        },
    }  # fmt: skip


def legend(used: Container[str]) -> str:
    """Return what shades and lines mean: beside the charts, where it can be broken into lines."""
    parts = (
        ("Units, by the share of inputs with a flat slope", SHADES),
        ("Dead units over time, by their share then", TIMES),
        ("Gradients", {name: (colour, 1.0) for name, colour, _ in WHICH.values()}),
    )
    swatch = (
        '<span class="swatch" aria-hidden="true" style="border-top-width:0.8em;'
        'vertical-align:-0.05em;border-color:{}"></span>'
    )
    lines: list[str] = []
    for about, shades in parts:
        named = [
            f'<span class="nowrap">{swatch.format(_shade(*shade))}{escape(kind)}</span>'
            for kind, shade in shades.items()
            if kind in used or shades not in (SHADES, TIMES)
        ]
        lines += [f"<li>{escape(about)}: {', '.join(named)}</li>"] if named else []
    return f"<ul>{''.join(lines)}</ul>"


def _shade(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _flows(labels: Sequence[str], found: Sequence[Flow], span: tuple[int, int] | None) -> Spec:
    assert span is not None
    low, high = 10.0 ** span[0], 10.0 ** span[1]
    inside = [one for one in found if low <= one.norm <= high]
    crossed = [one for one in found if not low <= one.norm <= high]
    styles = {name: (colour, dash) for name, colour, dash in WHICH.values()}
    colour = {"domain": list(styles), "range": [colour for colour, _ in styles.values()]}
    patterns = [[LINE_WIDTH * p for p in DASHES[dash]] or [1, 0] for _, dash in styles.values()]
    across = quantitative(
        "norm", "norm, logarithmic", scale={"type": "log", "domain": [low, high], "nice": False},
        axis=powers(*span, max(1, math.ceil((span[1] - span[0]) / 6))),
    )  # fmt: skip
    colours = {"field": "f", "type": "nominal", "scale": colour, "legend": None}
    shared = {"y": _rows(labels, grid=len(labels) <= 20), "x": across, "color": colours}
    line = {
        "data": {"values": [_point(one, labels, one.norm) for one in inside]},
        "mark": {"type": "line", "point": {"size": 34, "filled": True}},
        "encoding": {
            **shared, "order": {"field": "row", "type": "quantitative"},
            "strokeDash": {"field": "f", "scale": {"domain": list(styles), "range": patterns},
                           "legend": None},
            "tooltip": [{"field": "site"}, {"field": "f", "title": "gradient"},
                        {"field": "norm", "format": ".3g"}],
        },
    }  # fmt: skip
    cross = {
        "data": {"values": [_point(one, labels, low) for one in crossed]},
        "mark": {"type": "point", "shape": "M-1,-1L1,1M-1,1L1,-1", "size": 40, "strokeWidth": 2},
        "encoding": {**shared, "tooltip": [{"field": "site"}, {"field": "said", "title": "norm"}]},
    }
    return {"width": HALF, "height": _height(len(labels)),
            "layer": [line, *([cross] if crossed else [])]}  # fmt: skip


def _point(one: Flow, labels: Sequence[str], norm: float) -> Spec:
    return {"row": one.row, "site": labels[one.row], "f": WHICH[one.which][0], "norm": norm,
            "said": f"{one.norm:g}"}  # fmt: skip
