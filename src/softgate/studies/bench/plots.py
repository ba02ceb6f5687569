"""Pictures of times: error against time, and one function's time in every implementation.

What softgate does has the function's own colour, everybody else's is grey, and each name stands at
its mark, so that colour never has to be enough. The page behind is white on every screen. An SVG
file carries the picture in words as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.ticker import FuncFormatter, NullFormatter

from softgate.plotting.figure import DOTS_PER_INCH, GRID, INK, SETTINGS, Chart
from softgate.plotting.palette import style

from .pareto import Pareto, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHERS, FRONT = "#767676", "#222222"
"""Grey of 4.5:1 on white."""
NAME_SIZE = 8.0
PLACES = (
    (1, 0), (-1, 0), (1, 1.2), (1, -1.2), (0, 1.5), (0, -1.5), (-1, 1.2), (-1, -1.2), (1, 2.4),
    (1, -2.4), (0, 2.7), (0, -2.7), (-1, 2.4), (-1, -2.4), (1, 3.6), (1, -3.6), (0, 3.9),
    (0, -3.9), (-1, 3.6), (-1, -3.6), (1, 4.8), (1, -4.8), (1, 6), (1, -6),
)  # fmt: skip
"""Where a name may stand beside its mark, the best first: sides, and lines up or down."""


Box = tuple[float, float, float, float]
"""Left, low, right, high, in pixels."""


@dataclass(frozen=True)
class Mark:
    """A name to be written beside a place."""

    name: str
    place: tuple[float, float]
    bold: bool


def pareto_chart(found: Pareto, width: float = 7.0, height: float = 4.6) -> Chart:
    """Return the figure of a `Pareto`, `width` by `height` inches."""
    if not found.points:
        raise ValueError(f"{found.function}: no implementation was measured, nothing to draw")
    ours = style(found.function.partition(":")[0]).colour
    with drawing():
        figure, axes = frame(found.title, width, height)
        axes.set_xscale("log")
        axes.set_yscale("log")
        top = _top(found)
        for point in found.points:
            _mark(axes, point, top, ours if _is_ours(point) else OTHERS)
        _limits(axes, found, top)
        _front(axes, found, top)
        axes.set_xlabel(f"ns an element, {found.setting}", color=INK)
        axes.set_ylabel(f"largest error in ulps of {found.dtype}", color=INK)
        plain_ticks(axes)
        axes.yaxis.set_minor_formatter(NullFormatter())
        marks = [Mark(_shown(p), (p.least_ns, min(p.max_ulp, top)), p.on_front) for p in found]
        _names(axes, marks, [(p.least_ns, p.normal_ulp) for p in found if _flushes(p)])
        figure.text(
            0.01, 0.012,
            "bold and dashed: the Pareto front.  ring: the error where nothing is subnormal.  "
            "B: bytes kept for the gradient, an element; the mark grows with them.",
            fontsize=6.5, color=INK,
        )  # fmt: skip
    return figure


def drawing() -> AbstractContextManager[None]:
    """Return the context in which figures are made: softgate's own settings, not the user's."""
    return mpl.rc_context(SETTINGS)


def frame(title: str, width: float, height: float, left: float = 0.8) -> tuple[Chart, Axes]:
    """Return an empty figure and its axes, so many inches off the left edge."""
    figure = Chart(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor="#ffffff")
    FigureCanvasAgg(figure)
    axes = figure.add_axes(
        (left / width, 0.72 / height, 1 - (left + 0.2) / width, 1 - 1.05 / height)
    )
    axes.set_title(title, fontsize=10.5, color=INK)
    axes.grid(visible=True, which="major", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK, length=3)
    return figure, axes


def _is_ours(point: Point) -> bool:
    return point.implementation.partition(".")[0] == "softgate"


def _flushes(point: Point) -> bool:
    """Tell whether errors are smaller where nothing is subnormal, by enough to be seen."""
    return point.normal_ulp < 0.5 * point.max_ulp


def _shown(point: Point) -> str:
    kept = "" if point.saved_bytes is None else f", {point.saved_bytes:g} B"
    return point.implementation + kept


def _top(found: Pareto) -> float:
    """Return where errors without end are drawn."""
    finite = [point.max_ulp for point in found.points if math.isfinite(point.max_ulp)]
    return 30 * max([1.0, *finite]) if len(finite) < len(found.points) else math.inf


def _mark(axes: Axes, point: Point, top: float, colour: str) -> None:
    y = min(point.max_ulp, top)
    size = 5.0 + 0.8 * math.sqrt(point.saved_bytes or 0.0)
    if _flushes(point):
        axes.plot([point.least_ns] * 2, [point.normal_ulp, y], color=colour, linewidth=0.8)
        axes.plot(
            [point.least_ns], [point.normal_ulp], marker="o", markersize=4.5, color=colour,
            markerfacecolor="#ffffff", linestyle="none", zorder=5,
        )  # fmt: skip
    axes.plot(
        [point.least_ns], [y], marker="o", markersize=size, color=colour, linestyle="none",
        markeredgecolor=FRONT if point.on_front else colour, markeredgewidth=1.2,
        zorder=7 if point.on_front else 6, gid=point.implementation,
    )  # fmt: skip


def _front(axes: Axes, found: Pareto, top: float) -> None:
    """Join the front by steps to the edges: whoever is above and right of it is beaten."""
    (_, right), (_, high) = axes.get_xlim(), axes.get_ylim()
    points = [(point.least_ns, min(point.max_ulp, top)) for point in found.front]
    x = [points[0][0], *(x for x, _ in points), right]
    y = [high, *(y for _, y in points), points[-1][1]]
    axes.step(x, y, where="post", color=FRONT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=3)


def _limits(axes: Axes, found: Pareto, top: float) -> None:
    x = [point.least_ns for point in found]
    y = [min(value, top) for point in found for value in (point.max_ulp, point.normal_ulp)]
    y = [max(value, 0.1) for value in y]
    axes.set_xlim(min(x) / 2, max(x) * 2.2)
    axes.set_ylim(min(y) / 4, max(y) * 60)
    if math.isfinite(top):
        axes.annotate(
            "no number", (0.01, top), xycoords=("axes fraction", "data"), fontsize=7, color=INK
        )


def plain_ticks(axes: Axes) -> None:
    """Write numbers, not powers of ten, at 1, 2 and 5 of the logarithmic time axis."""
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(
        FuncFormatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else "")
    )
    axes.tick_params(axis="x", which="minor", labelsize=7, colors=INK)


def _names(axes: Axes, marks: Sequence[Mark], others: Sequence[tuple[float, float]]) -> None:
    """Write each name beside its mark, led to by a line where it had to move away."""
    figure: Any = axes.figure
    pixels = figure.get_dpi() / 72
    places = [tuple(axes.transData.transform(mark.place)) for mark in marks]
    rings = [tuple(axes.transData.transform(place)) for place in others]
    taken = [_around(x, y, 6 * pixels) for x, y in (*places, *rings)]
    order = sorted(range(len(marks)), key=lambda i: -places[i][0])
    for mark, (x, y) in ((marks[i], places[i]) for i in order):
        text = axes.annotate(
            mark.name, mark.place, xytext=(0, 0), textcoords="offset points", fontsize=NAME_SIZE,
            color=INK, fontweight="bold" if mark.bold else "normal", zorder=20,
            bbox={"facecolor": "#ffffff", "edgecolor": "none", "pad": 0.4, "alpha": 0.8},
        )  # fmt: skip
        size = text.get_window_extent(figure.canvas.get_renderer())
        box = _free((x, y), (size.width, size.height), pixels, taken, axes.get_window_extent())
        taken.append(box)
        text.set_position(((box[0] - x) / pixels, (box[1] - y + 0.2 * size.height) / pixels))
        _lead(axes, (x, y), box, pixels)


def _free(
    at: tuple[float, float],
    size: tuple[float, float],
    pixels: float,
    taken: Sequence[Box],
    room: Any,
) -> Box:
    """Return the first place beside a mark where a name covers nothing, or covers least."""
    (x, y), (wide, high) = at, size
    found: list[tuple[int, Box]] = []
    for side, lines in PLACES:
        left = x + 9 * pixels if side > 0 else x - wide - 9 * pixels if side else x - wide / 2
        low = y - high / 2 + lines * high
        box = (left, low, left + wide, low + high)
        outside = left < room.x0 or box[2] > room.x1 or low < room.y0 or box[3] > room.y1
        found.append((sum(_meet(box, other) for other in taken) + 3 * outside, box))
    return min(found, key=lambda one: one[0])[1]


def _lead(axes: Axes, at: tuple[float, float], box: Box, pixels: float) -> None:
    """Draw a line from a mark to its name, unless they stand side by side."""
    x, y = at
    if box[1] < y < box[3]:
        return
    end = (min(max(x, box[0] - pixels), box[2] + pixels), box[1] if y < box[1] else box[3])
    ends = axes.transData.inverted().transform([at, end])
    axes.plot(ends[:, 0], ends[:, 1], color=OTHERS, linewidth=0.6, zorder=2, scalex=False,
              scaley=False)  # fmt: skip


def _around(x: float, y: float, reach: float) -> Box:
    return (x - reach, y - reach, x + reach, y + reach)


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
