"""The pictures of a diagnosis as one matplotlib figure: outputs, units, deaths, gradients.

All have a row for each site, in the order in which they are called. What is dead is red and stands
in numbers beside its row, so that colour never has to be enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator

from softgate.plotting.figure import DOTS_PER_INCH, GRID, INK, SETTINGS, Chart
from softgate.plotting.palette import style

from . import chart_data, text
from .chart_data import Block
from .colours import SHADES, TIMES, WHICH
from .record import Diagnosis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 11.0
SMALL = 7.5
ROW, RIDGE_ROW = 0.24, 0.52
"""Inches of a row."""
LEAST, MOST = 1.6, 6.5
"""Inches of a picture."""
LABEL = 18
"""Letters of a name that are shown."""

HEAD, BETWEEN, FOOT, LEFT, RIGHT = 1.1, 1.25, 0.65, 1.25, 0.8
"""Inches around pictures: above the first, between two, below the last, beside them."""

Column = list[tuple[float, Callable[["Axes"], None]]]
Box = tuple[float, float, float, float]


def figure(seen: Diagnosis) -> Chart:
    """Return the figure of a diagnosis."""
    if not seen.sites:
        raise ValueError(f"{seen.model}: no activation was seen, nothing to draw")
    with mpl.rc_context(SETTINGS):
        columns = _columns(seen)
        deep = max(sum(height + BETWEEN for height, _ in column) for column in columns)
        whole = HEAD + deep - BETWEEN + FOOT
        chart = Chart(figsize=(WIDTH, whole), dpi=DOTS_PER_INCH, facecolor="#ffffff")
        FigureCanvasAgg(chart)
        chart.text(0.02, 1 - 0.25 / whole, _title(seen), fontsize=11, color=INK, va="center")
        for column, left in zip(columns, (LEFT, LEFT + WIDTH / 2), strict=True):
            top = whole - HEAD
            for height, draw in column:
                place = (left, top - height, WIDTH / 2 - LEFT - RIGHT, height)
                axes = chart.add_axes(_share_of(place, whole))
                _frame(axes)
                draw(axes)
                top -= height + BETWEEN
    return chart


def _share_of(place: Box, height: float) -> Box:
    """Return a place in inches as shares of the figure."""
    left, low, wide, high = place
    return left / WIDTH, low / height, wide / WIDTH, high / height


def _title(seen: Diagnosis) -> str:
    looked = f"{seen.looked_at:,} of {seen.steps:,} steps looked at"
    kinds = list(dict.fromkeys(finding.kind for finding in seen.findings))
    found = f"found: {', '.join(kinds)}" if kinds else "nothing found"
    return f"{seen.model}: {text.counted(len(seen.sites), 'site')}, {looked}; {found}"


def _columns(seen: Diagnosis) -> tuple[Column, Column]:
    """Return what there is to draw on the left and on the right, with heights in inches."""
    sites = chart_data.rows(seen)
    labels = [chart_data.fitted(name, LABEL) for name in chart_data.names(sites)]
    ridges, blocks = chart_data.ridges(seen), chart_data.units(sites)
    deaths, flows = chart_data.deaths(seen, sites), chart_data.flows(sites)
    high = _height(len(sites), ROW)
    more = "" if len(sites) == len(seen.sites) else f", {len(sites)} of {len(seen.sites)} sites"
    part = "" if ridges.sites == seen.sites else f", {len(ridges.sites)} of {len(seen.sites)} sites"
    left: Column = [
        (_height(len(ridges.sites), RIDGE_ROW), lambda axes: _ridges(axes, ridges, part)),
    ]
    right: Column = [(high, lambda axes: _units(axes, labels, blocks, text.UNITS + more))]
    if deaths:
        left.append((high, lambda axes: _deaths(axes, labels, deaths, text.DEATHS + more)))
    if chart_data.decades(flows) is not None:
        below = right if deaths else left
        below.append((high, lambda axes: _flows(axes, labels, flows, text.GRADIENTS + more)))
    return left, right


def _height(rows: int, each: float) -> float:
    return min(max(rows * each, LEAST), MOST)


def _frame(axes: Axes) -> None:
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK, length=0, labelsize=SMALL)


def _head(axes: Axes, title: str, note: str = "") -> None:
    axes.set_title(title, fontsize=9.5, color=INK, loc="left", pad=26)
    if note:
        axes.annotate(
            note, (0, 1), xytext=(0, 5), xycoords="axes fraction", textcoords="offset points",
            fontsize=6.5, color=INK,
        )  # fmt: skip


def _rows(axes: Axes, labels: Sequence[str], at: float = 0.5) -> None:
    """Name the rows, the first on top; where they are too narrow for names, some of them."""
    axes.set_ylim(len(labels), 0)
    points = axes.get_window_extent().height / axes.figure.get_dpi() * 72 / len(labels)
    every = max(1, math.ceil((SMALL + 1) / points))
    shown = range(0, len(labels), every)
    axes.set_yticks([row + at for row in shown], [_plain(labels[row]) for row in shown])


def _plain(name: str) -> str:
    # A dollar sign would begin a formula.
    return name.replace("$", r"\$")


def _ridges(axes: Axes, found: chart_data.Ridges, part: str) -> None:
    _head(
        axes, text.OUTPUTS + part,
        f"height: root of density, to its own peak; back and pale: first. {text.reaching(found)}",
    )  # fmt: skip
    axes.axvline(0, color="#8c8c8c", linewidth=0.8, zorder=1)
    for ridge in found.ridges:
        colour = style(chart_data.function_name(found.sites[ridge.row])).colour
        base = ridge.row + chart_data.base(ridge)
        age = (ridge.order + 1) / ridge.of
        heights = [base - chart_data.tall(ridge) * height for height in ridge.height]
        layer = 2 + ridge.row + 0.1 * ridge.order
        axes.fill_between(
            ridge.x, heights, base, color=colour, alpha=0.12 + 0.4 * age, linewidth=0, step="mid",
            zorder=layer,
        )  # fmt: skip
        axes.plot(ridge.x, heights, color=colour, alpha=0.35 + 0.65 * age, linewidth=0.8,
                  drawstyle="steps-mid", zorder=layer + 0.05)  # fmt: skip
    for row, site in enumerate(found.sites):
        axes.text(1.01, row + 0.8, text.broken(site), fontsize=SMALL, color=INK,
                  transform=axes.get_yaxis_transform(), va="center_baseline")  # fmt: skip
    _rows(axes, chart_data.labels(found, LABEL), 0.8)
    axes.set_xlim(found.low, found.high)
    axes.set_xlabel("output", color=INK, fontsize=SMALL)


def _units(axes: Axes, labels: Sequence[str], blocks: Sequence[Block], title: str) -> None:
    _head(axes, title)
    _paint(axes, blocks, SHADES)
    for block in blocks:
        if block.kind == chart_data.DEAD:
            axes.text(1.01, block.row + 0.5, f"{block.count:,} dead", fontsize=SMALL, color=INK,
                      va="center_baseline")  # fmt: skip
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set_xlabel("units, the flattest first; shade: share of inputs with a flat slope",
                    color=INK, fontsize=SMALL)  # fmt: skip
    _rows(axes, labels)


def _deaths(axes: Axes, labels: Sequence[str], blocks: Sequence[Block], title: str) -> None:
    _head(axes, title)
    _paint(axes, blocks, TIMES)
    axes.set_xlim(min(block.start for block in blocks), max(block.end for block in blocks))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step; shade: share of units flat on every input of these steps", color=INK,
                    fontsize=SMALL)  # fmt: skip
    _rows(axes, labels)


def _paint(axes: Axes, blocks: Sequence[Block], shades: dict[str, tuple[str, float]]) -> None:
    """Draw blocks, and say above what their shades are."""
    axes.grid(visible=False)
    used = []
    for kind, (colour, opacity) in shades.items():
        some = [block for block in blocks if block.kind == kind]
        if not some:
            continue
        axes.barh(
            [b.row + 0.5 for b in some], [b.end - b.start for b in some], 0.86,
            [b.start for b in some], color=colour, alpha=opacity, linewidth=0,
        )  # fmt: skip
        used.append(Patch(facecolor=colour, alpha=opacity, label=kind))
    _legend(axes, used)


def _legend(axes: Axes, handles: Sequence[Any]) -> None:
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=len(handles),
        frameon=False, fontsize=6.5, handlelength=1.0, columnspacing=0.9, handletextpad=0.35,
        borderaxespad=0.1,
    )  # fmt: skip


def _flows(axes: Axes, labels: Sequence[str], found: Sequence[chart_data.Flow], title: str) -> None:
    span = chart_data.decades(found)
    assert span is not None
    low, high = (10.0**end for end in span)
    axes.set_xscale("log")
    lines = []
    for which, (name, colour, dash) in WHICH.items():
        some = [one for one in found if one.which == which]
        placed = [one.norm if low <= one.norm <= high else math.nan for one in some]
        lines += axes.plot(
            placed, [one.row + 0.5 for one in some], color=colour, linewidth=1.4, linestyle=dash,
            marker="o", markersize=3, label=name,
        )  # fmt: skip
        crossed = [one.row + 0.5 for one in some if not low <= one.norm <= high]
        axes.plot([low] * len(crossed), crossed, marker="x", color=colour, linestyle="none",
                  markersize=5, clip_on=False)  # fmt: skip
    _head(axes, title)
    _legend(axes, lines)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(low, high)
    note = text.silent(labels, found)
    axes.set_xlabel("norm, logarithmic" + (f". {note}" if note else ""), color=INK, fontsize=SMALL)
    _rows(axes, labels)
