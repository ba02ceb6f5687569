"""`softgate diagnose`: what a saved model's activations do on data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from .arguments import ACTIVATION
from .output import check_formats, emit, formats
from .picture import picture_file

if TYPE_CHECKING:
    from pathlib import Path

    from softgate.runtime.activation import Activation
    from softgate.studies.diagnose.findings import Condition
    from softgate.studies.diagnose.record import Diagnosis, WhatIf


@click.command()
@click.argument("target")
@click.option("--data", required=True, metavar="FILE", help="Inputs: .npz, .safetensors or a text.")
@click.option("--batch", type=int, default=32, show_default=True, help="Rows in one call.")
@click.option("--limit", type=int, help="So many batches only.")
@click.option(
    "--what-if", "replacement", type=ACTIVATION, metavar="NAME",
    help="Also run it with this activation in place of its own, untrained.",
)  # fmt: skip
@click.option("--only", metavar="NAME", help="What --what-if replaces, such as gelu.  [all]")
@click.option(
    "--fail-on", "conditions", multiple=True, metavar="CONDITION",
    help="Exit with 1 where it holds: dead>5%, trapped>1%, flat>0.9, saturated>50%, negative>40%, "
    "nan>0, unseen>0, gradient_ratio<1e-3. Fails too where nothing was seen. May be repeated.",
)  # fmt: skip
@click.option(
    "--threshold", "thresholds", multiple=True, metavar="NAME=NUMBER",
    help="From where on a figure is a finding, such as flat=0.001 or dead=5%. May be repeated.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE",
    help="Also draw: outputs, units and gradients by site in an .svg, .png or .pdf file.",
)  # fmt: skip
@click.option("--no-gradients", is_flag=True, help="Do not look at what flows back.")
@formats
def command(
    target: str,
    data: str,
    replacement: Activation | None,
    only: str | None,
    conditions: tuple[str, ...],
    output: str | None,
    as_json: bool,
    as_csv: bool,
    **asked: Any,
) -> int:
    """Run TARGET on data and say which units are dead, trapped, saturated, and how gradients flow.

    TARGET is a folder of Hugging Face's with safetensors, or module:function, which returns a
    torch module. Arrays of --data have the names of the arguments of its forward; one called target
    or labels is compared with the output. Nothing is trained, nothing is fetched from a network.

    Exit code 1 where a --fail-on holds; 2 for a call that is wrong.

    \b
    softgate diagnose ./my-bert --data corpus.txt
    softgate diagnose models:make --data inputs.npz --fail-on "dead>5%" --fail-on "nan>0"
    softgate diagnose ./my-bert --data corpus.txt --what-if relu --only gelu
    softgate diagnose ./my-bert --data corpus.txt -o my-bert.svg
    """
    check_formats(as_json, as_csv)
    if only is not None and replacement is None:
        raise click.UsageError("--only says what --what-if replaces: give that too.")
    if asked["limit"] is not None and asked["limit"] < 1:
        raise click.UsageError(f"--limit {asked['limit']}: expected at least 1 batch.")
    asked["thresholds"] = dict(map(_threshold, asked["thresholds"]))
    checks = _conditions(conditions)
    picture = None if output is None else picture_file("-o", output)
    seen, other = _run(target, data, replacement, only, **asked)
    _show(seen, other, as_json, as_csv)
    if picture is not None:
        _draw(seen, picture)
    failures = [failure for check in checks if (failure := check.failure(seen)) is not None]
    for failure in failures:
        click.echo(f"Failed: {failure}", err=True)
    return 1 if failures else 0


def _run(
    target: str,
    data: str,
    replacement: Activation | None,
    only: str | None,
    batch: int,
    limit: int | None,
    thresholds: dict[str, float],
    no_gradients: bool,
) -> tuple[Diagnosis, WhatIf | None]:
    from softgate.studies.diagnose.loading import load_batches, load_model, model_errors
    from softgate.torch import diagnose, what_if

    model = load_model(target)
    batches, loss = load_batches(data, model, target, batch)
    batches = batches[:limit]
    with model_errors(target, data):
        seen = diagnose(model, batches, loss=loss, gradients=not no_gradients, **thresholds)
        if replacement is None:
            return seen, None
        return seen, what_if(model, batches, replacement, only=only, loss=loss)


def _show(seen: Diagnosis, other: WhatIf | None, as_json: bool, as_csv: bool) -> None:
    """Print one record or two; as JSON, one object."""
    if other is None or as_csv:
        emit(seen, as_json, as_csv)
    elif as_json:
        both = {"diagnosis": json.loads(seen.to_json()), "what_if": json.loads(other.to_json())}
        click.echo(json.dumps(both, indent=2, ensure_ascii=False))
    else:
        emit(seen)
        click.echo()
        emit(other)


def _draw(seen: Diagnosis, file: Path) -> None:
    """Write the picture; where nothing was seen there is none, which the record says too."""
    if seen.sites:
        seen.save(file)
        click.echo(f"Wrote {file}", err=True)
    else:
        click.echo(f"No {file}: no activation was seen, there is nothing to draw", err=True)


def _conditions(given: tuple[str, ...]) -> list[Condition]:
    from softgate.studies.diagnose.findings import condition

    try:
        return [condition(text) for text in given]
    except ValueError as error:
        raise click.UsageError(f"--fail-on {error}") from None


def _threshold(text: str) -> tuple[str, float]:
    from dataclasses import fields

    from softgate.studies.diagnose.record import Thresholds

    name, _, number = text.partition("=")
    known = [field.name for field in fields(Thresholds)]
    if name not in known:
        raise click.UsageError(f"--threshold {text}: there are {', '.join(known)}.")
    try:
        share = number.endswith("%")
        value = float(number.removesuffix("%")) / (100 if share else 1)
    except ValueError:
        raise click.UsageError(f"--threshold {text}: write NAME=NUMBER.") from None
    return name, value
