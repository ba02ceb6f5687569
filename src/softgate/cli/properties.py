"""`softgate properties`: range, smoothness, limits and gains of activations, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from softgate.records.files import TABLES

from .arguments import ACTIVATION, FUNCTIONS
from .output import Format, emit, formats

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

DEFAULT = ("sigmoid", "tanh", "relu", "leaky_relu", "gelu")


@click.command(epilog=FUNCTIONS)
@click.argument("activations", nargs=-1, type=ACTIVATION, metavar="[FUNCTION]...")
@click.option(
    "--digits", type=int, default=4, show_default=True, help="Significant digits, up to 15."
)
@formats(*TABLES)
def command(
    activations: tuple[Activation, ...], digits: int, form: Format, output: tuple[Path, ...]
) -> None:
    """Print the properties of each FUNCTION: by default sigmoid, tanh, relu, leaky_relu and gelu.

    Range, minimum and where, jumps of value, slope and curvature, roots of the slope, limits; for
    inputs from N(0,1) shares with small and with negative slope, mean and spread of the output,
    and the gain of weights that keeps variance; per dtype the inputs whose computed slope is
    exactly 0. All of it is computed from the definition and the kernels.

    \b
    softgate properties
    softgate properties gelu silu mish
    softgate properties leaky_relu:slope=0.2 --json
    """
    from softgate.studies.properties import properties

    emit(properties(*(activations or DEFAULT), digits=digits), form, output)
