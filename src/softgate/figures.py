"""Curves as a matplotlib figure: honest at jumps, readable at 6 x 4 inches, the same each time.

A figure is made by itself, without pyplot, whose list of open figures belongs to the user. Names
stand at the ends of the lines as well as in the legend, so that colour never has to be enough.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .curves import Curve, Floats
from .palette import Style
from .pictures import Picture, apart, last_shown, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("svg", "png", "pdf")
DOTS_PER_INCH = 200
INK, GRID = "#222222", "#d9d9d9"
SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9.0,
    "svg.fonttype": "none",  # text stays text: searchable, and read aloud
    "svg.hashsalt": "softgate",
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
}
LABEL_GAP = 10.5
"""Between two names at the ends of lines, in points."""


class Chart(Figure):
    """A figure that shows itself in a notebook, whether or not pyplot is loaded."""

    def _repr_svg_(self) -> str:
        buffer = BytesIO()
        save(self, buffer, "svg")
        return buffer.getvalue().decode()


def draw(picture: Picture, width: float, height_: float) -> Chart:
    """Return the figure of a picture, `width` by `height_` inches."""
    with mpl.rc_context(SETTINGS):
        figure = Chart(figsize=(width, height_), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        widest = max(len(curve.label) for curve in picture.curves)
        right = 1 - min(0.45, (0.40 + 0.075 * widest) / width)
        box = (0.8 / width, 0.5 / height_, right - 0.8 / width, 1 - 0.84 / height_)
        axes = figure.add_axes(box)
        frame(axes, picture)
        for layer, (curve, style) in enumerate(zip(picture.curves, picture.styles, strict=True)):
            line(axes, curve, style, layer)
        low, high = span(picture.curves, picture.log)
        room = 0.05 * (high - low)
        low, high = low - room, high + room
        if picture.log:  # not beyond what a float64 can be
            low, high = 10 ** max(low, -323.0), 10 ** min(high, 308.0)
        axes.set_ylim(low, high)
        legend = axes.legend(
            loc="best", frameon=True, framealpha=0.85, edgecolor="none", handlelength=3.2
        )
        legend.set_zorder(50)
        names(axes, picture)
    return figure


def frame(axes: Axes, picture: Picture) -> None:
    """Draw what stands behind the curves."""
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
        return
    axes.axhline(0, color="#8c8c8c", linewidth=0.8, zorder=1)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 4), useMathText=True)
    if picture.zero:
        axes.annotate(
            picture.zero, (0.01, 0), xycoords=("axes fraction", "data"), fontsize=7.5,
            color=INK, xytext=(0, 2), textcoords="offset points",
        )  # fmt: skip


def line(axes: Axes, curve: Curve, style: Style, layer: int) -> None:
    """Draw one curve; its pieces are one line with gaps, so that the legend has it once."""
    gap = np.array([np.nan])
    xs, ys = ([p[k] for p in curve.pieces] for k in (0, 1))
    x = np.concatenate([part for piece in xs for part in (piece, gap)])
    y = np.concatenate([part for piece in ys for part in (piece, gap)])
    dashes = (0, style.pattern) if style.pattern else "solid"
    axes.plot(
        x, y, color=style.colour, linewidth=1.8, linestyle=dashes, label=curve.label,
        zorder=20 - layer * 0.1, solid_capstyle="butt", gid=curve.label,
    )  # fmt: skip
    for points, fill in ((curve.closed, style.colour), (curve.open, "#ffffff")):
        for px, py in points:
            axes.plot(
                [px], [py], marker="o", markersize=4, markeredgewidth=1.1, color=style.colour,
                markerfacecolor=fill, linestyle="none", zorder=30 - layer * 0.1,
            )  # fmt: skip


def names(axes: Axes, picture: Picture) -> None:
    """Write each curve's name beside its right end, moved apart where they would overlap."""
    figure = axes.figure
    points = 72 / figure.get_dpi()
    bottom, top = (edge * points for edge in axes.get_window_extent().intervaly)
    ends = [end_of(axes, curve) * points for curve in picture.curves]
    places = apart([float(end[1]) for end in ends], bottom, top, LABEL_GAP)
    edge = float(axes.get_window_extent().x1) * points
    inches = mpl.transforms.Affine2D().scale(1 / 72) + figure.dpi_scale_trans
    for curve, style, (x, y), place in zip(
        picture.curves, picture.styles, ends, places, strict=True
    ):
        at_edge = x > edge - 3
        lead = mpl.lines.Line2D(
            [edge + 1.5 if at_edge else x + 2, edge + 9, edge + 16], [y, place, place],
            color=style.colour, linewidth=1.4 if at_edge else 0.7, transform=inches,
        )  # fmt: skip
        figure.add_artist(lead)
        figure.text(
            edge + 18, place, curve.label, color=INK, fontsize=8, va="center_baseline",
            transform=inches,
        )  # fmt: skip


def end_of(axes: Axes, curve: Curve) -> Floats:
    """Return the last point of a curve that shows, in pixels."""
    found = last_shown(curve, *axes.get_ylim())
    if found is None:
        box = axes.get_window_extent()
        return np.array([box.x1, box.y0])
    return np.asarray(axes.transData.transform(found), dtype=np.float64)


def file_format(path: Path) -> str:
    """Return the kind of file that a name asks for."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise ValueError(f"{path} ends in {path.suffix or 'nothing'}: files end in {known}")
    return kind


def save(figure: Figure, target: Path | BinaryIO, kind: str) -> None:
    """Write a figure; the same figure gives the same bytes, for no date is written."""
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Creator": "softgate"},
        "png": {"Software": "softgate"},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": "softgate"},
    }
    with mpl.rc_context(SETTINGS):
        figure.savefig(target, format=kind, metadata=metadata[kind])
