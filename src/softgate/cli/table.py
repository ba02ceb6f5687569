"""`softgate table`: exact figures at points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from softgate.records.files import TABLES

from .arguments import CALLED, PASSED
from .output import Format, emit, formats

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.studies.subjects import PassedFunction


@click.command(epilog=CALLED)
@click.argument("activations", nargs=-1, type=PASSED, metavar="[FUNCTION]...")
@click.option(
    "--at",
    metavar="POINTS",
    help="Numbers and ranges first:last:step, separated by commas.  [default: -3,-1,0,0.5,1,3]",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="Some of Phi, value, slope, curvature, difference, relative, separated by commas.  "
    "[default: value,slope; with --reference value,difference,relative]",
)
@click.option("--reference", type=PASSED, help="The function to subtract for differences.")
@click.option("--digits", type=int, default=4, show_default=True, help="Decimals, up to 50.")
@formats(*TABLES)
def command(
    activations: tuple[Activation | PassedFunction, ...],
    at: str | None,
    columns: str | None,
    reference: Activation | PassedFunction | None,
    digits: int,
    form: Format,
    output: tuple[Path, ...],
) -> None:
    """Print activations at points: values, slopes, curvatures, differences.

    Without FUNCTION: the gate Phi, GELU exact and in its tanh form; GELU and ReLU with their
    slopes; ReLU, ELU and GELU side by side. Every digit is correct: figures come from the
    definitions with as many digits as needed; code without a formula is called in float64 and has
    the figures that it returns. A nonzero number that would round to 0 is written with an
    exponent. --json and --csv give rows x, function, quantity, value with all digits of float64,
    or with --digits where that is more than 15.

    \b
    softgate table
    softgate table gelu silu --at -3:3:0.5 --columns value,slope,curvature
    softgate table gelu_tanh gelu_sigmoid --reference gelu --digits 8
    softgate table elu:alpha=0.5 --at -1 --digits 30
    """
    if not activations and (columns is not None or reference is not None):
        raise click.UsageError("--columns and --reference need a FUNCTION, such as gelu.")
    names = {name.strip().lower() for name in (columns or "").split(",")}
    if reference is None and {"difference", "relative"} & names:
        raise click.UsageError("a difference needs --reference: the function to subtract.")
    from softgate.studies.table import POINTS, table

    at = POINTS if at is None else at
    record = table(*activations, at=at, columns=columns, reference=reference, digits=digits)
    emit(record, form, output)
