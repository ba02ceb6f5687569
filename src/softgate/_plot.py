"""`plot`: curves of activations, in a matplotlib figure and in a file.

What is drawn is settled here, once for files and for the terminal: which functions, which
quantity, against what, in which colours.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._activation import Activation
from ._names import get
from .curves import QUANTITIES, check_range, curve
from .palette import Style, style, variants
from .pictures import Picture
from .registry import activations as known
from .registry import label

if TYPE_CHECKING:
    from .figures import Chart

MISSING = "plots in files need matplotlib: pip install 'softgate[plot]'"
AXES = {"value": "f(x)", "slope": "f′(x)", "curvature": "f″(x)"}


@dataclass(frozen=True)
class Request:
    """What is to be drawn, checked."""

    activations: tuple[Activation, ...]
    what: str
    low: float
    high: float
    against: Activation | None
    log: bool

    def picture(self) -> Picture:
        """Return the curves and what is written around them."""
        curves = tuple(
            curve(
                one,
                self.what,
                self.low,
                self.high,
                against=self.against,
                log=self.log,
                label=label(one),
            )
            for one in self.activations
        )
        zero = "" if self.against is None else label(self.against)
        title = f"Difference to {zero}" if zero else self.what.capitalize()
        axis = AXES.get(self.what, f"f(x) − {zero}(x)")
        return Picture(
            curves,
            self.styles(),
            title,
            f"|{axis}|" if self.log else axis,
            self.low,
            self.high,
            self.log,
            zero,
        )

    def styles(self) -> tuple[Style, ...]:
        """Return how each is drawn; one activation with several parameters keeps its colour."""
        names = [one.name for one in self.activations]
        seen: dict[str, int] = {}
        result = []
        for name in names:
            place = seen[name] = seen.get(name, -1) + 1
            result.append(variants(name, names.count(name))[place] if place else style(name))
        return tuple(result)


def request(
    activations: Any,
    what: str = "value",
    at: tuple[float, float] = (-5.0, 5.0),
    against: Any = None,
    log: bool = False,
) -> Request:
    """Return what is asked for, checked; raise where it makes no picture."""
    if what not in QUANTITIES:
        raise ValueError(f"what = {what!r}: accepted are {', '.join(QUANTITIES)}")
    if against is not None and what != "difference":
        raise ValueError(f'against is for what="difference", not for {what!r}')
    low, high = check_range(*at)
    if isinstance(activations, str | Activation):
        activations = [activations]
    chosen = list(dict.fromkeys(found(one) for one in activations))
    base = found("gelu" if against is None else against) if what == "difference" else None
    kept = tuple(one for one in chosen if one is not base)
    if not kept:
        if base is not None and chosen:
            raise ValueError(
                f"the difference of {base.name} to itself is 0: name another activation, "
                "or another function to compare with (against)"
            )
        raise ValueError("no activation was given: name at least one, such as gelu")
    return Request(kept, what, low, high, base, log)


def found(activation: Any) -> Activation:
    """Return an activation given by itself or by its name; raise where it cannot be drawn."""
    if isinstance(activation, str):
        activation = known()[activation] if activation in known() else get(activation)
    if getattr(activation, "nin", 1) != 1:
        raise ValueError(
            f"{activation.name} has two inputs, and a curve shows functions of one: "
            "plot the activation of its gate"
        )
    if not isinstance(activation, Activation):
        raise TypeError(
            f"{activation!r} is a {type(activation).__name__}: expected an activation or its name"
        )
    return activation


def plot(
    activations: Activation | str | Sequence[Activation | str],
    what: str = "value",
    at: tuple[float, float] = (-5.0, 5.0),
    against: Activation | str | None = None,
    file: str | os.PathLike[str] | None = None,
    *,
    log: bool = False,
    width: float = 6.0,
    height: float = 4.0,
) -> Chart:
    """Draw activations over a range and return the figure.

    Each activation has one colour and one dash pattern, in every picture. Lines are broken where a
    function jumps; a full dot marks the value taken there, a hollow one the value not taken.

    Parameters
    ----------
    activations : Activation, str, or several
        What to draw.
    what : {"value", "slope", "curvature", "difference"}
        Which quantity.
    at : (float, float)
        From where to where.
    against : Activation or str, optional
        The function that differences are taken to; gelu if not given.
    file : path, optional
        Where to write it: a name ending in .svg, .png or .pdf. The same call writes the same bytes.
    log : bool
        Absolute values on a logarithmic scale.
    width, height : float
        In inches.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot: nothing is shown, and no figure stays open. Notebooks show it.

    Examples
    --------
    >>> import softgate as sg
    >>> figure = sg.plot(["gelu", "relu"], "slope", at=(-4, 4))
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['gelu', 'relu']
    """
    wanted = request(activations, what, at, against, log)
    if not (1 <= width <= 100 and 1 <= height <= 100):
        raise ValueError(f"{width:g} x {height:g} inches: both must lie between 1 and 100")
    try:
        from . import figures
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        raise ImportError(MISSING) from error
    path = None if file is None else Path(file)
    kind = "" if path is None else figures.file_format(path)
    figure = figures.draw(wanted.picture(), width, height)
    if path is not None:
        figures.save(figure, path, kind)
    return figure
