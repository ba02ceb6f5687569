"""`softgate emit`: functions as source code in other languages, or as ONNX models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from softgate.lower.emit import LANGUAGES
from softgate.records.files import file_format, write_file

from .arguments import FUNCTION, FUNCTIONS
from .output import checked_files, echo

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


EXTENSIONS = {each: language for language in LANGUAGES.values() for each in language.extensions}
DTYPES = dict.fromkeys(dtype for language in LANGUAGES.values() for dtype in language.dtypes)
FORMS = {form: what for language in LANGUAGES.values() for form, what in language.forms.items()}


def defaults(attribute: str) -> str:
    """Return a default of all languages as text: "float64 in js; float32 in triton, onnx"."""
    languages: dict[tuple[str, ...], list[str]] = {}
    for name, language in LANGUAGES.items():
        languages.setdefault(getattr(language, attribute), []).append(name)
    return "; ".join(f"{','.join(each)} in {', '.join(n)}" for each, n in languages.items())


@click.command(epilog=FUNCTIONS)
@click.argument("activations", type=FUNCTION, nargs=-1, required=True, metavar="FUNCTION...")
@click.option(
    "--language", type=click.Choice(tuple(LANGUAGES)),
    help="; ".join(f"{name}: {each.title}, {each.contents}" for name, each in LANGUAGES.items())
    + ".  [default: by the extension of -o]",
)  # fmt: skip
@click.option(
    "--dtype", type=click.Choice(tuple(DTYPES)),
    help=f"One format only.  [default: {defaults('default_dtypes')}]",
)  # fmt: skip
@click.option(
    "--quantity", metavar="NAMES",
    help="Some of value,slope,backward.  [default: "
    f"{defaults('default_quantities')}]",
)  # fmt: skip
@click.option(
    "--form", type=click.Choice(tuple(FORMS)),
    help="; ".join(
        f"{name}: " + ", or ".join(f"{what} ({form})" for form, what in language.forms.items())
        for name, language in LANGUAGES.items() if language.forms
    ) + ".  [default: the first]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE",
    help=f"Write a file: {', '.join(f'.{each}' for each in EXTENSIONS)}.",
)  # fmt: skip
def command(
    activations: tuple[Activation, ...],
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
    from softgate.studies.emit import emit

    path = None
    if output is not None:
        allowed = EXTENSIONS if language is None else LANGUAGES[language].extensions
        (path,) = checked_files([output], allowed)
        language = language or EXTENSIONS[file_format(path)].name
    elif language is None:
        raise click.UsageError(f"choose a --language: {', '.join(LANGUAGES)}; or -o FILE.c.")
    emitted = emit(activations, language, dtype=dtype, quantity=quantity, form=form)
    if path is None:
        echo(LANGUAGES[language].text(emitted), nl=False)
        return
    write_file(path, LANGUAGES[language].content(emitted))
    echo(f"Wrote {path}", err=True)
