"""`softgate parity`: two models on the same inputs, compared at outputs and activations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from softgate.records.files import TABLES

from .arguments import allow_missing_option
from .output import Format, ProgressLine, emit, formats


@click.command()
@click.argument("first", metavar="MODEL")
@click.argument("second", metavar="[MODEL]", required=False)
@click.option("--inputs", required=True, metavar="FILE", help="Arrays for both models: .npz.")
@click.option(
    "--expected", metavar="FILE",
    help="Outputs, .npz, in place of a second model: find activations that reproduce them.",
)  # fmt: skip
@click.option(
    "--tolerance", type=float,
    help="The largest relative difference that counts as equal.  [default: 1e-5; 1e-2 for 16 bits]",
)  # fmt: skip
@click.option("--trust", is_flag=True, help="Run code of models: factories, TorchScript, .pt2.")
@allow_missing_option
@click.option("--strict", is_flag=True, help="Exit with 1 if they differ, or no variant fits.")
@formats(*TABLES)
def command(
    first: str,
    second: str | None,
    strict: bool,
    form: Format,
    output: tuple[Path, ...],
    **options: Any,
) -> None:
    """Compare two models on the same inputs: their outputs, and each activation.

    A MODEL is a Hugging Face folder (config.json and safetensors), an .onnx or a .keras file. With
    --trust it may also be a function or class that makes a torch module, as module:function or
    file.py:function, or a program, as TorchScript (.pt) or .pt2.

    Activations are identified by their values and matched in the order of execution. The first
    difference is shown, in ulps and relative to the largest magnitude. With --expected, variants of
    the activations are run: one function for all, or chosen individually.

    \b
    softgate parity ./my-bert model.onnx --inputs x.npz
    softgate parity model.onnx model.keras --inputs x.npz --strict
    softgate parity models.py:make model.onnx --inputs x.npz --trust -o p.html
    softgate parity ./my-clip --inputs x.npz --expected y.npz
    """
    from softgate.studies.parity import parity

    with ProgressLine() as progress:
        record = parity(first, second, progress=progress, **options)
    emit(record, form, output)
    if strict and not record.equal and record.variant is None:
        sys.exit(1)
