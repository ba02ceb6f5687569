"""`softgate diagnose`: figures of a saved model's activations on data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softgate.records.files import PICTURES, TABLES, file_format

from .arguments import ACTIVATION, FUNCTIONS, MODELS, allow_missing_option, trust_option
from .output import Format, echo, echo_json, emit, formats, save

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.studies.diagnose.findings import FailCondition
    from softgate.studies.diagnose.record import Diagnosis, WhatIf


@click.command(epilog=f"{FUNCTIONS}\n\n{MODELS}")
@click.argument("target", metavar="MODEL")
@click.option("--data", required=True, metavar="DATA", help="Inputs: .npz, .safetensors or a text.")
@click.option("--batch", type=int, default=32, show_default=True, help="Rows in one call.")
@click.option("--limit", type=int, help="Run at most this many batches.")
@click.option(
    "--what-if", "replacement", type=ACTIVATION,
    help="Also run it with this activation instead of its own, without training.",
)  # fmt: skip
@click.option("--only", metavar="FUNCTION", help="Replace only this function, such as gelu.")
@click.option(
    "--fail-on", "conditions", multiple=True, metavar="CONDITION",
    help="Exit with 1 if it holds: dead>5%, trapped>1%, flat>0.9, saturated>50%, negative>40%, "
    "nan>0, unseen>0, gradient_ratio<1e-3, or if nothing was observed. May be repeated.",
)  # fmt: skip
@click.option(
    "--threshold", "thresholds", multiple=True, metavar="NAME=NUMBER",
    help="Limit beyond which a figure is a finding, such as dead=5%. May be repeated.",
)  # fmt: skip
@trust_option
@allow_missing_option
@click.option("--no-gradients", is_flag=True, help="Do not measure gradients.")
@formats(*TABLES, *PICTURES)
def command(
    target: str,
    data: str,
    replacement: Activation | None,
    only: str | None,
    conditions: tuple[str, ...],
    form: Format,
    output: tuple[Path, ...],
    **options: Any,
) -> int:
    """Run MODEL on data and print which units are dead, trapped or saturated, and gradients.

    Arrays of --data have the names of the arguments of its forward; one called target
    or labels is compared with the output. Nothing is trained, nothing is fetched from a network.

    Exit code 1 if a --fail-on holds; 2 for a usage error.

    \b
    softgate diagnose ./my-bert --data corpus.txt
    softgate diagnose models.py:make --data inputs.npz --fail-on "dead>5%"
    softgate diagnose ./my-bert --data corpus.txt --what-if relu --only gelu
    softgate diagnose ./my-bert --data corpus.txt -o my-bert.svg
    """
    if only is not None and replacement is None:
        raise click.UsageError("--only needs --what-if: pass both.")
    if options["limit"] is not None and options["limit"] < 1:
        raise click.UsageError(f"--limit {options['limit']}: expected at least 1 batch.")
    options["thresholds"] = dict(map(_threshold, options["thresholds"]))
    checks = _conditions(conditions)
    diagnosis, effect = _run(target, data, replacement, only, **options)
    if not diagnosis.sites:
        for picture in (path for path in output if file_format(path) in PICTURES):
            echo(f"No {picture}: no activation was observed, nothing to draw", err=True)
        output = tuple(path for path in output if file_format(path) not in PICTURES)
    _show(diagnosis, effect, form, output)
    failures = [failure for check in checks if (failure := check.failure(diagnosis)) is not None]
    for failure in failures:
        echo(f"Failed: {failure}", err=True)
    return 1 if failures else 0


def _run(
    target: str,
    data: str,
    replacement: Activation | None,
    only: str | None,
    *,
    thresholds: dict[str, Any],
    no_gradients: bool,
    **loading: Any,
) -> tuple[Diagnosis, WhatIf | None]:
    from softgate.records.packages import require

    require("torch", purpose="diagnose")
    from softgate.studies.models.loading import model_errors
    from softgate.torch import diagnose, what_if

    model, batches, loss = _load(target, data, **loading)
    with model_errors(target, data):
        diagnosis = diagnose(model, batches, loss=loss, gradients=not no_gradients, **thresholds)
        if replacement is None:
            return diagnosis, None
        return diagnosis, what_if(model, batches, replacement, only=only, loss=loss)


def _load(
    target: str, data: str, batch: int, limit: int | None, trust: bool, allow_missing: bool
) -> tuple[Any, ...]:
    """Return the model, its batches and a loss or None."""
    from softgate.studies.models.loading import load_batches, load_model

    model = load_model(target, trust=trust, allow_missing=allow_missing)
    batches, loss = load_batches(data, model, target, batch, trust=trust)
    return model, batches[:limit], loss


def _show(
    diagnosis: Diagnosis, effect: WhatIf | None, form: Format, output: tuple[Path, ...]
) -> None:
    """Write and print one or both records; both as JSON are one object. Files have the first."""
    if effect is None or form == "csv":
        emit(diagnosis, form, output)
    elif form == "json":
        save(diagnosis, output)
        both = {"diagnosis": diagnosis.to_dict(), "what_if": effect.to_dict()}
        echo_json(both)
    else:
        emit(diagnosis, form, output)
        echo()
        emit(effect)


def _conditions(texts: tuple[str, ...]) -> list[FailCondition]:
    from softgate.studies.diagnose.findings import condition

    try:
        return [condition(text) for text in texts]
    except ValueError as error:
        raise click.UsageError(f"--fail-on {error}") from None


def _threshold(text: str) -> tuple[str, float]:
    from dataclasses import fields

    from softgate.studies.diagnose.record import Thresholds

    name, _, number = text.partition("=")
    names = [field.name for field in fields(Thresholds)]
    if name not in names:
        raise click.UsageError(f"--threshold {text}: choose from {', '.join(names)}.")
    try:
        return name, float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        raise click.UsageError(f"--threshold {text}: write NAME=NUMBER.") from None
