"""`plot`: curves of activations in a matplotlib figure, and validation of its arguments.

Files and the terminal render the same `PlotSpec`, which `PlotRequest.picture` returns.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from softgate.records.files import PICTURES, TABLES, file_format, output_path, write_file
from softgate.records.packages import require
from softgate.records.record import STYLE, Cell, Grid, Record, html_page
from softgate.runtime.registry import label

from .palette import Style, style, variants
from .polylines import QUANTITIES, Curve, Drawable, check_range, curve

if TYPE_CHECKING:
    from .figure import PlotFigure

RANGE = (-5.0, 5.0)
"""The range of x by default."""
FORMATS = (*PICTURES, *TABLES)
SMALLEST, LARGEST = 2, 100
"""Inches; in a smaller figure, names and numbers leave no room for curves."""
NO_LOGARITHM = "0 everywhere: nothing to show on a logarithmic scale"
AXES = {"value": "f(x)", "slope": "f′(x)", "curvature": "f″(x)"}


@dataclass(frozen=True)
class PlotSpec:
    """Curves, their styles, and the text around them."""

    curves: tuple[Curve, ...]
    styles: tuple[Style, ...]
    title: str
    axis: str
    low: float
    high: float
    log: bool = False
    zero: str = ""
    """The name of the function that the line at 0 represents in a plot of differences."""
    absent: tuple[str, ...] = ()
    """Functions without a curve: 0 everywhere, on a logarithmic scale."""


@dataclass(frozen=True)
class Polyline:
    """A line without jumps: its points."""

    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class CurveData:
    """The pieces of one function's curve, which jumps between them."""

    function: str
    pieces: tuple[Polyline, ...]


@dataclass(frozen=True)
class PlotData(Record):
    """The points of a plot: dense where a curve bends."""

    schema: ClassVar[str] = "softgate.plot"

    quantity: str
    low: float
    high: float
    reference: str | None
    """The function that is subtracted for a difference."""
    log: bool
    curves: tuple[CurveData, ...]

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return one row for each point; `piece` counts the pieces of a curve from 0."""
        rows: list[tuple[Cell, ...]] = [
            (curve.function, i, x, y)
            for curve in self.curves
            for i, piece in enumerate(curve.pieces)
            for x, y in zip(piece.x, piece.y, strict=True)
        ]
        return ("function", "piece", "x", self.quantity), rows

    def grids(self) -> tuple[Grid, ...]:
        """Return the points with six digits."""
        header, rows = self.table()
        shown = tuple((str(name), str(i), f"{x:.6g}", f"{y:.6g}") for name, i, x, y in rows)
        return (Grid("", header, shown, labels=2),)


@dataclass(frozen=True)
class PlotRequest:
    """The validated arguments of a plot."""

    activations: tuple[Drawable, ...]
    quantity: str
    low: float
    high: float
    reference: Drawable | None
    log: bool

    def picture(self) -> PlotSpec:
        """Return the curves and the text around them; raise ValueError if all are empty."""
        curves = tuple(
            curve(
                activation,
                self.quantity,
                self.low,
                self.high,
                against=self.reference,
                log=self.log,
                label=label(activation),
            )
            for activation in self.activations
        )
        empty = [self.log and not np.isfinite(line.points()[:, 1]).any() for line in curves]
        absent = tuple(line.label for line, none in zip(curves, empty, strict=True) if none)
        if len(absent) == len(curves):
            raise ValueError(f"{', '.join(absent)}: {NO_LOGARITHM}")
        drawn = [i for i, none in enumerate(empty) if not none]
        styles = self.styles()
        zero = "" if self.reference is None else label(self.reference)
        title = f"Difference from {zero}" if zero else self.quantity.capitalize()
        axis = AXES.get(self.quantity, f"f(x) − {zero}(x)")
        return PlotSpec(
            tuple(curves[i] for i in drawn),
            tuple(styles[i] for i in drawn),
            title,
            f"|{axis}|" if self.log else axis,
            self.low,
            self.high,
            self.log,
            zero,
            absent,
        )

    def data(self, picture: PlotSpec) -> PlotData:
        """Return the points of the curves as a record."""
        reference = None if self.reference is None else label(self.reference)
        curves = tuple(
            CurveData(
                line.label,
                tuple(Polyline(tuple(x.tolist()), tuple(y.tolist())) for x, y in line.pieces),
            )
            for line in picture.curves
        )
        return PlotData(self.quantity, self.low, self.high, reference, self.log, curves)

    def styles(self) -> tuple[Style, ...]:
        """Return the style of each activation: its colour, other dashes for other parameters."""
        names = [activation.name for activation in self.activations]
        seen: dict[str, int] = {}
        result = []
        for name in names:
            place = seen[name] = seen.get(name, -1) + 1
            result.append(variants(name, names.count(name))[place] if place else style(name))
        return tuple(result)


def request(
    activations: Any,
    quantity: str = "value",
    at: Any = RANGE,
    reference: Any = None,
    log: bool = False,
) -> PlotRequest:
    """Return the checked arguments of a plot; raise TypeError or ValueError."""
    if quantity not in QUANTITIES:
        raise ValueError(f"quantity = {quantity!r}: expected one of {', '.join(QUANTITIES)}")
    if reference is not None and quantity != "difference":
        raise ValueError(f'reference is for quantity="difference", not for {quantity!r}')
    low, high = _ends(at)
    from softgate.studies.subjects import resolved

    chosen = list(dict.fromkeys(map(resolved.one_array_as_passed, activations)))
    base = (
        resolved.one_array_as_passed("gelu" if reference is None else reference)
        if quantity == "difference"
        else None
    )
    drawn = tuple(activation for activation in chosen if activation is not base)
    if not drawn:
        if base is not None and chosen:
            raise ValueError(
                f"the difference of {base.name} to itself is 0: name another activation, "
                "or another function to compare with (reference)"
            )
        raise ValueError("no activation was given: name at least one, such as gelu")
    return PlotRequest(drawn, quantity, low, high, base, log)


def _ends(at: Any) -> tuple[float, float]:
    """Return the two ends of a range; raise TypeError if it is not a pair of numbers."""
    try:
        numbers = [float(end) for end in at.split(":")] if isinstance(at, str) else list(at)
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != 2 or not all(isinstance(number, Real) for number in numbers):
        raise TypeError(f"at = {at!r}: expected two numbers, such as (-5, 5) or '-5:5'")
    return check_range(*numbers)


def _check_size(width: Any, height: Any) -> None:
    """Raise TypeError or ValueError for a size that a figure cannot have."""
    for name, size in (("width", width), ("height", height)):
        if not isinstance(size, Real):
            raise TypeError(f"{name} = {size!r}: expected a number of inches")
    if not all(SMALLEST <= size <= LARGEST for size in (width, height)):
        raise ValueError(
            f"{width:g} x {height:g} inches: both must lie between {SMALLEST} and {LARGEST}"
        )


def plot(
    *functions: str | Callable[..., Any],
    quantity: str = "value",
    at: tuple[float, float] | str = RANGE,
    reference: str | Callable[..., Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    log: bool = False,
    width: float = 6.0,
    height: float = 4.0,
) -> PlotFigure:
    """Draw activations over a range and return the figure.

    Each activation has one colour and one dash pattern in all plots. Lines are broken where a
    function jumps; a filled dot marks the function's value there, a hollow one the other limit.

    Parameters
    ----------
    *functions : str or callable
        The functions to draw: "gelu", "elu:alpha=0.5", "torch.nn.functional.gelu",
        "file.py:function", or a callable. Code without a formula is called itself, in float64 if it
        takes that; jumps in it are not located.
    quantity : {"value", "slope", "curvature", "difference"}
        The quantity to draw.
    at : (float, float) or str
        The range of x, also as "-5:5".
    reference : str or callable, optional
        The function that differences subtract; gelu by default.
    output : path, optional
        A file to write: a picture as .svg, .png or .pdf, a page with it as .html, or the points of
        the curves as .csv or .json. The same call writes the same bytes.
    log : bool
        Absolute values on a logarithmic scale.
    width, height : float
        In inches, from 2 to 100.

    Returns
    -------
    matplotlib.figure.Figure
        Created without pyplot, so that no window opens and no figure stays open. Notebooks show
        it.

    Examples
    --------
    >>> import softgate as sg
    >>> figure = sg.plot("gelu", "relu", quantity="slope", at=(-4, 4))
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['gelu', 'relu']
    """
    checked = request(functions, quantity, at, reference, log)
    figure, picture = chart(checked, output, width, height)
    if picture.absent:
        warnings.warn(f"{', '.join(picture.absent)}: {NO_LOGARITHM}", stacklevel=2)
    return figure


def _renderer() -> ModuleType:
    """Return the module `figure`; raise an ImportError that names the extra with matplotlib."""
    require("matplotlib", purpose="a plot in a file")
    from . import figure

    return figure


def chart(
    checked: PlotRequest,
    output: str | os.PathLike[str] | None = None,
    width: float = 6.0,
    height: float = 4.0,
) -> tuple[PlotFigure, PlotSpec]:
    """Return the figure of a request and its data, and write it to `output` if there is one."""
    _check_size(width, height)
    if output is not None:
        output_path(output, FORMATS)
    renderer = _renderer()
    picture = checked.picture()
    if output is not None:
        write(checked, picture, output, width, height)
    return renderer.draw(picture, width, height), picture


def write(
    checked: PlotRequest,
    picture: PlotSpec,
    output: str | os.PathLike[str],
    width: float = 6.0,
    height: float = 4.0,
) -> None:
    """Write a plot to a file: a picture, a page with it, or the points of the curves."""
    _check_size(width, height)
    path = output_path(output, FORMATS)
    kind = file_format(path)
    if kind in ("json", "csv"):
        checked.data(picture).save(path)
        return
    renderer = _renderer()
    figure = renderer.draw(picture, width, height)
    content = renderer.render(figure, "svg" if kind == "html" else kind)
    if kind == "html":
        svg = content.decode() if isinstance(content, bytes) else content
        content = html_page(picture.title, svg[svg.index("<svg") :], STYLE)
    write_file(path, content)
