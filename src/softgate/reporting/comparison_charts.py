"""Charts of a comparison for the page: learning curves, the score of every run, differences.

The same places and numbers as in the figure that `Comparison.save` writes. Every run is there: one
that diverged is a cross at the bad end of the axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from softgate.plotting.palette import Style
from softgate.plotting.vega import LINE_WIDTH, Spec, quantitative, rule
from softgate.studies.compare.chart_data import (
    Curves,
    Range,
    difference_range,
    dots,
    learning,
    one_sided,
    score_range,
    styles,
)
from softgate.studies.compare.record import Comparison, Difference
from softgate.studies.compare.statistics import Interval

from .section import HALF, WHOLE, figure

HEIGHT, LINE = 280, 46
"""Pixels of a chart, and of a row of differences."""
SUMMED = "#808080"
"""Of means and intervals: seen on a white and on a dark page."""
CROSS = {"type": "point", "shape": "M-1,-1L1,1M-1,1L1,-1", "size": 45, "strokeWidth": 2,
         "opacity": 1}  # fmt: skip
FEW = 30.0
"""A logarithmic axis that spans less has numbers at 2 and 5 as well."""
MOST_LEVEL = 6
"""So many names stand level below an axis."""


def charts(record: Comparison, condition: str, id: str) -> dict[str, tuple[Spec, str]]:
    """Return specifications and figures of a condition, by ids that begin with `id`."""
    found: dict[str, tuple[Spec, str]] = {}
    under = f", {condition}" if condition else ""

    def add(what: str, caption: str, says: str, spec: Spec) -> None:
        found[f"{id}-{what}"] = spec, figure(f"{id}-{what}", caption, says, spec)

    curves = learning(record, condition)
    if curves is not None:
        caption = f"Learning{under}: {curves.of}, median and middle half of the seeds"
        add("learning", caption, _say_curves(curves), _learning(curves, styles(record)))
    with_ends = f"with mean and {record.level}"
    caption = f"Each run{under}: {record.numerals.name}, {with_ends}"
    add("runs", caption, _say_runs(record, condition), _runs(record, condition))
    own = [one for one in record.differences if one.condition == condition]
    if own:
        side = "right" if record.measure.higher else "left"
        unit = " in points" if record.measure.percent else ""
        to = "" if record.pairs == "all" else f" to {record.baseline}"
        caption = f"Difference{to} at each seed{unit}{under}, {with_ends}; {side} is better"
        add("differences", caption, _say_differences(record, own), _differences(record, own))
    return found


def _say_curves(curves: Curves) -> str:
    ends = [
        f"{band.arm} {band.end[1]:.3g} at step {band.end[0]:g}"
        for band in curves.bands
        if band.end is not None
    ]
    return f"The median {curves.of} ends at: {', '.join(ends)}."


def _say_runs(record: Comparison, condition: str) -> str:
    means = [
        f"{one.arm} {record.numerals.score(one.mean)}"
        + ("" if one.finished == one.runs else f" ({one.finished} of {one.runs} finished)")
        for one in record.summaries
        if one.condition == condition
    ]
    return f"Mean {record.numerals.name}: {', '.join(means)}."


def _say_differences(record: Comparison, own: list[Difference]) -> str:
    said = [
        f"{one.arm} to {one.other} {record.numerals.difference(one.mean)}, {one.verdict}"
        for one in own
    ]
    return f"Mean differences: {'; '.join(said)}."


def _learning(curves: Curves, drawn: Mapping[str, Style]) -> Spec:
    low, high = curves.span
    log = curves.log and high > low
    scale: Spec = {"domain": [low, high], "nice": False, "zero": False}
    scale |= {"type": "log"} if log else {}
    last = max((band.steps[-1] for band in curves.bands if band.steps), default=1.0)
    x = quantitative(
        "step", "step", axis={"tickCount": 5}, scale={"domain": [0, last], "nice": False}
    )
    y = quantitative("loss", curves.of, scale=scale, axis=_log(low, high) if log else {})
    shared = {"x": x, "y": y, "color": _colour(drawn)}
    patterns = [[LINE_WIDTH * p for p in style.pattern] or [1, 0] for style in drawn.values()]
    dash = {"field": "arm", "legend": None, "scale": {"domain": list(drawn), "range": patterns}}
    layers: list[Spec] = [
        {
            "mark": {"type": "area", "opacity": 0.16, "clip": True},
            "encoding": {**shared, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "line", "clip": True},
            "encoding": {**shared, "strokeDash": dash, "tooltip": _told("arm", "step", "loss")},
        },
    ]
    ends = [
        {"arm": band.arm, "step": step, "loss": loss, "then": "diverged"}
        for band in curves.bands
        for step, loss in band.ends
    ]
    if ends:
        told = _told("arm", "step", "then")
        layers.append(_layer(ends, CROSS, {**shared, "tooltip": told}))
    return _chart(_bands(curves, high), layers)


def _bands(curves: Curves, top: float) -> list[Spec]:
    return [
        {
            "arm": band.arm,
            "step": step,
            "loss": middle if math.isfinite(middle) else None,
            "low": low,
            "high": min(high, top),
        }
        for band in curves.bands
        for step, middle, low, high in zip(
            band.steps, band.middle, band.low, band.high, strict=True
        )
    ]


def _runs(record: Comparison, condition: str) -> Spec:
    span, factor = score_range(record, condition), record.numerals.factor
    values: list[Spec] = [
        {
            "arm": dot.arm,
            "seed": dot.seed,
            "y": span.bad if dot.score is None else factor * dot.score,
            "failed": dot.failed,
            "score": dot.failed or record.numerals.score(dot.score),
        }
        for dot in dots(record, condition)
    ]
    angle = 0 if len(record.arms) <= MOST_LEVEL else -35
    x = {
        "field": "arm", "type": "nominal", "sort": None, "scale": {"domain": list(record.arms)},
        "axis": {"title": None, "labelAngle": angle},
    }  # fmt: skip
    y = _axis("y", span, record.numerals.name)
    shared = {"x": x, "y": y, "color": _colour(styles(record))}
    told = {"tooltip": _told("arm", "seed", "score")}
    line = {"type": "line", "stroke": SUMMED, "strokeWidth": 0.8, "opacity": 0.55}
    summed = [
        {"arm": one.arm, "mean": factor * one.mean, **_ends(one.interval, factor)}
        for one in record.summaries
        if one.condition == condition and one.mean is not None
    ]
    beside = {"x": {**x, "bandPosition": 0.78}}
    bar = {"type": "point", "shape": "M-1,0L1,0", "stroke": SUMMED, "strokeWidth": 3, "size": 180}
    return _chart(
        values,
        [
            {"mark": line, "encoding": {"x": x, "y": y, "detail": {"field": "seed"}}},
            *_marked({**shared, **told}, any(span.beyond)),
            _layer(summed, _rule(), {**beside, "y": {**y, "field": "low"}, "y2": _end("high")}),
            _layer(summed, bar, {**beside, "y": {**y, "field": "mean"}}),
        ],
    )


def _marked(encoding: Spec, failed: bool) -> list[Spec]:
    """Return the marks of runs: a dot, a cross for one that diverged, ? where nothing is known."""
    marks: dict[str, Spec] = {"": {"type": "point", "filled": True, "size": 42, "opacity": 0.85}}
    if failed:
        marks |= {"diverged": CROSS, "no score": {"type": "text", "text": "?", "fontSize": 13}}
    return [
        {
            "transform": [{"filter": f"datum.failed === '{kind}'"}],
            "mark": mark,
            "encoding": encoding,
        }
        for kind, mark in marks.items()
    ]


def _differences(record: Comparison, own: list[Difference]) -> Spec:
    span, factor = difference_range(record, own[0].condition), record.numerals.factor
    labels = [f"{one.arm} − {one.other}" if record.pairs == "all" else one.arm for one in own]
    rows = list(zip(own, labels, strict=True))
    values: list[Spec] = [
        {
            "row": label,
            "arm": one.arm,
            "seed": seed,
            "x": factor * value,
            "difference": record.numerals.difference(value),
        }
        for one, label in rows
        for seed, value in zip(record.seeds, one.each, strict=True)
        if value is not None
    ]
    summed = [
        {
            "row": label,
            "mean": factor * one.mean,
            "verdict": one.verdict,
            **_ends(one.interval, factor),
        }
        for one, label in rows
        if one.mean is not None
    ]
    y = {
        "field": "row", "type": "nominal", "sort": None, "scale": {"domain": labels},
        "axis": {"title": None, "labelLimit": 150, "minExtent": 60},
    }  # fmt: skip
    x = _axis("x", span, None)
    shared = {"y": {**y, "bandPosition": 0.38}, "x": x, "color": _colour(styles(record))}
    below = {"y": {**y, "bandPosition": 0.72}}
    mean = {"type": "point", "shape": "diamond", "filled": True, "color": SUMMED, "size": 90}
    told = {"tooltip": _told("row", "mean", "verdict")}
    layers: list[Spec] = [
        rule("0", "zero"),
        {
            "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.7},
            "encoding": {**shared, "tooltip": _told("row", "seed", "difference")},
        },
        _layer(summed, _rule(), {**below, "x": {**x, "field": "low"}, "x2": _end("high")}),
        _layer(summed, mean, {**below, "x": {**x, "field": "mean"}, **told}),
    ]
    crosses = _crosses(record, rows, span)
    if crosses:
        told = {"tooltip": _told("row", "said")}
        layers.append(_layer(crosses, CROSS, {**shared, **told}))
        numbers = {"type": "text", "dx": 12, "fontSize": 12}
        layers.append(_layer(crosses, numbers, {**shared, "color": {}, "text": {"field": "count"}}))
    return {**_chart(values, layers), "width": WHOLE, "height": 50 + LINE * len(own)}


def _crosses(
    record: Comparison, rows: list[tuple[Difference, str]], span: Range
) -> list[dict[str, Any]]:
    """Return seeds at which one arm diverged: beyond all numbers, on the side of the other."""
    return [
        {
            "row": label,
            "arm": arm,
            "x": x,
            "count": count,
            "said": f"{arm} diverged at {count} of {len(record.seeds)} seeds",
        }
        for one, label in rows
        for count, arm, x in zip(
            one_sided(record, one), (one.other, one.arm), (span.good, span.bad), strict=True
        )
        if count
    ]


def _chart(values: list[Spec], layers: list[Spec]) -> Spec:
    return {"width": HALF, "height": HEIGHT, "data": {"values": values}, "layer": layers}


def _layer(values: list[Spec], mark: Spec, encoding: Spec) -> Spec:
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def _rule() -> Spec:
    return {"type": "rule", "stroke": SUMMED, "strokeWidth": 1.6}


def _end(field: str) -> Spec:
    return {"field": field}


def _ends(found: Interval | None, factor: int) -> Spec:
    if found is None:
        return {"low": None, "high": None}
    return {"low": factor * found.low, "high": factor * found.high}


def _told(*fields: str) -> list[Spec]:
    number = {"loss": ".3g", "mean": ".3g"}
    return [
        {"field": field, **({"format": number[field]} if field in number else {})}
        for field in fields
    ]


def _colour(drawn: Mapping[str, Style]) -> Spec:
    """Return the colours of arms, without a legend: keys and screen readers do not reach it."""
    scale = {"domain": list(drawn), "range": [style.colour for style in drawn.values()]}
    return {"field": "arm", "type": "nominal", "scale": scale, "legend": None}


def _axis(field: str, span: Range, title: str | None) -> Spec:
    """Return an axis with numbers where there are some, none where runs without one stand."""
    inside = f"datum.value >= {span.low} && datum.value <= {span.high}"
    axis = {"tickCount": 6, "labelExpr": f"{inside} ? datum.label : ''"}
    scale = {"domain": list(span.edges), "nice": False, "zero": False}
    return quantitative(field, title, scale=scale, axis=axis)


def _log(low: float, high: float) -> Spec:
    """Return numbers at powers of ten, and at 2 and 5 of them where there are few."""
    digits = (1, 2, 5) if high / low < FEW else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [float(f"{digit}e{k}") for k in powers for digit in digits]
    return {"values": [v for v in values if low <= v <= high], "format": "~g"}
