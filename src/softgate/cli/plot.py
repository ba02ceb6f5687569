"""`softgate plot`: curves in a file, or in the terminal if no file is given."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from softgate.records.files import PICTURES, TABLES

from .arguments import CALLED, PASSED
from .output import Format, echo, echo_json, formats

if TYPE_CHECKING:
    from rich.console import Console

    from softgate.plotting.plot import PlotSpec
    from softgate.runtime.activation import Activation
    from softgate.studies.subjects import PassedFunction

QUANTITIES = ("value", "slope", "curvature", "difference")
TALLEST = 30
"""Lines of a plot in a terminal, unless --height is given."""
LARGEST = 1000


@click.command(epilog=CALLED)
@click.argument("activations", type=PASSED, nargs=-1, required=True, metavar="FUNCTION...")
@click.option("--quantity", type=click.Choice(QUANTITIES), default="value", show_default=True)
@click.option(
    "--reference", type=PASSED,
    help="The function that is subtracted.  [default: gelu]",
)  # fmt: skip
@click.option("--at", metavar="LOW:HIGH", default="-5:5", show_default=True, help="The range of x.")
@click.option("--log", is_flag=True, help="Absolute values on a logarithmic scale.")
@click.option("--width", type=float, help="Inches in a file (6), characters in a terminal.")
@click.option("--height", type=float, help="Inches in a file (4), lines in a terminal.")
@formats(*PICTURES, *TABLES, charts=False)
def command(
    activations: tuple[Activation | PassedFunction, ...],
    quantity: str,
    reference: Activation | PassedFunction | None,
    at: str,
    log: bool,
    form: Format,
    output: tuple[Path, ...],
    **size: float | None,
) -> int:
    """Draw activations: their value, slope, curvature, or difference from another function.

    Without a file the plot is printed in the terminal; in a pipe it is plain text with one
    character per curve. Parameters are written as in elu:alpha=0.5. --csv, --json and files of
    these formats have the points of the curves.

    \b
    softgate plot gelu relu tanh
    softgate plot gelu relu --quantity slope -o slopes.svg
    softgate plot gelu_tanh gelu_sigmoid --quantity difference --log
    """
    from softgate.plotting.plot import NO_LOGARITHM, request, write

    if reference is not None and quantity != "difference":
        raise click.UsageError("--reference needs --quantity difference")
    plot = request(activations, quantity, at, reference, log)
    picture = plot.picture()
    inches = {name: number for name, number in size.items() if number is not None}
    for file in output:
        write(plot, picture, file, **inches)
        echo(f"Wrote {file}", err=True)
    if form == "json":
        echo_json(plot.data(picture).to_dict())
    elif form == "csv":
        echo(plot.data(picture).to_csv(), nl=False)
    elif not output:
        show(picture, **size)
    if picture.absent:
        echo(f"Note: {', '.join(picture.absent)}: {NO_LOGARITHM}", err=True)
    return 0


def show(picture: PlotSpec, width: float | None, height: float | None) -> None:
    """Print a plot as text, in colours if the terminal has them."""
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

    from softgate.plotting.terminal import render

    room = shutil.get_terminal_size()  # rich has no size for a dumb terminal
    console = Console(highlight=False, width=room.columns, height=room.lines)
    colour = takes_colour(console)
    lines = render(
        picture,
        picture.title + (", absolute values on a logarithmic scale" if picture.log else ""),
        width=room.columns - 1 if width is None else whole("width", width),
        height=min(room.lines - 1, TALLEST) if height is None else whole("height", height),
        colour=colour,
    )
    for line in lines:
        text = Text(no_wrap=True, overflow="ignore")
        for span in line:
            look = Style(dim=True) if span.colour == "dim" else Style(color=span.colour)
            text.append(span.text, style=look)
        text.rstrip()
        if colour:
            console.print(text, crop=False, soft_wrap=True)
        else:
            echo(text.plain)


def whole(name: str, size: float) -> int:
    """Return a size in characters; raise ValueError if it is out of range."""
    if not 1 <= size <= LARGEST:
        raise ValueError(f"--{name} {size:g}: expected characters, at most {LARGEST}")
    return int(size)


def takes_colour(console: Console) -> bool:
    """Return whether to draw in colour: in a terminal with 256 colours, unless NO_COLOR is set.

    With sixteen colours, two activations would have the same one.
    """
    if not console.is_terminal or console.no_color or not console.encoding.startswith("utf"):
        return False
    return console.color_system in ("truecolor", "256")
