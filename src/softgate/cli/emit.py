"""`softgate emit`: functions as source code in C, CUDA C, JavaScript or Triton, or as ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from softgate.records.files import file_format, write_file

from .arguments import FUNCTION, FUNCTIONS
from .output import checked_files, echo

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated


EXTENSIONS = {
    "c": ("c", "h"),
    "cuda": ("cu", "cuh"),
    "js": ("mjs", "js"),
    "triton": ("py",),
    "onnx": ("onnx",),
}
"""The extensions of each language's files."""
LANGUAGES = {kind: language for language, kinds in EXTENSIONS.items() for kind in kinds}


@click.command(epilog=FUNCTIONS)
@click.argument("activations", type=FUNCTION, nargs=-1, required=True, metavar="FUNCTION...")
@click.option(
    "--language", type=click.Choice(tuple(EXTENSIONS)), help="[default: by the extension of -o]"
)
@click.option(
    "--dtype", type=click.Choice(("float32", "float64", "float16")),
    help="One format only; float16 in ONNX.  [default: float32 and float64 in C and CUDA, float64 "
    "in js, float32 in Triton and ONNX]",
)  # fmt: skip
@click.option(
    "--quantity", metavar="NAMES",
    help="Some of value,slope,backward.  [default: value,slope; in Triton value,backward; in ONNX "
    "value]",
)  # fmt: skip
@click.option(
    "--form", type=click.Choice(("module", "script", "model", "function")),
    help="Of JavaScript: an ES module, or a script that declares one object.  [default: module]  "
    "Of ONNX: a model of standard operators, or local functions of these.  [default: model]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE",
    help=f"Write a file: {', '.join(f'.{kind}' for kind in LANGUAGES)}.",
)  # fmt: skip
def command(
    activations: tuple[Activation | Gated, ...],
    language: str | None,
    dtype: str | None,
    quantity: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Print functions and their derivatives as source code for use elsewhere.

    FUNCTION is an activation, or a gated one such as swiglu. The code has the operations of
    softgate's kernels; its comments state what it computes, its error bound, and how to measure
    that again. Parameters stay arguments unless they are set, as in elu:alpha=0.5. Several
    functions go into one file. CUDA C was compiled and its results were checked on the host; it
    has not been run on a GPU. An ONNX model takes vectors, a local function operands of any shape;
    without -o the model is printed in the text form of ONNX.

    \b
    softgate emit gelu -o gelu.c
    softgate emit leaky_relu:slope=0.2 --language c --dtype float32
    softgate emit gelu swiglu --quantity value,backward -o activations.cu
    softgate emit gelu silu relu -o activations.mjs
    softgate emit gelu silu --form script -o activations.js
    softgate emit gelu --language triton
    softgate emit gelu --dtype float16 -o gelu.onnx
    """
    from softgate.studies.emit import as_content, as_text, emit

    path = None
    if output is not None:
        (path,) = checked_files([output], LANGUAGES if language is None else EXTENSIONS[language])
        language = language or LANGUAGES[file_format(path)]
    elif language is None:
        raise click.UsageError(f"choose a --language: {', '.join(EXTENSIONS)}; or -o FILE.c.")
    emitted = emit(activations, language, dtype=dtype, quantity=quantity, form=form)
    if path is None:
        echo(as_text(emitted), nl=False)
        return
    write_file(path, as_content(emitted))
    echo(f"Wrote {path}", err=True)
