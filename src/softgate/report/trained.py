"""Charts of a comparison for the page: learning curves, the score of every run, differences.

The same places and numbers as in the figure that `Comparison.save` writes. Every run is there: one
that diverged is a cross at the bad end of the axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..comparison.pictures import Curves, Dot, dots, learning, one_sided, styles
from ..comparison.record import Comparison
from ..palette import Style
from .chart import LINE_WIDTH, Spec, quantitative, rule
from .section import HALF, figure

HEIGHT, LINE = 280, 44
"""Pixels of a chart, and of a row of differences."""
SUMMED = "#808080"
"""Of means and intervals: seen on a white and on a dark page."""
CROSS = {"type": "point", "shape": "M-1,-1L1,1M-1,1L1,-1", "size": 45, "strokeWidth": 2}
FEW_DECADES = 30.0
"""A logarithmic axis of less has numbers at 2 and 5 as well."""


def charts(record: Comparison, condition: str, id: str) -> dict[str, tuple[Spec, str]]:
    """Return specifications and figures of a condition, by ids that begin with `id`."""
    found: dict[str, tuple[Spec, str]] = {}
    under = f", {condition}" if condition else ""

    def add(what: str, caption: str, says: str, spec: Spec) -> None:
        found[f"{id}-{what}"] = spec, figure(f"{id}-{what}", caption + under, says, spec)

    curves = learning(record, condition)
    if curves is not None:
        caption = f"Learning: {curves.of}, median and middle half of the seeds"
        add("learning", caption, _says_learning(curves), _learning(curves, styles(record)))
    caption = f"Each run: {record.numerals.name}, with mean and {record.level}"
    add("runs", caption, _says_runs(record, condition), _runs(record, condition))
    if record.differences:
        side = "right" if record.measure.higher else "left"
        unit = " in points" if record.measure.percent else ""
        caption = f"Differences at the same seed{unit}, with mean and {record.level}: {side} is better"
        add("differences", caption, _says_differences(record, condition),
            _differences(record, condition))  # fmt: skip
    return found


def colour(drawn: Mapping[str, Style]) -> Spec:
    """Return the colours of arms, without a legend: names are there already."""
    scale = {"domain": list(drawn), "range": [style.colour for style in drawn.values()]}
    return {"field": "arm", "type": "nominal", "scale": scale, "legend": None}


def _learning(curves: Curves, drawn: Mapping[str, Style]) -> Spec:
    low, high = curves.span
    scale: Spec = {"domain": [low, high], "nice": False, "zero": False}
    axis: Spec = {"tickCount": 6}
    if curves.log and high > low:
        scale["type"] = "log"
        axis = _log_axis(low, high)
    patterns = [[LINE_WIDTH * p for p in style.pattern] or [1, 0] for style in drawn.values()]
    lines = [
        {"arm": band.arm, "step": step, "middle": _drawn(middle), "low": low_,
         "high": min(high_, high)}
        for band in curves.bands
        for step, middle, low_, high_ in zip(
            band.steps, band.middle, band.low, band.high, strict=True
        )
    ]  # fmt: skip
    ends = [{"arm": b.arm, "step": x, "middle": y, "said": "diverged"}
            for b in curves.bands for x, y in b.ends]  # fmt: skip
    last = max((band.steps[-1] for band in curves.bands if band.steps), default=1.0)
    x = quantitative("step", "step", scale={"domain": [0, last], "nice": False},
                     axis={"tickCount": 5})  # fmt: skip
    y = quantitative("middle", curves.of, scale=scale, axis=axis)
    tooltip = [{"field": "arm"}, {"field": "step"},
               {"field": "middle", "title": curves.of, "format": ".3g"}]  # fmt: skip
    colours = colour(drawn)
    return {
        "width": HALF, "height": HEIGHT, "data": {"values": lines},
        "layer": [
            {"mark": {"type": "area", "opacity": 0.16, "clip": True},
             "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"},
                          "color": colours}},
            {"mark": {"type": "line", "clip": True},
             "encoding": {"x": x, "y": y, "color": colours, "tooltip": tooltip,
                          "strokeDash": {"field": "arm", "legend": None,
                                         "scale": {"domain": list(drawn), "range": patterns}}}},
            *([{"data": {"values": ends}, "mark": CROSS,
                "encoding": {"x": x, "y": y, "color": colours,
                             "tooltip": [{"field": "arm"}, {"field": "step"},
                                         {"field": "said", "title": "then"}]}}] if ends else []),
        ],
    }  # fmt: skip


def _drawn(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _log_axis(low: float, high: float) -> Spec:
    """Return numbers at powers of ten, and at 2 and 5 of them where there are few."""
    digits = (1, 2, 5) if high / low < FEW_DECADES else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [float(f"{digit}e{k}") for k in powers for digit in digits]
    return {"values": [v for v in values if low <= v <= high], "format": "~g"}


def _runs(record: Comparison, condition: str) -> Spec:
    found, factor = dots(record, condition), record.numerals.factor
    scores = [factor * dot.score for dot in found if dot.score is not None]
    cells = [one for one in record.summaries if one.condition == condition]
    ends = [factor * end for one in cells if (i := one.interval) for end in (i.low, i.high)]
    low, high = (min(scores + ends), max(scores + ends)) if scores else (0.0, 1.0)
    room = 0.07 * (high - low) or 0.5
    worst = low - 2 * room if record.measure.higher else high + 2 * room
    failed = any(dot.failed for dot in found)
    domain = [min(low, worst) - room, max(high, worst) + room] if failed else [low - room,
                                                                               high + room]
    values = [_run(dot, factor, worst) for dot in found]
    summed = [
        {"arm": one.arm, "mean": factor * one.mean,
         "low": factor * one.interval.low if one.interval else None,
         "high": factor * one.interval.high if one.interval else None}
        for one in cells if one.mean is not None
    ]  # fmt: skip
    x = {"field": "arm", "type": "nominal", "sort": None, "scale": {"domain": list(record.arms)},
         "axis": {"title": None, "labelAngle": 0 if len(record.arms) < 6 else -35}}  # fmt: skip
    scale = {"domain": domain, "nice": False, "zero": False}
    inside = f"datum.value >= {low - room} && datum.value <= {high + room}"
    axis = {"labelExpr": f"{inside} ? datum.label : ''", "tickCount": 6}
    y = quantitative("score", record.numerals.name, scale=scale, axis=axis)
    colours = colour(styles(record))
    tooltip = [{"field": "arm"}, {"field": "seed"}, {"field": "said", "title": "score"}]
    at = {"x": {**x, "bandPosition": 0.76}}
    return {
        "width": HALF, "height": HEIGHT, "data": {"values": values},
        "layer": [
            {"mark": {"type": "line", "stroke": SUMMED, "strokeWidth": 0.8, "opacity": 0.55},
             "encoding": {"x": x, "y": y, "detail": {"field": "seed"}}},
            _only("", {"mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.85},
                       "encoding": {"x": x, "y": y, "color": colours, "tooltip": tooltip}}),
            *([_only("diverged", {"mark": CROSS, "encoding": {
                "x": x, "y": y, "color": colours, "tooltip": tooltip}}),
               _only("no score", {"mark": {"type": "text", "text": "?"}, "encoding": {
                   "x": x, "y": y, "tooltip": tooltip}})] if failed else []),
            {"data": {"values": summed},
             "mark": {"type": "rule", "stroke": SUMMED, "strokeWidth": 1.5},
             "encoding": {**at, "y": {**y, "field": "low"}, "y2": {"field": "high"}}},
            {"data": {"values": summed},
             "mark": {"type": "tick", "color": SUMMED, "thickness": 2.5, "width": 16},
             "encoding": {**at, "y": {**y, "field": "mean"}}},
        ],
    }  # fmt: skip


def _run(dot: Dot, factor: int, worst: float) -> Spec:
    score = worst if dot.score is None else factor * dot.score
    said = dot.failed or f"{score:.4g}"
    return {"arm": dot.arm, "seed": dot.seed, "score": score, "failed": dot.failed, "said": said}


def _only(failed: str, layer: Spec) -> Spec:
    return {"transform": [{"filter": f"datum.failed === '{failed}'"}], **layer}


def _differences(record: Comparison, condition: str) -> Spec:
    factor, drawn = record.numerals.factor, styles(record)
    own = [one for one in record.differences if one.condition == condition]
    labels = {one: f"{one.arm} − {one.other}" for one in own}
    each = [
        {"row": labels[one], "arm": one.arm, "seed": seed, "x": factor * value,
         "said": record.numerals.difference(value)}
        for one in own
        for seed, value in zip(record.seeds, one.each, strict=True)
        if value is not None
    ]  # fmt: skip
    summed = [
        {"row": labels[one], "x": factor * one.mean, "said": one.verdict,
         **_ends(one.interval, factor)}
        for one in own if one.mean is not None
    ]  # fmt: skip
    numbers = [0.0, *(one["x"] for one in each)]
    numbers += [one[end] for one in summed for end in ("low", "high") if one[end] is not None]
    low, high = min(numbers), max(numbers)
    room = 0.08 * (high - low) or 0.5
    crosses = []
    for one in own:
        for count, good in zip(one_sided(record, one), (True, False), strict=True):
            if count:
                right = good == record.measure.higher
                crosses.append({
                    "row": labels[one], "arm": one.other if good else one.arm,
                    "x": high + 2 * room if right else low - 2 * room,
                    "said": f"{one.other if good else one.arm} diverged at {count} seeds",
                })  # fmt: skip
    places = [low - room, high + room, *(one["x"] for one in crosses)]
    scale = {"domain": [min(places) - room / 2, max(places) + room / 2], "nice": False}
    inside = f"datum.value >= {low - room} && datum.value <= {high + room}"
    x = quantitative("x", None, scale=scale, axis={
        "tickCount": 6, "labelExpr": f"{inside} ? datum.label : ''"})  # fmt: skip
