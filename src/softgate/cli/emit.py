"""`softgate emit`: an activation as source code in C, JavaScript or Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from softgate.runtime.files import file_format, write_file

from .arguments import ActivationType, Command
from .output import checked_files

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


EXTENSIONS = {"c": ("c", "h"), "js": ("mjs", "js"), "triton": ("py",)}
"""The extensions of each language's files."""
LANGUAGES = {kind: language for language, kinds in EXTENSIONS.items() for kind in kinds}


class _Emitted(ActivationType):
    """An activation of one array; the error for a gated one names the alternative."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Activation:
        """Return the activation that `value` names."""
        from softgate.studies.emit import refuse_gated

        try:
            refuse_gated(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


@click.command(cls=Command, former={"--lang": "--language"})
@click.argument("activations", type=_Emitted(), nargs=-1, required=True, metavar="ACTIVATION...")
@click.option(
    "--language", type=click.Choice(tuple(EXTENSIONS)), help="[default: by the extension of -o]"
)
@click.option(
    "--dtype", type=click.Choice(("float32", "float64")),
    help="One format only.  [default: both in C, float64 in js, float32 in Triton]",
)  # fmt: skip
@click.option(
    "--quantity", type=click.Choice(("value", "slope")),
    help="One of them only; Triton's slope is the backward kernel.  [default: both]",
)  # fmt: skip
@click.option(
    "--form", type=click.Choice(("module", "script")),
    help="Of JavaScript: an ES module, or a script that declares one object.  [default: module]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE",
    help=f"Write a file: {', '.join(f'.{kind}' for kind in LANGUAGES)}.",
)  # fmt: skip
def command(
    activations: tuple[Activation, ...],
    language: str | None,
    dtype: str | None,
    quantity: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Print an activation and its slope as source code for use elsewhere.

    The code has the operations of softgate's kernels; its comments state what it computes, its
    error bound, and how to measure that again. Parameters stay arguments unless they
    are given, as in elu:alpha=0.5. Several activations go into one file.

    \b
    softgate emit gelu -o gelu.c
    softgate emit leaky_relu:slope=0.2 --language c --dtype float32
    softgate emit gelu silu relu -o activations.mjs
    softgate emit gelu silu --form script -o activations.js
    softgate emit gelu --language triton
    """
    from softgate.studies.emit import emit

    path = None
    if output is not None:
        (path,) = checked_files([output], LANGUAGES if language is None else EXTENSIONS[language])
        language = language or LANGUAGES[file_format(path)]
    elif language is None:
        raise click.UsageError(f"choose a --language: {', '.join(EXTENSIONS)}; or -o FILE.c.")
    text = emit(activations, language, dtype=dtype, quantity=quantity, form=form)
    if path is None:
        click.echo(text, nl=False)
        return
    write_file(path, text)
    click.echo(f"Wrote {path}", err=True)
