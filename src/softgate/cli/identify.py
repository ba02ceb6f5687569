"""`softgate identify`: which activation a function or a model computes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from softgate.runtime.files import TABLES

from .arguments import DTYPES, FRAMEWORKS, Command, parameters_option, parse_parameters
from .output import Format, emit, formats


@click.command(cls=Command, former={"--with": "--parameters"})
@click.argument("subject")
@parameters_option
@click.option(
    "--dtype",
    type=click.Choice(DTYPES),
    help="The dtype it is called with.  [default: float32, or what a model or a C function takes]",
)
@click.option(
    "--framework",
    type=click.Choice(FRAMEWORKS),
    help="The framework whose arrays it takes.  [default: that of its module, or numpy]",
)
@formats(*TABLES)
def command(
    subject: str,
    parameters: tuple[str, ...],
    dtype: str | None,
    framework: str | None,
    form: Format,
    output: tuple[Path, ...],
) -> None:
    """Find which activation SUBJECT computes, with which parameters, scale and offset.

    SUBJECT is module:function, softgate:gelu, a model.onnx with one input and one output, one of
    its nodes as model.onnx:name, or ./library.so:symbol, a C function void(const T*, T*, size_t)
    whose name ends in _f32, _f64, _f16 or _bf16 unless --dtype names T. It is called at
    a few hundred points and identified by its values, never by its name. It runs in a separate
    process. Exit code 1 if nothing fits, or if it fails.

    \b
    softgate identify torch.nn.functional:gelu
    softgate identify torch.nn.functional:gelu --parameters approximate=tanh
    softgate identify jax.nn:gelu --json
    softgate identify model.onnx
    """
    from softgate.studies.identify import UNKNOWN, identify
    from softgate.studies.subjects import Failure

    try:
        identification = identify(
            subject,
            dtype=dtype,
            parameters=parse_parameters(parameters),
            framework=framework,
            isolated=True,
        )
    except Failure as failure:
        click.echo(f"Error: {subject} {failure}", err=True)
        sys.exit(1)
    emit(identification, form, output)
    if identification.function == UNKNOWN:
        sys.exit(1)
