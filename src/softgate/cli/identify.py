"""`softgate identify`: which activation a function or a model computes."""

from __future__ import annotations

import sys

import click

from .arguments import DTYPES, FRAMEWORKS, keywords_option, parse_keywords
from .output import check_formats, emit, formats


@click.command()
@click.argument("subject")
@keywords_option
@click.option(
    "--dtype",
    type=click.Choice(DTYPES),
    help="What it is called with.  [float32; of a model or of a C function what it takes]",
)
@click.option(
    "--framework",
    type=click.Choice(FRAMEWORKS),
    help="Whose arrays a function of your own takes.  [default: as its module tells, else numpy]",
)
@formats
def command(
    subject: str,
    keywords: tuple[str, ...],
    dtype: str | None,
    framework: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Find which activation SUBJECT computes, with which parameters, scale and offset.

    SUBJECT is module:function, softgate:gelu, a model.onnx with one input and one output, one of
    its nodes as model.onnx:name, or ./library.so:symbol, a C function void(const T*, T*, size_t)
    whose name ends in _f32, _f64, _f16 or _bf16 unless --dtype says what T is. It is called at
    some hundred points and told by its values, never by its name. It runs in a process of its own.
    Exit code 1 where nothing fits, or where it fails.

    \b
    softgate identify torch.nn.functional:gelu
    softgate identify torch.nn.functional:gelu --with approximate=tanh --dtype bfloat16
    softgate identify jax.nn:gelu --json
    softgate identify model.onnx
    """
    check_formats(as_json, as_csv)
    from softgate.studies.identify import UNKNOWN, identify
    from softgate.studies.subjects import Failure

    given = parse_keywords(keywords)
    try:
        found = identify(subject, dtype=dtype, keywords=given, framework=framework, isolated=True)
    except Failure as failure:
        click.echo(f"Error: {subject} {failure}", err=True)
        sys.exit(1)
    emit(found, as_json, as_csv)
    if found.function == UNKNOWN:
        sys.exit(1)
