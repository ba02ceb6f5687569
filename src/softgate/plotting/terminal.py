"""Curves as text: braille dots in colour, or one character for each curve without colours.

A character cell holds 2 x 4 braille dots but only one colour; curves that share cells alternate
from column to column, so that none hides another. `render` returns the lines and prints nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .palette import Style
from .polylines import Curve, Floats, apart, last_shown, span

if TYPE_CHECKING:
    from .plot import PlotSpec

GLYPHS = "*+ox#@%&$=^abcdefghijklmnpqrstuvwyz"
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bits of a braille cell: two columns of four."""

SMALLEST = (24, 8)
LABELLED = 60
"""The least width at which names are beside the ends of the lines as well."""


@dataclass(frozen=True)
class ColouredText:
    """Text of one colour; None is the terminal's default colour, "dim" a fainter one."""

    text: str
    colour: str | None = None


Line = list[ColouredText]


@dataclass(frozen=True)
class Canvas:
    """The grid of character cells, and the range of x and y that it shows."""

    columns: int
    rows: int
    low: float
    high: float
    top: float
    """The y of the centre of the first row."""
    unit: float
    """The difference of y from one row to the next."""
    log: bool

    def column(self, x: Floats, parts: int = 1) -> Floats:
        """Return the column of each x, with `parts` columns per cell."""
        return (x - self.low) / (self.high - self.low) * (self.columns * parts - 1)

    def row(self, y: Floats, parts: int = 1) -> Floats:
        """Return the row of each y from the top, with `parts` rows per cell.

        The centre of a cell is a boundary of its four parts: a small offset always assigns it to
        the same part.
        """
        seen = np.log10(y) if self.log else y
        middle = (parts - 1) / 2 + (0.02 if parts % 2 == 0 else 0.0)
        return (self.top / self.unit - seen / self.unit) * parts + middle


def render(picture: PlotSpec, title: str, *, width: int, height: int, colour: bool) -> list[Line]:
    """Return the lines of a plot, `width` characters by `height` lines at most.

    Parameters
    ----------
    picture : PlotSpec
        The curves.
    title : str
        The first line.
    width, height : int
        The size, at most.
    colour : bool
        Braille in colours; else plain characters, one for each curve.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        raise ValueError(
            f"a plot of {width} x {height} characters shows nothing: "
            f"it needs at least {SMALLEST[0]} x {SMALLEST[1]}"
        )
    curves, styles, log = picture.curves, picture.styles, picture.log
    legend = legend_lines(picture, width, colour)
    y_axis = scale(*span(curves, log), max(height - 3 - len(legend), 4))
    rows = y_axis.rows
    beside_axis = {row: number(tick, y_axis.step, log) for row, tick in y_axis.ticks()}
    margin = max(len(text) for text in beside_axis.values()) + 1
    aside = max(len(curve.label) for curve in curves) + 2 if width >= LABELLED else 0
    columns = max(width - margin - 1 - aside, 8)
    top = y_axis.first / y_axis.every * y_axis.step
    unit = y_axis.step / y_axis.every
    canvas = Canvas(columns, rows, picture.low, picture.high, top, unit, log)
    cells = coloured(canvas, curves, styles) if colour else plain(canvas, curves)
    names = beside(canvas, picture, colour) if aside else {}
    lines: list[Line] = [[ColouredText(title)]]
    for row in range(rows):
        left = beside_axis.get(row, "").rjust(margin - 1)
        bar = ("┤" if row in beside_axis else "│") if colour else "|"
        lines.append([ColouredText(f"{left} {bar}"), *cells[row], *names.get(row, [])])
    return [*lines, *horizontal(canvas, margin, colour), *legend]


def touched(canvas: Canvas, curve: Curve, wide: int, high: int) -> set[tuple[int, int]]:
    """Return the parts of cells, `wide` x `high` per cell, that a curve crosses."""
    parts: set[tuple[int, int]] = set()
    for x, y in curve.pieces:
        drawn = np.isfinite(y) & ((y > 0) if canvas.log else True)
        for piece in np.split(np.arange(x.size), np.flatnonzero(~drawn)):
            inside = piece[drawn[piece]]
            if not inside.size:
                continue
            across = canvas.column(x[inside], wide)
            down = np.clip(canvas.row(y[inside], high), -4, canvas.rows * high + 4)
            parts |= stroke(across, down)
    limit = canvas.columns * wide, canvas.rows * high
    return {(c, r) for c, r in parts if 0 <= c < limit[0] and 0 <= r < limit[1]}


def stroke(across: Floats, down: Floats) -> set[tuple[int, int]]:
    """Return the points of a grid on a line through points, without gaps."""
    points = {(round(across[0]), round(down[0]))}
    for i in range(across.size - 1):
        far = max(abs(across[i + 1] - across[i]), abs(down[i + 1] - down[i]))
        steps = max(1, math.ceil(2 * far))
        share = np.arange(steps + 1) / steps
        columns = np.rint(across[i] + share * (across[i + 1] - across[i])).astype(int)
        rows = np.rint(down[i] + share * (down[i + 1] - down[i])).astype(int)
        points.update(zip(columns.tolist(), rows.tolist(), strict=True))
    return points


def plain(canvas: Canvas, curves: Sequence[Curve]) -> list[Line]:
    """Return rows of characters, one for each curve."""
    owners: dict[tuple[int, int], list[int]] = {}
    for index, curve in enumerate(curves):
        for cell in touched(canvas, curve, 1, 1):
            owners.setdefault(cell, []).append(index)
    rows = []
    for row in range(canvas.rows):
        text = "".join(
            GLYPHS[turn(owners[column, row], column) % len(GLYPHS)]
            if (column, row) in owners
            else background(canvas, column, row, "-", "|")
            for column in range(canvas.columns)
        )
        rows.append([ColouredText(text)])
    return rows


def coloured(canvas: Canvas, curves: Sequence[Curve], styles: Sequence[Style]) -> list[Line]:
    """Return rows of braille cells, each in the colour of a curve in it."""
    owners: dict[tuple[int, int], list[int]] = {}
    bits: dict[tuple[int, int], int] = {}
    for index, curve in enumerate(curves):
        for c, r in touched(canvas, curve, 2, 4):
            cell = c // 2, r // 4
            bits[cell] = bits.get(cell, 0) | DOTS[c % 2][r % 4]
            if index not in owners.setdefault(cell, []):
                owners[cell].append(index)
    rows = []
    for row in range(canvas.rows):
        line: Line = []
        for column in range(canvas.columns):
            cell = column, row
            if cell in bits:
                add(line, chr(0x2800 + bits[cell]), styles[turn(owners[cell], column)].colour)
            else:
                empty = background(canvas, column, row, "┈", "┊")
                add(line, empty, None if empty == " " else "dim")
        rows.append(line)
    return rows


def add(line: Line, text: str, colour: str | None) -> None:
    """Put text at the end of a line, into its last span if the colour is the same."""
    if line and line[-1].colour == colour:
        line[-1] = ColouredText(line[-1].text + text, colour)
    else:
        line.append(ColouredText(text, colour))


def turn(owners: Sequence[int], column: int) -> int:
    """Return the curve to show in a column of a cell that several curves share."""
    return sorted(owners)[column % len(owners)]


def background(canvas: Canvas, column: int, row: int, flat: str, upright: str) -> str:
    """Return the character of an empty cell: part of the lines x = 0 and y = 0, or a space."""
    zero = np.zeros(1)
    if not canvas.log and row == round(canvas.row(zero)[0]):
        return flat
    if canvas.low < 0 < canvas.high and column == round(canvas.column(zero)[0]):
        return upright
    return " "


def beside(canvas: Canvas, picture: PlotSpec, colour: bool) -> dict[int, Line]:
    """Return the names of curves by the row of their ends, moved apart where they collide."""
    ends = []
    for curve in picture.curves:
        last = last_shown(curve, -math.inf, math.inf)
        end = canvas.rows - 1.0 if last is None else float(canvas.row(np.array(last[1:]))[0])
        ends.append(min(max(end, 0.0), canvas.rows - 1.0))
    places = apart(ends, 0, canvas.rows - 1, 1)
    lines: dict[int, Line] = {}
    for curve, style, place in zip(picture.curves, picture.styles, places, strict=True):
        mark = ColouredText("─", style.colour) if colour else ColouredText(" ")
        lines.setdefault(round(place), [mark, ColouredText(f" {curve.label}")])
    return lines


INSIDE = 0.45
"""Distance from the centre of a row, in rows, within which a curve is in that row."""


@dataclass(frozen=True)
class YAxis:
    """A y axis: every `every`-th row is a multiple of `step`; 0 is the centre of row 0."""

    step: float
    every: int
    first: int
    last: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.first - self.last + 1

    def ticks(self) -> list[tuple[int, float]]:
        """Return the rows with a tick label, from the top, and the y of each."""
        numbers = range(-(-self.last // self.every), self.first // self.every + 1)
        return [(self.first - n * self.every, n * self.step) for n in numbers]


def scale(low: float, high: float, rows: int) -> YAxis:
    """Return the finest scale of at most `rows` rows with `low`, `high` and two tick labels."""
    power = math.floor(math.log10(high / rows - low / rows))
    steps = [float(f"{m}e{p}") for p in range(power, power + 5) for m in (1, 2, 5)]
    steps = [step for step in steps if 0 < step < math.inf]
    choices = [(step, every) for step in steps for every in range(1, max(6, rows // 8) + 1)]
    for step, every in sorted(choices, key=lambda c: (c[0] / c[1], abs(c[1] - 3.1))):
        first = math.ceil(high / step * every - INSIDE)
        last = math.floor(low / step * every + INSIDE)
        if first - last >= rows or not math.isfinite(max(first, -last) / every * step):
            continue
        y_axis = YAxis(step, every, first, last)
        if len(y_axis.ticks()) < 2:  # extend both ends to a tick, as far as there are rows
            first += min(-first % every, rows - y_axis.rows)
            last -= min(last % every, rows - 1 - (first - last))
            y_axis = YAxis(step, every, first, last)
        if len(y_axis.ticks()) >= 2:
            return y_axis
    raise ValueError(f"values from {low:g} to {high:g} are too far apart for {rows} rows")


def number(tick: float, step: float, log: bool = False) -> str:
    """Return a tick's label, with no more digits than its step has."""
    if log:
        return f"1e{tick:+.0f}" if step >= 1 else f"{10**tick:.1e}"
    if abs(tick) < step / 2:
        return "0"
    power = math.floor(math.log10(step) + 1e-9)
    if -4 <= power <= 4:
        return f"{tick:.{max(0, -power)}f}"
    return f"{tick:.{max(0, math.floor(math.log10(abs(tick)) + 1e-9) - power)}e}"


def horizontal(canvas: Canvas, margin: int, colour: bool) -> list[Line]:
    """Return the x axis and its tick labels."""
    rough = (canvas.high - canvas.low) / max(canvas.columns / 9, 2)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first = math.ceil(canvas.low / step - 1e-9)
    axis = list(("─" if colour else "-") * canvas.columns)
    text = [" "] * (canvas.columns + margin + 1)
    ticks = range(first, math.floor(canvas.high / step + 1e-9) + 1)
    for tick in ticks:
        place = round(float(canvas.column(np.array([tick * step]))[0]))
        axis[place] = "┬" if colour else "+"
        label = number(tick * step, step)
        start = max(0, min(margin + 1 + place - len(label) // 2, len(text) - len(label)))
        if all(c == " " for c in text[max(start - 1, 0) : start + len(label) + 1]):
            text[start : start + len(label)] = label
    corner = "└" if colour else "+"
    return [
        [ColouredText(" " * margin + corner + "".join(axis))],
        [ColouredText("".join(text).rstrip())],
    ]


def legend_lines(picture: PlotSpec, width: int, colour: bool) -> list[Line]:
    """Return the legend, wrapped to `width`."""
    lines: list[Line] = [[]]
    used = 0
    for index, (curve, style) in enumerate(zip(picture.curves, picture.styles, strict=True)):
        mark = "──" if colour else GLYPHS[index % len(GLYPHS)]
        size = len(mark) + len(curve.label) + 3
        if used and used + size > width:
            lines.append([])
            used = 0
        lines[-1] += [ColouredText("  "), ColouredText(mark, style.colour if colour else None)]
        lines[-1].append(ColouredText(f" {curve.label}"))
        used += size
    return lines
