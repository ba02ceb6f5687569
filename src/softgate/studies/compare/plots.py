"""Pictures of a comparison: learning curves, the score of every run, differences by seed.

A row of three for each condition. Every run is there: one that diverged is a cross at the bad end
of the axis. Names stand beside what they name, so that colour never has to be enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from softgate.plotting.figure import DOTS_PER_INCH, GRID, INK, SETTINGS, Chart, beyond
from softgate.plotting.palette import Style
from softgate.plotting.picture import apart

from ..diagnose.text import counted
from .chart_data import (
    Curves,
    Dot,
    Range,
    difference_range,
    dots,
    learning,
    one_sided,
    score_range,
    styles,
)
from .record import Difference
from .text import probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .record import Comparison, Summary

GREY, PALE = "#767676", "#c4c4c4"
NAME_SIZE, SMALL = 8.0, 7.0
HEAD, FOOT, ROW, LINE = 0.4, 0.25, 3.2, 0.36
"""Inches: above and below all, of a row with few arms, and of a difference."""
PLACES = ((0.78, 2.45), (4.68, 2.4), (8.02, 1.75))
"""Where the axes of a row begin and how wide they are, of 11 inches."""
WIDE = 11.0
ROUND = [1, 2, 5, 10]
"""What the numbers of an axis are multiples of."""
GAP = 9.5
"""Between two names, in points."""
FEWEST_LINES = 3
"""Differences have the room of so many."""
MOST_LETTERS = 30
"""Below an axis, side by side."""


def draw(record: Comparison, width: float) -> Chart:
    """Return the figure of a comparison, `width` inches wide."""
    lines = max(1, len(record.differences) // len(record.conditions))
    row = max(ROW, 1.25 + LINE * lines)
    height = row * len(record.conditions) + HEAD + FOOT
    with mpl.rc_context(SETTINGS):
        figure = Chart(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor="#ffffff")
        FigureCanvasAgg(figure)
        title = f"{record.task}: {record.numerals.name}, {counted(len(record.seeds), 'seed')}"
        figure.text(0.5, 1 - 0.14 / height, title, fontsize=11, color=INK, ha="center", va="top")
        drawn = styles(record)
        for i, condition in enumerate(record.conditions):
            low = height - HEAD - (i + 1) * row
            boxes = [
                (x / WIDE, (low + 0.62) / height, wide / WIDE, (row - 1.0) / height)
                for x, wide in PLACES
            ]
            _row([figure.add_axes(box) for box in boxes], record, condition, drawn)
        figure.text(0.01, 0.08 / height, _key(record), fontsize=SMALL, color=INK)
    return figure


def _key(record: Comparison) -> str:
    parts = [
        "learning: median over the seeds, and the middle half of them",
        "thin lines join the runs of a seed",
        f"bar: mean and {record.level}",
    ]
    if len(record.differences) > 1:
        parts.append("p: corrected")
    if any(one.diverged for one in record.summaries):
        parts.append("×: diverged, worse than any number")
    if any(one.raised for one in record.summaries):
        parts.append("?: no score")
    return ".  ".join(parts) + "."


def _row(axes: Sequence[Axes], record: Comparison, condition: str, drawn: dict[str, Style]) -> None:
    left, middle, right = axes
    for one, what in zip(axes, ("learning", "each run", "differences"), strict=True):
        _frame(one, f"{condition}: {what}" if condition else what)
    curves = learning(record, condition)
    if curves is None:
        _say(left, "no run has a curve")
    else:
        _learning(left, curves, drawn)
    _scores(middle, record, condition, drawn)
    own = [one for one in record.differences if one.condition == condition]
    if own:
        _differences(right, own, record, drawn)
    else:
        _say(right, "nothing to compare")


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9.5, color=INK, loc="left")
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK, length=3, labelsize=NAME_SIZE)


def _say(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, color=GREY, ha="center", va="center", transform=axes.transAxes)


def _learning(axes: Axes, curves: Curves, drawn: dict[str, Style]) -> None:
    low, high = curves.span
    if curves.log:
        axes.set_yscale("log")
        room = (high / low) ** 0.05 if high > low else 1.1
        axes.set_ylim(low / room, high * room)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        few = high / low < 30
        minor = FuncFormatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else "")
        axes.yaxis.set_minor_formatter(minor if few else NullFormatter())
        axes.tick_params(axis="y", which="minor", labelsize=SMALL, colors=INK)
    else:
        room = 0.05 * (high - low) or 0.5
        axes.set_ylim(low - room, high + room)
    top = axes.get_ylim()[1]
    for layer, band in enumerate(curves.bands):
        style = drawn[band.arm]
        axes.fill_between(
            band.steps, band.low, np.minimum(band.high, top), color=style.colour, alpha=0.15,
            linewidth=0, zorder=2,
        )  # fmt: skip
        middle = [y if math.isfinite(y) else math.nan for y in band.middle]
        axes.plot(
            band.steps, middle, color=style.colour, linewidth=1.5, linestyle=_dash(style),
            zorder=10 - 0.1 * layer,
        )  # fmt: skip
        for x, y in band.ends:
            _cross(axes, x, y, style.colour)
    axes.set_xlim(0, max((band.steps[-1] for band in curves.bands if band.steps), default=1))
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    axes.set_xlabel("step", color=INK)
    axes.set_ylabel(curves.of, color=INK)
    _names(axes, curves, drawn)


def _names(axes: Axes, curves: Curves, drawn: dict[str, Style]) -> None:
    """Write names to the right of the curves; of those that stop before, where they stop."""
    figure: Any = axes.figure
    points = 72 / figure.get_dpi()
    box, right = axes.get_window_extent(), axes.get_xlim()[1]
    last = {band.arm: end for band in curves.bands if (end := band.end) is not None}
    for arm, (x, y) in last.items():
        if x < right:
            axes.annotate(
                arm, (x, y), xytext=(6, 3), textcoords="offset points", fontsize=NAME_SIZE,
                color=INK, zorder=12,
            )  # fmt: skip
    through = [arm for arm, (x, _) in last.items() if x == right]
    ends = [float(axes.transData.transform(last[arm])[1]) * points for arm in through]
    places = apart(ends, box.y0 * points, box.y1 * points, GAP)
    edge = float(box.x1) * points
    for arm, end, place in zip(through, ends, places, strict=True):
        beyond(figure, arm, drawn[arm], (edge, end), place, _fitting(arm, 11))


def _scores(axes: Axes, record: Comparison, condition: str, drawn: dict[str, Style]) -> None:
    found, factor = dots(record, condition), record.numerals.factor
    span = score_range(record, condition)
    axes.set_ylim(span.edges)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    if any(span.beyond):
        axes.set_yticks([t for t in axes.get_yticks() if span.low <= t <= span.high])
        split = span.low if record.measure.higher else span.high
        axes.axhline(split, color=GREY, linewidth=0.6, linestyle=(0, (2, 2)))
    for seed in record.seeds:
        y = [_height(dot, factor, span) for dot in found if dot.seed == seed]
        axes.plot(range(len(y)), y, color=PALE, linewidth=0.6, zorder=3)
    for i, arm in enumerate(record.arms):
        own, colour = [dot for dot in found if dot.arm == arm], drawn[arm].colour
        y = [factor * dot.score for dot in own if dot.score is not None]
        axes.plot([i] * len(y), y, "o", markersize=3.6, color=colour, alpha=0.75, zorder=6)
        _failed(axes, own, (i, span.bad), colour)
    for one in record.summaries:
        if one.condition == condition:
            _summed(axes, one, record.arms.index(one.arm) + 0.27, factor)
    axes.set_xlim(-0.5, len(record.arms) - 0.4)
    axes.set_xticks(range(len(record.arms)), record.arms, **_turned(record.arms))
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(record.numerals.name, color=INK, fontsize=_fitting(record.numerals.name, 32))


def _height(dot: Dot, factor: int, span: Range) -> float:
    return span.bad if dot.score is None else factor * dot.score


def _summed(axes: Axes, one: Summary, x: float, factor: int) -> None:
    if one.mean is not None:
        y = factor * one.mean
        axes.plot([x - 0.13, x + 0.13], [y, y], color=INK, linewidth=1.6, zorder=8)
    if (ends := one.interval) is not None:
        y_low, y_high = factor * ends.low, factor * ends.high
        axes.plot([x, x], [y_low, y_high], color=INK, linewidth=0.9, zorder=8)


def _failed(axes: Axes, own: Sequence[Dot], at: tuple[float, float], colour: str) -> None:
    """Mark runs without a score, and how many there are."""
    counts = Counter(dot.failed for dot in own if dot.failed)
    x, y = at
    for (what, count), shift in zip(sorted(counts.items()), (0.0, 0.4), strict=False):
        if what == "diverged":
            _cross(axes, x + shift, y, colour)
        else:
            axes.text(x + shift, y, "?", color=colour, ha="center", va="center", fontsize=8)
        _count(axes, count, x + shift, y)


def _differences(
    axes: Axes, own: Sequence[Difference], record: Comparison, drawn: dict[str, Style]
) -> None:
    factor, several = record.numerals.factor, record.pairs == "all"
    span = difference_range(record, own[0].condition)
    axes.axvline(0, color=GREY, linewidth=0.9, zorder=3)
    for i, one in enumerate(own):
        colour = drawn[one.arm].colour
        kept = [factor * value for value in one.each if value is not None]
        y = i - 0.12 + np.linspace(-0.13, 0.13, len(kept)) if len(kept) > 1 else [i - 0.12]
        axes.plot(kept, y[: len(kept)], "o", markersize=3, color=colour, alpha=0.6, zorder=5)
        if one.mean is not None:
            axes.plot(
                [factor * one.mean], [i + 0.22], "D", markersize=4, color=INK, zorder=8,
            )  # fmt: skip
        if (ends := one.interval) is not None:
            axes.plot(
                [factor * ends.low, factor * ends.high], [i + 0.22] * 2, color=INK, linewidth=1.4,
                zorder=7,
            )  # fmt: skip
        _verdict(axes, one, i)
        _lost(axes, one, i, record, drawn, span)
    axes.set_xlim(span.edges)
    ticks = MaxNLocator(4, steps=ROUND).tick_values(span.low, span.high)
    axes.set_xticks([t for t in ticks if span.low <= t <= span.high])
    spare = max(0.0, (FEWEST_LINES - len(own)) / 2)
    axes.set_ylim(len(own) - 0.45 + spare, -0.55 - spare)
    names = [f"{one.arm} − {one.other}" if several else one.arm for one in own]
    axes.set_yticks(range(len(own)), names)
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        label.set_fontsize(_fitting(name, 13))
    axes.grid(visible=False, axis="y")
    unit = " in points" if record.measure.percent else ""
    side = "right" if record.measure.higher else "left"
    to = "" if several else f" to {record.baseline}"
    axes.set_xlabel(f"difference{to}{unit}\n{side} is better", color=INK, fontsize=NAME_SIZE)


def _verdict(axes: Axes, one: Difference, i: int) -> None:
    found = one.verdict in ("better", "worse")
    said = one.verdict.replace("detectable ", "detectable\n")
    p = "" if one.corrected is None else f", p = {probability(one.corrected)}"
    axes.annotate(
        said + p, (1.03, i), xycoords=("axes fraction", "data"), fontsize=SMALL, color=INK,
        va="center", fontweight="bold" if found else "normal",
    )  # fmt: skip


def _lost(
    axes: Axes, one: Difference, i: int, record: Comparison, drawn: dict[str, Style], span: Range
) -> None:
    """Mark seeds at which one arm diverged: beyond all numbers, on the side of the other."""
    gained, lost = one_sided(record, one)
    for count, x, arm in ((gained, span.good, one.other), (lost, span.bad, one.arm)):
        if count:
            _cross(axes, x, i, drawn[arm].colour)
            _count(axes, count, x, i)


def _count(axes: Axes, count: int, x: float, y: float) -> None:
    if count > 1:
        axes.annotate(
            str(count), (x, y), xytext=(4.5, 0), textcoords="offset points", fontsize=SMALL,
            color=INK, va="center",
        )  # fmt: skip


def _cross(axes: Axes, x: float, y: float, colour: str) -> None:
    axes.plot(
        [x], [y], marker="x", markersize=5, markeredgewidth=1.4, color=colour, zorder=9,
        clip_on=False,
    )  # fmt: skip


def _dash(style: Style) -> Any:
    return (0, style.pattern) if style.pattern else "solid"


def _fitting(name: str, letters: int) -> float:
    """Return the size at which a name has the room that so many letters usually have."""
    return max(5.0, min(NAME_SIZE, NAME_SIZE * letters / max(len(name), 1)))


def _turned(names: Sequence[str]) -> dict[str, Any]:
    """Return how names below an axis are set: slanted where they would touch."""
    crowded = max(map(len, names)) * len(names) > MOST_LETTERS
    return {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
