"""`softgate certify`: the errors of a callable, and whether they are within bounds."""

from __future__ import annotations

import hashlib
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softgate.records.files import TABLES, read_text

from .arguments import (
    ACTIVATION,
    CODE,
    parameters_option,
    parse_parameters,
    time_limit_option,
)
from .output import Format, ProgressLine, echo, emit, formats

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.studies.certify.record import Certificate

FAILED, MOST_FAILURES = "Failed: ", 30


class SweepProgress(ProgressLine):
    """The share done and the time left; in a pipe a line for every tenth of a sweep."""

    def __init__(self) -> None:
        super().__init__(redraw_s=0.5, print_s=math.inf)
        self.label, self.first, self.tenth = "", -1, 0

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show a step."""
        now = time.monotonic()
        if label != self.label:
            self.label, self.start, self.first, self.tenth = label, now, -1, 0
        if done and self.first < 0:  # where a resumed sweep starts
            self.first, self.start = done, now
        if not done:
            if self.terminal:
                self.show(f"{label}: {total:,} inputs", now=True)
            return
        left = ""
        if done > self.first:
            seconds = (now - self.start) * (total - done) / (done - self.first)
            left = f", {seconds:.0f} s left"
        tenth = 10 * done // total
        if self.terminal or tenth > self.tenth:
            self.show(f"{label}: {100 * done / total:.0f} %{left}", now=not self.terminal)
        self.tenth = tenth


@click.command(epilog=CODE)
@click.argument("subject", metavar="FUNCTION")
@click.option(
    "--reference",
    type=ACTIVATION,
    help="The function it is measured as, such as gelu.  [default: what identify finds]",
)
@parameters_option
@click.option("--slope", metavar="FUNCTION", help="A second callable, for the slope.")
@click.option(
    "--framework", metavar="NAME", help="The framework whose arrays it takes: numpy, torch, jax, …"
)
@click.option("--quantity", metavar="NAMES", help="Some of value,slope,curvature.")
@click.option(
    "--dtype", metavar="NAMES",
    help="Some of float16,bfloat16,float32,float64.  [default: all that it supports]",
)  # fmt: skip
@click.option(
    "--samples",
    type=int,
    help="Number of inputs.  [default: 2,000,000 of float32, 20,000 of float64]",
)
@click.option("--exhaustive", is_flag=True, help="All 2^32 inputs of float32.")
@click.option(
    "--state", type=click.Path(dir_okay=False), metavar="FILE",
    help="Where an interrupted sweep is saved.  [default: a hidden file in the current folder]",
)  # fmt: skip
@time_limit_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@click.option("--max-ulp", type=float, help="Fail if an error is larger.")
@click.option(
    "--baseline", type=click.Path(dir_okay=False), metavar="FILE",
    help="Fail if anything is worse than in this older certificate (JSON).",
)  # fmt: skip
@formats(*TABLES)
def command(
    subject: str,
    max_ulp: float | None,
    baseline: str | None,
    form: Format,
    output: tuple[Path, ...],
    **request: Any,
) -> int:
    """Measure the errors of FUNCTION, by region, against rigorous reference values.

    The reference is the definition of the function, evaluated with proven error bounds. A class, or
    a function without arguments, is called first to make the function. A model has one input and
    one output; a C function is void(const T*, T*, size_t), and its name ends in _f32, _f64, _f16 or
    _bf16 unless --dtype names T. Functions other than softgate's run in a separate process.

    Exit code 1 if --max-ulp or --baseline fails, if a function of softgate breaks the bound that
    the catalogue states, and if FUNCTION crashes, hangs, changes its input or returns another shape
    or dtype; 2 for invalid arguments: one line, nothing is written.

    \b
    softgate certify gelu
    softgate certify torch.nn.functional.gelu --reference gelu --dtype float32
    softgate certify torch.nn.functional.gelu:approximate=tanh --max-ulp 4
    softgate certify ./libkernels.so:gelu_f32 --exhaustive -o gelu.html
    softgate certify model.onnx --reference silu -o silu.json
    softgate certify model.onnx:/act/Mul --reference silu --baseline silu.json
    """
    if max_ulp is not None and not max_ulp > 0:
        raise click.UsageError(f"--max-ulp {max_ulp:g}: expected a positive number.")
    request["parameters"] = parse_parameters(request["parameters"])
    old = None if baseline is None else _read(baseline, subject, request)
    certificate = _measure(subject, **request)
    failures = [*_left_out(certificate, request["quantity"]), *certificate.failures(max_ulp)]
    failures += () if old is None else certificate.regressions(old)
    emit(certificate, form, output)
    for line in () if old is None else certificate.not_compared(old):
        echo(f"Not compared, as {baseline} does not have it: {line}", err=True)
    for line in failures[:MOST_FAILURES]:
        echo(FAILED + line, err=True)
    if len(failures) > MOST_FAILURES:
        echo(f"{FAILED}and {len(failures) - MOST_FAILURES} more", err=True)
    return 1 if failures else 0


def _left_out(certificate: Certificate, quantities: str | None) -> list[str]:
    """Return a line for each quantity of --quantity that could not be measured."""
    from softgate.studies.certify import QUANTITIES, chosen

    return [
        f"{quantity} was not measured: see what was not tested"
        for quantity in chosen("quantity", quantities, QUANTITIES) or ()
        if all(measurement.quantity != quantity for measurement in certificate)
    ]


def _measure(
    subject: str, state: str | None, reference: Activation | None, **request: Any
) -> Certificate:
    from softgate.studies.certify import certify

    file = None if state is None else Path(state)
    if request["exhaustive"]:
        file = file or _default_state(subject, reference, request)
        if file.exists():
            echo(f"Resuming from {file}", err=True)
    try:
        with SweepProgress() as progress:
            return certify(subject, reference, state=file, progress=progress, **request)
    except KeyboardInterrupt:
        if file is not None:
            echo(_saved(file), err=True)
        raise


def _default_state(subject: str, reference: Activation | None, request: dict[str, Any]) -> Path:
    """Return the file in which the state of this sweep is saved by default."""
    key = repr((subject, reference, sorted(request["parameters"].items()), request["slope"]))
    return Path(f".softgate-certify-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json")


def _saved(file: Path) -> str:
    """Return a message on the state saved at an interrupt, and how to resume."""
    from softgate.studies.accuracy.sweep import INPUTS, saved_counts

    done = [f"{name} {n:,} of {INPUTS:,} inputs" for name, n in saved_counts(file).items()]
    if not done:
        return "Nothing was saved, as no sweep had begun: rerun this command to start again."
    return f"Saved in {file}: {', '.join(done)}. Rerun this command to resume."


def _read(file: str, subject: str, request: dict[str, Any]) -> Certificate:
    """Return the baseline after checks; its function is the default function of the request."""
    from softgate.runtime.lookup import lookup
    from softgate.runtime.registry import label
    from softgate.studies.certify.record import Certificate
    from softgate.studies.subjects import describe

    try:
        old = Certificate.from_json(read_text(file))
    except OSError as error:
        raise click.UsageError(f"--baseline {file}: {error.strerror}.") from None
    except ValueError as error:
        raise click.UsageError(f"--baseline {file} is not a certificate: {error}.") from None
    _check_inputs(file, old, request)
    known = request["reference"] or describe(subject, request["parameters"]).ours
    if known is not None and label(known) != old.function:
        raise click.UsageError(
            f"--baseline {file} was measured as {old.function}, this would be as {label(known)}: "
            "only certificates of the same function can be compared."
        )
    try:
        request["reference"] = known or lookup(old.function)
    except ValueError:
        raise click.UsageError(
            f"--baseline {file} was measured as {old.function}, which is not in the catalogue: "
            "name it with --reference module:function."
        ) from None
    return old


def _check_inputs(file: str, old: Certificate, request: dict[str, Any]) -> None:
    """Raise UsageError if the baseline was measured at other inputs."""
    from softgate.studies.certify import DEFAULT, QUANTITIES, chosen, counts
    from softgate.studies.certify.measure import ORDER

    samples = counts(request["samples"])
    dtypes = {*(chosen("dtype", request["dtype"], ORDER) or ORDER)} & {*DEFAULT}
    quantities = chosen("quantity", request["quantity"], QUANTITIES) or QUANTITIES
    for measurement in old:
        dtype, quantity = measurement.dtype, measurement.quantity
        if dtype not in dtypes or quantity not in quantities:
            continue
        sweep = request["exhaustive"] and dtype == "float32" and quantity != "curvature"
        prefix = f"--baseline {file} has {dtype} {quantity} at"
        if sweep != measurement.exhaustive:
            advice = "all inputs: add" if measurement.exhaustive else "a sample: leave out"
            raise click.UsageError(f"{prefix} {advice} --exhaustive, or choose another baseline.")
        count = old.samples[dtype]
        if not sweep and (old.seed, count) != (request["seed"], samples[dtype]):
            usual = old.samples == DEFAULT
            size = "without --samples" if usual else f"with --samples {count}"
            raise click.UsageError(
                f"{prefix} other inputs: measure again {size} and with --seed {old.seed}, or "
                "choose another baseline."
            )
