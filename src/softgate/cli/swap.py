"""`softgate swap`: other activations inside an ONNX file, or the same ones in other operators."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softgate.records.files import TABLES, file_format

from .arguments import ACTIVATION, FUNCTIONS
from .output import Format, echo, emit, formats

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation


@click.command(epilog=FUNCTIONS)
@click.argument("model", metavar="MODEL")
@click.option(
    "--from", "old", multiple=True, metavar="WHICH",
    help="A function, a path or a pattern of paths; one for each --to.  [default: the only one]",
)  # fmt: skip
@click.option(
    "--to", "new", type=ACTIVATION, multiple=True, metavar="FUNCTION",
    help="The function that replaces it. May be repeated.",
)  # fmt: skip
@click.option(
    "--spell", type=click.Choice(("op", "primitives", "microsoft")),
    help="Rewrite every activation: as ONNX's operator, in operators that every runtime has, or in "
    "onnxruntime's.",
)  # fmt: skip
@click.option("--opset", type=int, help="The highest opset for --spell op.  [default: as needed]")
@click.option("--inputs", metavar="FILE", help="Compare the outputs on these inputs too: .npz.")
@click.option("--partial", is_flag=True, help="Replace what can be replaced.")
@formats("onnx", *TABLES, charts=False)
def command(
    model: str,
    old: tuple[str, ...],
    new: tuple[Activation, ...],
    form: Format,
    output: tuple[Path, ...],
    **options: Any,
) -> None:
    """Replace activations inside the ONNX file MODEL, or write them in other operators.

    Activations are identified by their values, as `softgate scan` does. Weights and other nodes are
    unchanged. The new model is checked by onnx, and its outputs are compared with those of MODEL
    on random inputs and on --inputs. Without -o FILE.onnx, what would change is shown. MODEL is
    never overwritten; an activation that cannot be replaced is an error, unless --partial.

    \b
    softgate swap model.onnx --from gelu --to gelu_tanh -o out.onnx
    softgate swap model.onnx --from gelu --to gelu_tanh --from relu --to silu
    softgate swap model.onnx --from "/encoder/*" --to gelu_tanh --inputs x.npz
    softgate swap model.onnx --spell primitives -o out.onnx
    """
    from softgate.runtime.registry import activations, label
    from softgate.studies.swap.onnx_model import swap
    from softgate.studies.swap.selection import SeveralFunctions

    files = [path for path in output if file_format(path) == "onnx"]
    if len(files) > 1:
        raise click.UsageError(f"-o names {len(files)} ONNX files: expected at most one.")
    if len(old) != len(new) and (old or len(new) > 1):
        raise click.UsageError(
            f"{len(old)} --from and {len(new)} --to: expected one --to for each --from."
        )
    if len(set(old)) < len(old):
        raise click.UsageError("--from names the same activations twice.")
    replacements = dict(zip(old, new, strict=True)) if old else new[0] if new else None
    try:
        record = swap(model, replacements, output=files[0] if files else None, **options)
    except SeveralFunctions as error:
        counts, wanted = error.counts, label(new[0])
        listed = ", ".join(f"{count} {function}" for function, count in counts.items())
        # A function with a scale or an offset, or an unknown one, is selected by its path.
        known = [f for f in counts if f.partition(":")[0] in activations() and f != wanted]
        such = f"--from {shlex.quote(known[0])}" if known else "--from with its path"
        raise click.UsageError(
            f"{model} has several functions ({listed}): write which one --to replaces, "
            f"such as {such} --to {shlex.quote(wanted)}."
        ) from None
    emit(record, form, [path for path in output if path not in files])
    if record.output is not None:
        echo(f"Wrote {record.output}", err=True)
    elif files:
        raise click.ClickException(f"nothing was replaced: {files[0]} is not written")
