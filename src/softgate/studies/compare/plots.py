"""Charts of a comparison: learning curves, the score of every run, differences by seed.

Every run is drawn: one that diverged is a cross at the bad end of the axis. The report shows each
panel by itself; a file has all of them, a row for each condition, with names and verdicts written
into them, since a file has no tooltips and no tables beside it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from softgate.plotting.palette import Style
from softgate.plotting.vega import (
    CROSS,
    GREY,
    HALF,
    INK,
    NAME_SIZE,
    WHOLE,
    Chart,
    Panel,
    Spec,
    concat,
    dash_array,
    line_ends,
    quantitative,
    rule,
)

from .. import counted
from .chart_data import (
    LearningCurves,
    Range,
    difference_range,
    dots,
    learning,
    one_sided,
    score_range,
    styles,
)
from .record import PairedDifference
from .statistics import ConfidenceInterval
from .text import probability

if TYPE_CHECKING:
    from .record import Comparison

HEIGHT, FILE_HEIGHT = 280, 230
LINE, FILE_LINE = 46, 60
"""Pixels of a row of differences."""
WIDTHS = {"learning": 240, "runs": 250, "differences": 180}
"""Pixels between the axes of a panel in a file."""
SUMMARY = "#808080"
"""Means and intervals on a page: visible on white and on a dark theme."""
FEW = 30.0
"""A logarithmic axis that spans less than this factor has ticks at 2 and 5 as well."""


def comparison_chart(record: Comparison, width: float) -> Chart:
    """Return learning curves, scores and differences of all conditions, `width` inches wide."""
    rows, sentences = [], []
    for condition in record.conditions:
        parts = panels(record, condition, printed=True)
        row = [_titled(name, parts.get(name), condition) for name in WIDTHS]
        rows.append(concat("hconcat", row))
        under = f"{condition}: " if condition else ""
        sentences += [under + part.alternative for part in parts.values()]
    title = f"{record.task}: {record.score_format.name}, {counted(len(record.seeds), 'seed')}"
    heading = {"text": title, "subtitle": _key(record), "fontSize": 15, "offset": 16}
    spec = concat("vconcat", rows, title=heading)
    return Chart(spec, f"{title}. {' '.join(sentences)}", width)


def _titled(name: str, panel: Panel | None, condition: str) -> Spec:
    what = {"runs": "each run"}.get(name, name)
    title = f"{condition}: {what}" if condition else what
    if panel is not None:
        return {**panel.spec, "title": title}
    missing = "no run has a curve" if name == "learning" else "nothing to compare"
    return {
        "title": title, "width": WIDTHS[name], "height": FILE_HEIGHT, "data": {"values": [{}]},
        "mark": {"type": "text", "text": missing, "color": GREY},
    }  # fmt: skip


def _key(record: Comparison) -> list[str]:
    """Return the legend of a file, in words."""
    parts = ["thin lines join the runs of a seed", f"bar: mean and {record.level}"]
    if len(record.differences) > 1:
        parts.append("p: corrected")
    if any(summary.diverged for summary in record.summaries):
        parts.append("×: diverged, worse than any score")
    if any(summary.raised for summary in record.summaries):
        parts.append("?: no score")
    return ["learning: median over the seeds, and the middle half of them", "; ".join(parts)]


def panels(record: Comparison, condition: str, *, printed: bool = False) -> dict[str, Panel]:
    """Return the panels of a condition: learning and differences if there are any, and runs.

    Parameters
    ----------
    record : Comparison
        What to draw.
    condition : str
        Which of its conditions.
    printed : bool
        Whether the panels are for a file, of its sizes, with names and verdicts in them.
    """
    result: dict[str, Panel] = {}
    under = f", {condition}" if condition else ""
    curves = learning(record, condition)
    if curves is not None:
        result["learning"] = Panel(
            _learning(curves, styles(record), printed),
            f"Learning{under}: {curves.of}, median and middle half of the seeds",
            _curves_in_words(curves),
        )
    interval = f"with mean and {record.level}"
    result["runs"] = Panel(
        _runs(record, condition, printed),
        f"Each run{under}: {record.score_format.name}, {interval}",
        _runs_in_words(record, condition),
    )
    differences = [d for d in record.differences if d.condition == condition]
    if differences:
        unit = " in points" if record.measure.percent else ""
        side = "right" if record.measure.higher else "left"
        to = "" if record.pairs == "all" else f" to {record.baseline}"
        result["differences"] = Panel(
            _differences(
                record, differences, printed, [f"difference{to}{unit}", f"{side} is better"]
            ),
            f"Difference{to} at each seed{unit}{under}, {interval}; {side} is better",
            _differences_in_words(record, differences),
        )
    if printed:
        return {
            name: replace(panel, spec={**panel.spec, "width": WIDTHS[name]})
            for name, panel in result.items()
        }
    return result


def _curves_in_words(curves: LearningCurves) -> str:
    ends = [
        f"{band.arm} {band.end[1]:.3g} at step {band.end[0]:g}"
        for band in curves.bands
        if band.end is not None
    ]
    return f"The median {curves.of} ends at: {', '.join(ends)}."


def _runs_in_words(record: Comparison, condition: str) -> str:
    means = [
        f"{cell.arm} {record.score_format.score(cell.mean)}"
        + ("" if cell.finished == cell.runs else f" ({cell.finished} of {cell.runs} finished)")
        for cell in record.summaries
        if cell.condition == condition
    ]
    return f"Mean {record.score_format.name}: {', '.join(means)}."


def _differences_in_words(record: Comparison, differences: Sequence[PairedDifference]) -> str:
    means = [
        f"{d.arm} to {d.other} {record.score_format.difference(d.mean)}, {d.verdict}"
        for d in differences
    ]
    return f"Mean differences: {'; '.join(means)}."


def _learning(curves: LearningCurves, drawn: Mapping[str, Style], printed: bool) -> Spec:
    low, high = curves.span
    log = curves.log and high > low
    scale: Spec = {"domain": [low, high], "nice": False, "zero": False}
    scale |= {"type": "log"} if log else {}
    last = max((band.steps[-1] for band in curves.bands if band.steps), default=1.0)
    x = quantitative(
        "step", "step", axis={"tickCount": 5}, scale={"domain": [0, last], "nice": False}
    )
    y = quantitative("loss", curves.of, scale=scale, axis=_log_ticks(low, high) if log else {})
    shared = {"x": x, "y": y, "color": _colour(drawn)}
    dashes = {"domain": list(drawn), "range": [dash_array(style) for style in drawn.values()]}
    values = [
        {"arm": band.arm, "step": step, "loss": middle if math.isfinite(middle) else None,
         "low": bottom, "high": min(top, high)}
        for band in curves.bands
        for step, middle, bottom, top in zip(
            band.steps, band.middle, band.low, band.high, strict=True
        )
    ]  # fmt: skip
    layers: list[Spec] = [
        {
            "mark": {"type": "area", "opacity": 0.16, "clip": True},
            "encoding": {**shared, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "line", "clip": True},
            "encoding": {
                **shared, "tooltip": _tooltip("arm", "step", "loss"),
                "strokeDash": {"field": "arm", "legend": None, "scale": dashes},
            },
        },
    ]  # fmt: skip
    diverged = [
        {"arm": band.arm, "step": step, "loss": loss, "then": "diverged"}
        for band in curves.bands
        for step, loss in band.ends
    ]
    if diverged:
        tooltip = _tooltip("arm", "step", "then")
        layers.append(_layer(diverged, _cross(), {**shared, "tooltip": tooltip}))
    if not printed:
        return _panel(values, layers, printed)
    ends = {band.arm: end for band in curves.bands if (end := band.end) is not None}
    stopped = [{"arm": arm, "step": x, "loss": y} for arm, (x, y) in ends.items() if x < last]
    text = {"type": "text", "align": "left", "dx": 6, "dy": -6, "color": INK}
    layers.append(_layer(stopped, text, {"x": x, "y": y, "text": {"field": "arm"}}))
    scaled = math.log if log else float
    height = (scaled(high) - scaled(low)) or 1.0
    through = [
        (arm, drawn[arm], FILE_HEIGHT * (scaled(high) - scaled(loss)) / height)
        for arm, (step, loss) in ends.items()
        if step == last
    ]
    layers += line_ends(through, WIDTHS["learning"], FILE_HEIGHT)
    return _panel(values, layers, printed)


def _runs(record: Comparison, condition: str, printed: bool) -> Spec:
    span, factor = score_range(record, condition), record.score_format.factor
    runs = dots(record, condition)
    values: list[Spec] = [
        {
            "arm": dot.arm, "seed": dot.seed, "failed": dot.failed,
            "y": span.bad if dot.score is None else factor * dot.score,
            "score": dot.failed or record.score_format.score(dot.score),
        }
        for dot in runs
    ]  # fmt: skip
    room = WIDTHS["runs"] if printed else HALF - 150
    level = max(map(len, record.arms)) * len(record.arms) * 0.55 * NAME_SIZE < room
    axis = {"title": None, "labelAngle": 0 if level else -35, "labelOverlap": False}
    x = {
        "field": "arm", "type": "nominal", "sort": None, "axis": axis,
        "scale": {"type": "band", "domain": list(record.arms)},
    }  # fmt: skip
    y = _axis("y", span, record.score_format.name)
    encoding = {
        "x": x, "y": y, "color": _colour(styles(record)),
        "tooltip": _tooltip("arm", "seed", "score"),
    }  # fmt: skip
    means = [
        {"arm": cell.arm, "mean": factor * cell.mean, **_ends(cell.interval, factor)}
        for cell in record.summaries
        if cell.condition == condition and cell.mean is not None
    ]
    beside = {"x": {**x, "bandPosition": 0.78}}
    ink = INK if printed else SUMMARY
    bar = {"type": "point", "shape": "M-1,0L1,0", "stroke": ink, "strokeWidth": 3, "size": 180,
           "opacity": 1}  # fmt: skip
    line = {"type": "line", "stroke": SUMMARY, "strokeWidth": 0.8, "opacity": 0.55}
    layers: list[Spec] = [
        {"mark": line, "encoding": {"x": x, "y": y, "detail": {"field": "seed"}}},
        *_run_marks(
            encoding, Counter((dot.arm, dot.failed) for dot in runs if dot.failed), span.bad
        ),
        _layer(
            means, _interval(ink), {**beside, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        ),
        _layer(means, bar, {**beside, "y": {**y, "field": "mean"}}),
    ]
    return _panel(values, layers, printed)


def _run_marks(encoding: Spec, failed: Mapping[tuple[str, str], int], bad: float) -> list[Spec]:
    """Return the marks of runs: a dot, a cross for one that diverged, ? for one without a score.

    Failed runs of an activation are at one place, so their number is beside their mark.
    """
    marks: dict[str, tuple[Spec, float]] = {
        "": ({"type": "point", "filled": True, "size": 42, "opacity": 0.85}, 0.5)
    }
    if failed:
        marks["diverged"] = _cross(), 0.5
        marks["no score"] = {"type": "text", "text": "?", "fontSize": 13}, 0.25
    layers: list[Spec] = []
    for kind, (mark, at) in marks.items():
        x = {**encoding["x"], "bandPosition": at}
        counts = [
            {"arm": arm, "y": bad, "count": count}
            for (arm, what), count in failed.items()
            if what == kind and count > 1
        ]
        layers.append({
            "transform": [{"filter": f"datum.failed === '{kind}'"}],
            "mark": mark,
            "encoding": {**encoding, "x": x},
        })  # fmt: skip
        if counts:
            layers.append(_counts(counts, {"x": x, "y": encoding["y"]}))
    return layers


def _counts(values: list[Spec], place: Spec) -> Spec:
    mark = {"type": "text", "align": "left", "dx": 8, "fontSize": 12}
    return _layer(values, mark, {**place, "text": {"field": "count"}})


def _differences(
    record: Comparison, differences: Sequence[PairedDifference], printed: bool, title: list[str]
) -> Spec:
    span, factor = difference_range(record, differences[0].condition), record.score_format.factor
    several = record.pairs == "all"
    rows = [(d, f"{d.arm} − {d.other}" if several else d.arm) for d in differences]
    values: list[Spec] = [
        {"row": label, "arm": d.arm, "seed": seed, "x": factor * value,
         "difference": record.score_format.difference(value)}
        for d, label in rows
        for seed, value in zip(record.seeds, d.each, strict=True)
        if value is not None
    ]  # fmt: skip
    means = [
        {"row": label, "mean": factor * d.mean, "verdict": d.verdict,
         **_ends(d.interval, factor)}
        for d, label in rows
        if d.mean is not None
    ]  # fmt: skip
    y = {
        "field": "row", "type": "nominal", "sort": None,
        "scale": {"type": "band", "domain": [label for _, label in rows]},
        "axis": {"title": None, "labelLimit": 150, "minExtent": 60, "labelOverlap": False},
    }  # fmt: skip
    x = _axis("x", span, title if printed else None)
    if printed:
        x["axis"]["tickCount"] = 4
    seeds = {"y": {**y, "bandPosition": 0.36}, "x": x, "color": _colour(styles(record))}
    below = {"y": {**y, "bandPosition": 0.7}}
    ink = INK if printed else SUMMARY
    mean = {"type": "point", "shape": "diamond", "filled": True, "color": ink, "size": 80,
            "opacity": 1}  # fmt: skip
    layers: list[Spec] = [
        rule("0", "zero"),
        {
            "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.7},
            "encoding": {**seeds, "tooltip": _tooltip("row", "seed", "difference")},
        },
        _layer(means, _interval(ink), {**below, "x": {**x, "field": "low"},
                                       "x2": {"field": "high"}}),
        _layer(means, mean, {**below, "x": {**x, "field": "mean"},
                             "tooltip": _tooltip("row", "mean", "verdict")}),
    ]  # fmt: skip
    diverged: list[Spec] = [
        {"row": label, "arm": arm, "x": at, "count": count,
         "seeds": f"{arm} diverged at {count} of {len(record.seeds)} seeds"}
        for d, label in rows
        for count, arm, at in zip(
            one_sided(record, d), (d.other, d.arm), (span.good, span.bad), strict=True
        )
        if count
    ]  # fmt: skip
    if diverged:
        layers.append(_layer(diverged, _cross(), {**seeds, "tooltip": _tooltip("row", "seeds")}))
        several_seeds = [row for row in diverged if row["count"] > 1]
        layers.append(_counts(several_seeds, {"x": x, "y": seeds["y"]}))
    if printed:
        layers.append(_verdicts(rows, y))
    height = FILE_LINE * len(rows) if printed else 50 + LINE * len(rows)
    return {**_panel(values, layers, printed), "width": WHOLE, "height": height}


def _verdicts(rows: Sequence[tuple[PairedDifference, str]], y: Spec) -> Spec:
    """Return the verdicts, right of the axes."""
    values: list[Spec] = []
    for difference, label in rows:
        p = "" if difference.corrected is None else f", p = {probability(difference.corrected)}"
        text = difference.verdict.replace("detectable ", "detectable\n") + p
        values.append({"row": label, "text": text.split("\n")})
    mark = {"type": "text", "align": "left", "baseline": "middle", "fontSize": 11, "color": INK}
    place = {"x": {"value": WIDTHS["differences"] + 24}, "y": {**y, "bandPosition": 0.4}}
    return _layer(values, mark, {**place, "text": {"field": "text"}})


def _panel(values: list[Spec], layers: list[Spec], printed: bool) -> Spec:
    height = FILE_HEIGHT if printed else HEIGHT
    return {"width": HALF, "height": height, "data": {"values": values}, "layer": layers}


def _layer(values: list[Any], mark: Spec, encoding: Spec) -> Spec:
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def _cross() -> Spec:
    return {"type": "point", "shape": CROSS, "size": 45, "strokeWidth": 2, "opacity": 1}


def _interval(ink: str) -> Spec:
    return {"type": "rule", "stroke": ink, "strokeWidth": 1.6}


def _ends(interval: ConfidenceInterval | None, factor: int) -> Spec:
    if interval is None:
        return {"low": None, "high": None}
    return {"low": factor * interval.low, "high": factor * interval.high}


def _tooltip(*fields: str) -> list[Spec]:
    formats = {"loss": ".3g", "mean": ".3g"}
    return [
        {"field": field, **({"format": formats[field]} if field in formats else {})}
        for field in fields
    ]


def _colour(drawn: Mapping[str, Style]) -> Spec:
    """Return the colours of activations, without a legend, which keyboards cannot reach."""
    scale = {"domain": list(drawn), "range": [style.colour for style in drawn.values()]}
    return {"field": "arm", "type": "nominal", "scale": scale, "legend": None}


def _axis(field: str, span: Range, title: str | list[str] | None) -> Spec:
    """Return an axis with tick labels inside the range of scores, and none beyond it."""
    inside = f"datum.value >= {span.low} && datum.value <= {span.high}"
    axis = {"tickCount": 6, "labelExpr": f"{inside} ? datum.label : ''"}
    scale = {"domain": list(span.edges), "nice": False, "zero": False}
    return quantitative(field, title, scale=scale, axis=axis)


def _log_ticks(low: float, high: float) -> Spec:
    """Return ticks at powers of ten, and at 2 and 5 times them where there are few."""
    digits = (1, 2, 5) if high / low < FEW else (1,)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [float(f"{digit}e{k}") for k in exponents for digit in digits]
    return {"values": [v for v in values if low <= v <= high], "format": "~g"}
