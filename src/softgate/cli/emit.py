"""`softgate emit`: an activation as source code in C, JavaScript or Triton."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .arguments import ActivationType

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


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


@click.command()
@click.argument("activations", type=_Emitted(), nargs=-1, required=True, metavar="ACTIVATION...")
@click.option("--lang", type=click.Choice(("c", "js", "triton")), required=True, help="Language.")
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
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write to a file."
)
def command(
    activations: tuple[Activation, ...],
    lang: str,
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
    softgate emit gelu --lang c -o gelu.c
    softgate emit leaky_relu:slope=0.2 --lang c --dtype float32
    softgate emit gelu silu relu --lang js -o activations.mjs
    softgate emit gelu silu --lang js --form script -o activations.js
    softgate emit gelu --lang triton
    """
    from softgate.studies.emit import emit

    text = emit(activations, lang, dtype=dtype, quantity=quantity, form=form)
    if output is None:
        click.echo(text, nl=False)
        return
    Path(output).write_text(text, encoding="utf-8")
    click.echo(f"Wrote {output}", err=True)
