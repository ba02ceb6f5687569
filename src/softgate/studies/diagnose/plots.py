"""Charts of a diagnosis: outputs over time, units, dead units over time, and gradients by site.

Each has a row for each site, in the order in which they are called. The report shows every panel by
itself, with legends in HTML; a file has all of them, with their legends. Dead units are red, and
their number is beside the row, so that no chart depends on colour alone. Alternative texts, for
screen readers, have the main numbers of each panel.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from softgate.plotting.palette import Style, style
from softgate.plotting.vega import (
    CROSS,
    HALF,
    Chart,
    Panel,
    Spec,
    concat,
    dash_array,
    powers,
    quantitative,
    rule,
)

from .. import counted
from . import chart_data
from .chart_data import DEAD, FLAT, NEVER, SHARES, GradientNorm, Ridges, Segment
from .findings import percent
from .record import Diagnosis, Site

TITLES = {
    "outputs": "Outputs over time",
    "units": "Units by how often their slope is flat",
    "deaths": "Dead units over time",
    "gradients": "Gradients by site",
}
"""Titles of the panels."""
FEW = 8
"""Sites that are named in an alternative text; the others are counted."""
WIDTH, FILE_WIDTH = 11.0, 370
"""Inches of a file, and pixels between the axes of a panel in it."""
LABEL = 18
"""Letters of a site's name beside its row."""
ROOM = 1.2
"""The right end of an axis of shares on a page, with room for numbers of dead units."""
ROW, ROW_LEAST, MOST = 22, 7, 440
"""Pixels of a row, at most and at least, and of all rows where there are many."""
RIDGE_ROW, RIDGE_AXES, AXES = 60, 48, 62
"""Pixels of a row of outputs, and of the axes below outputs and below other panels."""
NOTE = 90
"""Letters in a line above a panel."""
LEAST = 90
"""Pixels between the axes of a panel in a file, at least."""

BLUE, RED, GREY, BROWN = "#0051f3", "#fc362d", "#7e9990", "#997509"
Shades = Mapping[str, tuple[str, float]]
"""Colour and opacity by kind: the same shade is pale on white and on a dark page."""
SHADES: Shades = {
    DEAD: (RED, 1.0),
    **{
        kind: (BLUE, opacity)
        for kind, opacity in zip(reversed(FLAT), (0.8, 0.58, 0.4, 0.24, 0.1), strict=True)
    },
    NEVER: (GREY, 0.6),
}
"""Shades of units, by the share of inputs on which their slope is flat."""
TIMES: Shades = {
    kind: (GREY if i == 0 else RED, opacity)
    for i, ((_, kind), opacity) in enumerate(
        zip(SHARES, (0.15, 0.22, 0.4, 0.6, 0.8, 1.0), strict=True)
    )
}
"""Shades of steps, by the share of units that are dead."""
GRADIENTS = {
    "output": ("with respect to outputs", Style(BLUE, "solid")),
    "input": ("with respect to inputs", Style(BROWN, "dashed")),
}
"""Name and style of gradients."""


def diagnosis_chart(diagnosis: Diagnosis) -> Chart:
    """Return all panels of a diagnosis as one chart; raise ValueError if there are no sites."""
    if not diagnosis.sites:
        raise ValueError(f"{diagnosis.model}: no activation was observed, nothing to draw")
    parts = panels(diagnosis, printed=True)
    specs = {name: {**panel.spec, "title": _title(panel)} for name, panel in parts.items()}
    left = [specs[name] for name in ("outputs", "deaths") if name in specs]
    right = [specs[name] for name in ("units", "gradients") if name in specs]
    if len(left) < len(right):
        left.append(right.pop())
    columns = [concat("vconcat", column) for column in (left, right)]
    steps = f"{diagnosis.observed_steps:,} of {diagnosis.steps:,} steps observed"
    kinds = list(dict.fromkeys(finding.kind for finding in diagnosis.findings))
    problems = f"found: {', '.join(kinds)}" if kinds else "no problems found"
    sites = counted(len(diagnosis.sites), "site")
    heading = f"{diagnosis.model}: {sites}, {steps}; {problems}"
    title = {"text": heading, "fontSize": 15, "offset": 18}
    return Chart(concat("hconcat", columns, title=title), alternative(diagnosis), WIDTH)


def _title(panel: Panel) -> Spec:
    heading, _, note = panel.caption.partition("\n")
    title: Spec = {"text": heading[0].upper() + heading[1:]}
    return {**title, "subtitle": wrap(note, NOTE)} if note else title


def panels(
    diagnosis: Diagnosis, others: Iterable[Diagnosis] = (), *, printed: bool = False
) -> dict[str, Panel]:
    """Return the panels of a diagnosis: outputs and units, and deaths and gradients if any.

    Parameters
    ----------
    diagnosis : Diagnosis
        What to draw.
    others : iterable of Diagnosis
        Diagnoses shown next to it: the axes of gradients include theirs.
    printed : bool
        Whether the panels are for a file, of its sizes and with legends; the second line of a
        caption explains the panel there.
    """
    if not diagnosis.sites:
        return {}
    sites, ridges = chart_data.rows(diagnosis), chart_data.ridges(diagnosis)
    labels = chart_data.names(sites)
    blocks, deaths = chart_data.units(sites), chart_data.deaths(diagnosis, sites)
    norms = chart_data.gradient_norms(sites)
    notes = dict.fromkeys(("outputs", "gradients"), "")
    if printed:
        height = "height: root of density, to its own peak; behind and pale: first steps."
        notes = {
            "outputs": f"\n{height} {reaching(ridges)}".rstrip(),
            "gradients": f"\n{note}" if (note := silent(labels, norms)) else "",
        }
    result = {
        "outputs": Panel(
            _ridges(ridges, printed),
            _caption(TITLES["outputs"], ridges.sites, diagnosis) + notes["outputs"],
            describe_ridges(ridges),
        ),
        "units": Panel(
            _units(labels, blocks, printed),
            _caption(TITLES["units"], sites, diagnosis),
            describe_units(labels, blocks),
        ),
    }
    if deaths:
        result["deaths"] = Panel(
            _deaths(labels, deaths, printed),
            _caption(TITLES["deaths"], sites, diagnosis),
            describe_deaths(labels, sites),
        )
    if chart_data.decades(norms) is not None:
        other_norms = [
            gradient
            for other in others
            for gradient in chart_data.gradient_norms(chart_data.rows(other))
        ]
        span = chart_data.decades([*norms, *other_norms])
        assert span is not None
        result["gradients"] = Panel(
            _gradient_norms(labels, norms, span, printed),
            _caption(TITLES["gradients"], sites, diagnosis) + notes["gradients"],
            describe_gradient_norms(labels, norms),
        )
    return result


def _caption(caption: str, sites: Sequence[Site], diagnosis: Diagnosis) -> str:
    caption = caption[0].lower() + caption[1:]
    if len(sites) == len(diagnosis.sites):
        return caption
    return f"{caption}, {len(sites)} of {len(diagnosis.sites)} sites"


def _sized(height: int, printed: bool, axes: int = AXES) -> Spec:
    """Return the size of a panel: on a page with its axes, in a file without."""
    if printed:
        return {"width": FILE_WIDTH, "height": max(height, LEAST)}
    return {"width": HALF, "height": height + axes}


def _height(rows: int) -> int:
    return round(rows * min(ROW, max(ROW_LEAST, MOST / rows)))


def _rows(labels: Sequence[str], grid: bool = False) -> Spec:
    """Return the axis of sites, the first on top."""
    names = json.dumps([chart_data.fitted(name, LABEL) for name in labels])
    axis = {
        "title": None, "grid": grid, "minExtent": 40, "labelLimit": 124,
        "labelExpr": f"{names}[datum.value]",
    }  # fmt: skip
    return {"field": "row", "type": "ordinal", "sort": None,
            "scale": {"domain": list(range(len(labels))), "paddingInner": 0.14},
            "axis": axis}  # fmt: skip


def _ridges(ridges: Ridges, printed: bool) -> Spec:
    points, about = [], []
    for number, ridge in enumerate(ridges.ridges):
        site, base = ridges.sites[ridge.row], ridge.row + chart_data.base(ridge)
        about.append({
            "r": number, "age": (ridge.order + 1) / ridge.of,
            "site": site.name, "f": chart_data.function_name(site),
            "steps": f"{ridge.first_step} to {ridge.last_step}",
        })  # fmt: skip
        points += [
            {"r": number, "x": float(f"{x:.5g}"), "y": round(base - chart_data.tall(ridge) * h, 3)}
            for x, h in zip(ridge.x, ridge.height, strict=True)
        ]
    x, y = _ridge_axes(ridges)
    functions = list(dict.fromkeys(map(chart_data.function_name, ridges.sites)))
    scale = {"domain": functions, "range": [style(name).colour for name in functions]}
    colour = {"field": "f", "type": "nominal", "scale": scale, "legend": None}
    lookup = {"data": {"values": about}, "key": "r",
              "fields": ["age", "site", "f", "steps"]}  # fmt: skip
    outline = {
        "data": {"values": points},
        "transform": [{"lookup": "r", "from": lookup}],
        "mark": {"type": "line", "interpolate": "step", "strokeWidth": 1, "clip": True},
        "encoding": {
            "x": x, "y": y, "detail": {"field": "r"}, "order": {"value": None},
            "fill": colour, "stroke": colour,
            "fillOpacity": _by_age(0.1, 0.5), "strokeOpacity": _by_age(0.3, 1.0),
            "tooltip": [{"field": "site"}, {"field": "f", "title": "function"},
                        {"field": "steps"}],
        },
    }  # fmt: skip
    not_finite = [
        {"x": ridges.high, "y": row + 0.75, "text": first_not_finite(site)}
        for row, site in enumerate(ridges.sites) if site.not_finite
    ]  # fmt: skip
    side = "left" if printed else "right"  # a page clips what is right of the axes
    texts = _texts(not_finite, side, {"field": "y", "type": "quantitative"})
    return {**_sized(RIDGE_ROW * len(ridges.sites), printed, RIDGE_AXES),
            "layer": [rule("0", "zero"), outline, *([texts] if not_finite else [])]}  # fmt: skip


def _ridge_axes(ridges: Ridges) -> tuple[Spec, Spec]:
    """Return the axis of outputs, and that of rows, which counts them from above."""
    rows = len(ridges.sites)
    names = f"{json.dumps(chart_data.labels(ridges, LABEL))}[floor(datum.value)]"
    x = quantitative(
        "x", "output", scale={"domain": [ridges.low, ridges.high], "nice": False, "zero": False},
        axis={"tickCount": 6},
    )  # fmt: skip
    y = {
        "field": "y", "type": "quantitative", "scale": {"domain": [rows, 0], "nice": False},
        "axis": {"title": None, "grid": False, "values": [row + 0.75 for row in range(rows)],
                 "labelExpr": names, "minExtent": 40, "labelLimit": 124, "labelOverlap": False},
    }  # fmt: skip
    return x, y


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


def _units(labels: Sequence[str], blocks: Sequence[Segment], printed: bool) -> Spec:
    dead = [
        {"row": block.row, "x": 1, "text": f"{block.count:,} dead"}
        for block in blocks
        if block.kind == DEAD
    ]
    shade = "; shade: share of inputs with a flat slope" if printed else ""
    x = quantitative(
        "start", f"units, the flattest first{shade}",
        scale={"domain": [0, 1 if printed else ROOM], "nice": False},
        axis={"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "format": ".0%", "grid": False},
    )  # fmt: skip
    bars = _blocks(labels, blocks, SHADES, x, printed)
    texts = _texts(dead, "left", _rows(labels))
    return {**_sized(_height(len(labels)), printed), "layer": [bars, *([texts] if dead else [])]}


def _deaths(labels: Sequence[str], blocks: Sequence[Segment], printed: bool) -> Spec:
    shade = "; shade: share of units flat on every input of these steps" if printed else ""
    ends = [min(block.start for block in blocks), max(block.end for block in blocks)]
    x = quantitative(
        "start", f"step{shade}", scale={"domain": ends, "nice": False},
        axis={"tickCount": 6, "format": ",d", "tickMinStep": 1, "grid": False},
    )  # fmt: skip
    return {**_sized(_height(len(labels)), printed), **_blocks(labels, blocks, TIMES, x, printed)}


def _blocks(
    labels: Sequence[str], blocks: Sequence[Segment], shades: Shades, x: Spec, printed: bool
) -> Spec:
    used = {block.kind for block in blocks}
    kinds = {kind: css_colour(*shade) for kind, shade in shades.items() if kind in used}
    values = [
        {"row": block.row, "start": block.start, "end": block.end, "kind": block.kind,
         "count": block.count, "site": labels[block.row]}
        for block in blocks
    ]  # fmt: skip
    return {
        "data": {"values": values},
        "mark": {"type": "rect"},
        "encoding": {
            "x": x,
            "x2": {"field": "end"},
            "y": _rows(labels),
            "color": {
                "field": "kind", "type": "nominal",
                "legend": {"symbolType": "square", "symbolStrokeWidth": 0} if printed else None,
                "scale": {"domain": list(kinds), "range": list(kinds.values())},
            },
            "tooltip": [{"field": "site"}, {"field": "kind", "title": "kind"},
                        {"field": "count", "title": "units"}],
        },
    }  # fmt: skip


def css_colour(colour: str, opacity: float) -> str:
    """Return a colour with its opacity as CSS has it.

    Examples
    --------
    >>> css_colour("#0051f3", 0.5)
    'rgba(0,81,243,0.5)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _gradient_norms(
    labels: Sequence[str], norms: Sequence[GradientNorm], span: tuple[int, int], printed: bool
) -> Spec:
    low, high = 10.0 ** span[0], 10.0 ** span[1]
    styles = dict(GRADIENTS.values())
    x = quantitative(
        "norm", "norm, logarithmic", scale={"type": "log", "domain": [low, high], "nice": False},
        axis=powers(*span, max(1, math.ceil((span[1] - span[0]) / 6)), superscript=False),
    )  # fmt: skip
    legend = {"symbolType": "stroke", "symbolSize": 300} if printed else None
    colours = {"domain": list(styles), "range": [drawn.colour for drawn in styles.values()]}
    dashes = {"domain": list(styles), "range": [dash_array(drawn) for drawn in styles.values()]}
    shared: Spec = {
        "y": _rows(labels, grid=len(labels) <= 20), "x": x,
        "color": {"field": "f", "type": "nominal", "scale": colours, "legend": legend},
    }  # fmt: skip
    values: list[Spec] = [
        {"row": gradient.row, "site": labels[gradient.row], "f": GRADIENTS[gradient.which][0],
         "norm": gradient.norm if low <= gradient.norm <= high else None, "edge": low,
         "text": f"{gradient.norm:g}"}
        for gradient in norms
    ]  # fmt: skip
    line = {
        "transform": [{"filter": "datum.norm !== null"}],
        "mark": {"type": "line", "point": {"size": 34, "filled": True}},
        "encoding": {
            **shared, "order": {"field": "row", "type": "quantitative"},
            "strokeDash": {"field": "f", "scale": dashes, "legend": legend},
            "tooltip": [{"field": "site"}, {"field": "f", "title": "gradient"},
                        {"field": "norm", "format": ".3g"}],
        },
    }  # fmt: skip
    cross = {
        "transform": [{"filter": "datum.norm === null"}],
        "mark": {"type": "point", "shape": CROSS, "size": 40, "strokeWidth": 2},
        "encoding": {**shared, "x": {**x, "field": "edge"},
                     "tooltip": [{"field": "site"}, {"field": "text", "title": "norm"}]},
    }  # fmt: skip
    crossed = any(value["norm"] is None for value in values)
    return {**_sized(_height(len(labels)), printed), "data": {"values": values},
            "layer": [line, *([cross] if crossed else [])]}  # fmt: skip


def listed(parts: Sequence[str], most: int = FEW) -> str:
    """Return a list of at most `most` parts, and the number of the others.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(parts) - most
    return ", ".join(parts) if more <= 0 else f"{', '.join(parts[:most])} and {more} more"


def first_not_finite(site: Site) -> str:
    """Return text on the first step with NaN or inf at a site that has any."""
    return f"not finite at step {min(values.first_step for values in site.not_finite)}"


def describe_ridges(ridges: Ridges) -> str:
    """Return mean and standard deviation of the outputs of each site."""
    parts = [
        f"site {name} mean {site.mean:.3g}, sd {site.sd:.3g}"
        + (f", {first_not_finite(site)}" if site.not_finite else "")
        for name, site in zip(ridges.names, ridges.sites, strict=True)
    ]
    text = f"{TITLES['outputs']}, by site from the first to the last: {listed(parts)}."
    return text + (f" {reaching(ridges)}" if ridges.beyond else "")


def reaching(ridges: Ridges) -> str:
    """Return the sites whose outputs reach beyond the edge of the chart."""
    return f"Outputs of {listed(ridges.beyond)} reach beyond the edge." if ridges.beyond else ""


def describe_units(labels: Sequence[str], blocks: Sequence[Segment]) -> str:
    """Return the number of dead units of each site that has any."""
    dead = [f"{b.count} at site {labels[b.row]}" for b in blocks if b.kind == DEAD]
    return (
        f"{TITLES['units']}, {counted(len(labels), 'site')}: dead units: {listed(dead) or 'none'}."
    )


def describe_deaths(labels: Sequence[str], sites: Sequence[Site]) -> str:
    """Return text on the number of dead units of each site at the first and last steps."""
    parts = [
        f"site {label} from {site.history[0].dead} to {site.history[-1].dead} of {site.units}"
        for label, site in zip(labels, sites, strict=True)
        if site.history
    ]
    return f"{TITLES['deaths']}: {listed(parts)}."


def describe_gradient_norms(labels: Sequence[str], norms: Sequence[GradientNorm]) -> str:
    """Return the norms of the gradients with respect to the inputs of sites."""
    parts = [f"{f.norm:.3g} at site {labels[f.row]}" for f in norms if f.which == "input"]
    return f"{TITLES['gradients']}, norms by inputs: {listed(parts)}."


def silent(labels: Sequence[str], norms: Sequence[GradientNorm]) -> str:
    """Return text on the sites with gradients that a logarithmic axis cannot show."""
    zero = dict.fromkeys(labels[gradient.row] for gradient in norms if gradient.norm == 0)
    not_finite = dict.fromkeys(
        labels[gradient.row] for gradient in norms if not math.isfinite(gradient.norm)
    )
    parts = [
        f"{value} at {listed(list(names))}"
        for value, names in (("0", zero), ("NaN or inf", not_finite))
        if names
    ]
    return f"Crosses among gradients: {'; '.join(parts)}." if parts else ""


def alternative(diagnosis: Diagnosis) -> str:
    """Return one line about all charts of a diagnosis."""
    dead = sum(len(site.unit.recently_dead) for site in diagnosis.sites)
    units = sum(site.units for site in diagnosis.sites)
    ratio = diagnosis.gradient_ratio
    gradient = "" if ratio is None else f"; gradient first/last {ratio:.3g}"
    sites = counted(len(diagnosis.sites), "site")
    return (
        f"{diagnosis.model}: outputs over time, units and gradients of {sites}; "
        f"{dead} of {units} units dead ({percent(dead / max(units, 1))}){gradient}"
    )
