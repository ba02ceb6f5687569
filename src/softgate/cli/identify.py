"""`softgate identify`: which activation a function or a model computes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from softgate.records.files import TABLES

from .arguments import (
    CODE,
    DTYPES,
    FRAMEWORKS,
    parameters_option,
    parse_parameters,
    time_limit_option,
)
from .output import Format, echo, emit, formats


@click.command(epilog=CODE)
@click.argument("subject", metavar="FUNCTION")
@parameters_option
@click.option(
    "--dtype",
    type=click.Choice(DTYPES),
    help="The dtype it is called with.  [default: float32, or what a model or a C function takes]",
)
@click.option(
    "--framework",
    type=click.Choice(FRAMEWORKS),
    help="The framework whose arrays it takes.  "
    "[default: that of its module; for your code numpy, or one that it imports]",
)
@time_limit_option
@formats(*TABLES)
def command(
    subject: str,
    parameters: tuple[str, ...],
    dtype: str | None,
    framework: str | None,
    time_limit: float,
    form: Format,
    output: tuple[Path, ...],
) -> None:
    """Find which activation FUNCTION computes, with which parameters, scale and offset.

    It is called at a few hundred points and identified by its values, never by its name. It runs
    in a separate process. A model has one input and one output; a C function is void(const T*, T*,
    size_t), and its name ends in _f32, _f64, _f16 or _bf16 unless --dtype names T. Exit code 1 if
    nothing fits, if it fails, or if a result depends on more than its own input: on the other
    elements of the array, as softmax does, or on chance, as dropout does.

    \b
    softgate identify torch.nn.functional.gelu
    softgate identify torch.nn.functional.gelu:approximate=tanh
    softgate identify my_model.py:act --json
    softgate identify model.onnx
    """
    from softgate.studies.identify import UNKNOWN, identify
    from softgate.studies.subjects import SubjectFailure

    try:
        identification = identify(
            subject,
            dtype=dtype,
            parameters=parse_parameters(parameters),
            framework=framework,
            isolated=True,
            time_limit=time_limit,
        )
    except SubjectFailure as failure:
        echo(f"Error: {subject} {failure}", err=True)
        sys.exit(1)
    emit(identification, form, output)
    if identification.not_elementwise and form == "csv":  # without rows
        echo(f"{identification.subject} is {identification.not_elementwise}", err=True)
    if identification.function == UNKNOWN:
        if subject.endswith(".onnx"):
            echo(f"`softgate scan {subject}` lists the activations inside a model.", err=True)
        sys.exit(1)
