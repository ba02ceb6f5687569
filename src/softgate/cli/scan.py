"""`softgate scan`: every activation inside a model, and which function it computes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from softgate.records.files import TABLES

from .arguments import allow_missing_option
from .output import Format, emit, formats, save, show


@click.command()
@click.argument("target", metavar="MODEL")
@click.option("--data", metavar="DATA", help="Inputs of a torch model: .npz or .safetensors.")
@click.option("--trust", is_flag=True, help="Run code of MODEL: factories, TorchScript, .pt2.")
@allow_missing_option
@click.option("--all", "everything", is_flag=True, help="List unidentified functions too.")
@click.option("--strict", is_flag=True, help="Exit with 1 if an activation is not what is claimed.")
@formats(*TABLES)
def command(
    target: str,
    data: str | None,
    trust: bool,
    allow_missing: bool,
    everything: bool,
    strict: bool,
    form: Format,
    output: tuple[Path, ...],
) -> None:
    """List every activation inside MODEL with the function that it computes.

    MODEL is a Hugging Face folder (config.json and safetensors), an .onnx or a .keras file. With
    --trust it may also be a function or class that makes a torch module, as module:function or
    file.py:function, or a program, as TorchScript (.pt) or .pt2.

    Functions are identified by their values, not by their names, with their parameters. A torch
    model is run once on a small input. A mismatch with the model's configuration is shown;
    --strict then exits with 1.

    \b
    softgate scan ./my-bert
    softgate scan model.onnx --all
    softgate scan models.py:make --trust --json
    softgate scan ./my-bert --strict -o activations.csv
    """
    from softgate.studies.scan import scan

    record = scan(target, data=data, trust=trust, allow_missing=allow_missing)
    if everything and form == "text":
        save(record, output)
        show(record.grids_of((*record.activations, *record.unidentified)))
    else:
        emit(record, form, output)
    if strict and record.mismatches:
        sys.exit(1)
