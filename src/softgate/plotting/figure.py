"""Curves as a matplotlib figure: with gaps at jumps, and the same bytes for the same plot.

`sg.plot` returns it, so that users can draw on its axes; all other charts use Vega-Lite. It is
created without pyplot, so it is not among pyplot's open figures. Names are at the ends of the
lines, so that a figure does not depend on colour alone, and in a legend if there is room for one.
"""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .palette import Style
from .polylines import Curve, Floats, apart, last_shown, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .plot import PlotSpec

DOTS_PER_INCH = 200
INK, GRID = "#222222", "#d9d9d9"
SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9.0,
    "svg.fonttype": "none",  # text stays text: searchable and accessible
    "svg.hashsalt": "softgate",
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
}
LABEL_GAP = 10.5
"""Least distance of two names at the ends of lines, in points."""
NAME_SIZE = 8.0
MOST_IN_LEGEND = 12
MOST_OF_AXES = (0.6, 0.5)
"""Largest legend, as fractions of the axes' width and height; a larger one hides curves."""
LARGEST = 1e306
"""Beyond this, matplotlib's arithmetic overflows."""
LOG_ROOM = 1.0
"""Empty decades above and below the curves, at most."""


class PlotFigure(Figure):
    """A figure that notebooks display, whether or not pyplot is imported."""

    def _repr_svg_(self) -> str:
        return render(self, "svg").decode()


def draw(picture: PlotSpec, width: float, height_: float) -> PlotFigure:
    """Return the figure of a plot, `width` by `height_` inches."""
    with mpl.rc_context(SETTINGS):
        figure = PlotFigure(figsize=(width, height_), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        widest = max(len(curve.label) for curve in picture.curves)
        right = 1 - min(0.45, (0.40 + 0.075 * widest) / width)
        box = (0.8 / width, 0.5 / height_, right - 0.8 / width, 1 - 0.84 / height_)
        axes = figure.add_axes(box)
        frame(axes, picture)
        for layer, (curve, style) in enumerate(zip(picture.curves, picture.styles, strict=True)):
            line(axes, curve, style, layer)
        low, high = span(picture.curves, picture.log)
        largest = max(abs(edge) for edge in (low, high, picture.low, picture.high))
        if largest > LARGEST:
            raise ValueError(f"{largest:g} is too large for a figure: at most {LARGEST:g}")
        room = 0.05 * (high - low)
        if picture.log:  # stay within the range of float64
            room = min(room, LOG_ROOM)
            low, high = 10 ** max(low - room, -323.0), 10 ** min(high + room, 308.0)
            axes.set_ylim(low, high)
        else:
            axes.set_ylim(low - room, high + room)
            zero(axes, picture)
        explain(axes, picture)
        names(axes, picture)
    return figure


def explain(axes: Axes, picture: PlotSpec) -> None:
    """Add a legend unless it would hide the curves; names are also at the ends of curves."""
    if len(picture.curves) > MOST_IN_LEGEND:
        return
    legend = axes.legend(
        loc="best", frameon=True, framealpha=0.85, edgecolor="none", handlelength=3.2
    )
    legend.set_zorder(50)
    size, room = legend.get_window_extent(), axes.get_window_extent()
    if size.width > MOST_OF_AXES[0] * room.width or size.height > MOST_OF_AXES[1] * room.height:
        legend.remove()


def frame(axes: Axes, picture: PlotSpec) -> None:
    """Draw the axes, the grid and the titles."""
    axes.set_title(picture.title, fontsize=10.5, color=INK)
    axes.set_xlabel("x", color=INK)
    axes.set_ylabel(picture.axis, color=INK)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(0, color="#8c8c8c", linewidth=0.8, zorder=1)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK, length=3)
    axes.set_xlim(picture.low, picture.high)
    if picture.log:
        axes.set_yscale("log")
    else:
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 4), useMathText=True)


def zero(axes: Axes, picture: PlotSpec) -> None:
    """Draw the line y = 0 if it is in range, with the name of its function if any."""
    low, high = axes.get_ylim()
    if not low <= 0 <= high:
        return
    axes.axhline(0, color="#8c8c8c", linewidth=0.8, zorder=1)
    if picture.zero:
        axes.annotate(
            picture.zero, (0.01, 0), xycoords=("axes fraction", "data"), fontsize=7.5,
            color=INK, xytext=(0, 2), textcoords="offset points",
        )  # fmt: skip


def line(axes: Axes, curve: Curve, style: Style, layer: int) -> None:
    """Draw a curve; its pieces are one line with gaps, so that it is in the legend once."""
    gap = np.array([np.nan])
    xs, ys = ([p[k] for p in curve.pieces] for k in (0, 1))
    x = np.concatenate([part for piece in xs for part in (piece, gap)])
    y = np.concatenate([part for piece in ys for part in (piece, gap)])
    dashes = (0, style.pattern) if style.pattern else "solid"
    # Matplotlib omits labels that begin with an underscore, such as __main__:<lambda>.
    label = f" {curve.label}" if curve.label.startswith("_") else curve.label
    above = 20 if style.pattern else 10  # a solid line would hide a dashed one below it
    axes.plot(
        x, y, color=style.colour, linewidth=1.8, linestyle=dashes, label=label,
        zorder=above - layer * 0.1, solid_capstyle="butt", gid=curve.label,
    )  # fmt: skip
    for points, fill in ((curve.closed, style.colour), (curve.open, "#ffffff")):
        for px, py in points:
            axes.plot(
                [px], [py], marker="o", markersize=4, markeredgewidth=1.1, color=style.colour,
                markerfacecolor=fill, linestyle="none", zorder=30 - layer * 0.1,
            )  # fmt: skip


def names(axes: Axes, picture: PlotSpec) -> None:
    """Write each curve's name beside its end, moved apart where names would overlap.

    The name of a curve that reaches the right edge is outside the axes, with a leader; that of a
    curve that ends earlier is at its end: a leader across the axes would look like a curve.
    """
    points = 72 / axes.figure.get_dpi()
    ends = [end_of(axes, curve) * points for curve in picture.curves]
    edge = float(axes.get_window_extent().x1) * points
    for outside in (True, False):
        chosen = [i for i, (x, _) in enumerate(ends) if (x > edge - 3) == outside]
        bottom, top = (y * points for y in axes.get_window_extent().intervaly)
        inset = 0.0 if outside else LABEL_GAP / 2
        low, high = bottom + inset, top - inset
        raised = 1.2 * inset  # clear of the grid and of the line at 0
        heights = [min(max(float(ends[i][1]) + raised, low), high) for i in chosen]
        places = apart(heights, low, high, LABEL_GAP)
        gap = min((b - a for a, b in pairwise(sorted(places))), default=LABEL_GAP)
        size = min(NAME_SIZE, 0.85 * gap)
        for i, place in zip(chosen, places, strict=True):
            name, style = picture.curves[i].label, picture.styles[i]
            if outside:
                beyond(axes.figure, name, style, (edge, float(ends[i][1])), place, size)
            else:
                inside(axes.figure, name, (float(ends[i][0]), place), edge, size)


def beyond(
    figure: Any, name: str, style: Style, end: tuple[float, float], place: float, size: float
) -> None:
    """Write a name to the right of the axes, with a leader in the style of the curve."""
    edge, y = end
    lead = mpl.lines.Line2D(
        [edge + 1.5, edge + 9, edge + 16], [y, place, place], color=style.colour, linewidth=1.4,
        linestyle=(0, style.pattern) if style.pattern else "solid", transform=inches(figure),
    )  # fmt: skip
    figure.add_artist(lead)
    figure.text(
        edge + 18, place, name, color=INK, fontsize=size, va="center_baseline",
        transform=inches(figure),
    )  # fmt: skip


def inside(figure: Any, name: str, end: tuple[float, float], edge: float, size: float) -> None:
    """Write a name inside the axes, right of the end of its curve, or left if it does not fit."""
    x, y = end
    left = x + 4 + 0.65 * size * len(name) > edge
    figure.text(
        x - 4 if left else x + 4, y, name, color=INK, fontsize=size, va="center_baseline",
        ha="right" if left else "left", transform=inches(figure),
    )  # fmt: skip


def inches(figure: Any) -> Any:
    """Return the transform from points, from the lower left corner of the figure."""
    return mpl.transforms.Affine2D().scale(1 / 72) + figure.dpi_scale_trans


def end_of(axes: Axes, curve: Curve) -> Floats:
    """Return the last visible point of a curve, in pixels."""
    point = last_shown(curve, *axes.get_ylim())
    if point is None:
        box = axes.get_window_extent()
        return np.array([box.x1, box.y0])
    return np.asarray(axes.transData.transform(point), dtype=np.float64)


def render(figure: Figure, kind: str) -> bytes:
    """Return the content of an "svg", "png" or "pdf" file; equal figures give equal bytes."""
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Creator": "softgate"},
        "png": {"Software": "softgate"},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": "softgate"},
    }
    content = BytesIO()
    with mpl.rc_context(SETTINGS):
        figure.savefig(content, format=kind, metadata=metadata[kind])
    return content.getvalue()
