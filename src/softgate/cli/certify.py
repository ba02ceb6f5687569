"""`softgate certify`: how exact a callable is, and whether it passes."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .arguments import ACTIVATION, keywords_option, parse_keywords, resolve
from .output import check_formats, emit, formats

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.studies.certify.record import Certificate

SHOWN_S = 0.5
"""Seconds between two lines of progress in a terminal."""
FAILED, MOST_FAILURES = "Failed: ", 30


class Progress:
    """Says on stderr what is being measured, how far it is and how long it will take."""

    def __init__(self) -> None:
        self.what, self.start, self.first, self.shown = "", 0.0, 0, 0.0
        self.terminal = sys.stderr.isatty()
        self.tenth = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show a step; in a terminal on one line, else a line for every tenth of a sweep."""
        now = time.monotonic()
        if what != self.what:
            self.what, self.start, self.first, self.tenth = what, now, -1, 0
        if done and self.first < 0:  # where a resumed sweep went on
            self.first, self.start = done, now
        share = done / total if total else 0.0
        left = ""
        if done > self.first >= 0:
            seconds = (now - self.start) * (total - done) / (done - self.first)
            left = f", {seconds:.0f} s left"
        line = f"{what}: {total:,} inputs" if not done else f"{what}: {100 * share:.0f} %{left}"
        if self.terminal and (now - self.shown > SHOWN_S or not done):
            self.shown = now
            click.echo(f"\r\033[K{line} ", nl=False, err=True)
        elif not self.terminal and done and int(10 * share) > self.tenth:
            self.tenth = int(10 * share)
            click.echo(line, err=True)

    def end(self) -> None:
        """Remove the line."""
        if self.terminal:
            click.echo("\r\033[K", nl=False, err=True)


@click.command()
@click.argument("subject")
@click.option(
    "--as",
    "function",
    type=ACTIVATION,
    help="What it is measured as, such as gelu.  [what identify finds]",
)
@keywords_option
@click.option("--slope", metavar="SUBJECT", help="A second callable, for the slope.")
@click.option("--framework", metavar="NAME", help="Whose arrays it takes: numpy, torch, jax, …")
@click.option("--quantity", "quantities", metavar="NAMES", help="Some of value,slope,curvature.")
@click.option(
    "--dtype", "dtypes", metavar="NAMES",
    help="Some of float16,bfloat16,float32,float64.  [default: all that it takes]",
)  # fmt: skip
@click.option(
    "--samples", type=int, help="Inputs.  [default: 2,000,000 of float32, 20,000 of float64]"
)
@click.option("--exhaustive", is_flag=True, help="All 2^32 inputs of float32.")
@click.option(
    "--state", type=click.Path(dir_okay=False), metavar="FILE",
    help="Where an interrupted sweep is kept.  [default: a hidden file in the current folder]",
)  # fmt: skip
@click.option(
    "--time-limit", type=float, default=60.0, show_default=True,
    help="Seconds for loading it, and for each call.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
@click.option("--max-ulp", type=float, help="Fail where an error is larger.")
@click.option(
    "--baseline", type=click.Path(dir_okay=False), metavar="FILE",
    help="Fail where anything is worse than in this older certificate (JSON).",
)  # fmt: skip
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page.")
@formats
def command(
    subject: str,
    max_ulp: float | None,
    baseline: str | None,
    html: str | None,
    as_json: bool,
    as_csv: bool,
    **asked: Any,
) -> int:
    """Measure how exact SUBJECT is, by region, against a rigorous truth.

    SUBJECT is softgate:gelu or softgate:elu:alpha=0.5; module:function, or a module:Class or a
    function without an argument, which make a callable; model.onnx with one input and one output,
    or one of its nodes as model.onnx:name; ./library.so:symbol, a C function void(const T*, T*,
    size_t) whose name ends in _f32, _f64, _f16 or _bf16 unless --dtype says what T is. What is
    foreign runs in a process of its own.

    Exit code 1 where --max-ulp or --baseline fails, where ours break the bound that the catalogue
    states, and where SUBJECT crashes, hangs, changes its input or returns another shape or dtype;
    2 for a call that is wrong: one line, nothing is written.

    \b
    softgate certify softgate:gelu
    softgate certify torch.nn.functional:gelu --as gelu --dtype float32
    softgate certify torch.nn.functional:gelu --as gelu_tanh --with approximate=tanh --max-ulp 4
    softgate certify ./libkernels.so:gelu_f32 --as gelu --exhaustive --html gelu.html
    softgate certify model.onnx --as silu --json > silu.json
    softgate certify model.onnx:/act/Mul --as silu --baseline silu.json
    """
    check_formats(as_json, as_csv)
    if max_ulp is not None and not max_ulp > 0:
        raise click.UsageError(f"--max-ulp {max_ulp:g}: expected a positive number.")
    if html is not None:
        _check_page(Path(html))
    asked["keywords"] = parse_keywords(asked["keywords"])
    old = None if baseline is None else _read(baseline, subject, asked)
    found = _measure(subject, **asked)
    failures = [*_left_out(found, asked["quantities"]), *found.failures(max_ulp)]
    failures += () if old is None else found.regressions(old)
    emit(found, as_json, as_csv)
    if html is not None:
        Path(html).write_text(found.page(), encoding="utf-8")
        click.echo(f"Wrote {html}", err=True)
    for line in () if old is None else found.not_compared(old):
        click.echo(f"Not compared, as {baseline} does not have it: {line}", err=True)
    for line in failures[:MOST_FAILURES]:
        click.echo(FAILED + line, err=True)
    if len(failures) > MOST_FAILURES:
        click.echo(f"{FAILED}and {len(failures) - MOST_FAILURES} more", err=True)
    return 1 if failures else 0


def _left_out(found: Certificate, quantities: str | None) -> list[str]:
    """Return a line for each quantity that was asked for by name and could not be measured."""
    from softgate.studies.certify import QUANTITIES, chosen

    asked = chosen("quantities", quantities, QUANTITIES) or ()
    return [
        f"{quantity} was asked for and not measured: see what was not tested"
        for quantity in asked
        if all(one.quantity != quantity for one in found)
    ]


def _measure(
    subject: str, state: str | None, function: Activation | None, **asked: Any
) -> Certificate:
    from softgate.studies.certify import certify

    progress = Progress()
    file = None if state is None else Path(state)
    if asked["exhaustive"]:
        file = file or _usual(subject, function, asked)
        if file.exists():
            click.echo(f"Going on from {file}", err=True)
    try:
        return certify(subject, function, state=file, progress=progress, **asked)
    except KeyboardInterrupt:
        progress.end()
        if file is not None:
            click.echo(_kept(file), err=True)
        raise
    finally:
        progress.end()


def _usual(subject: str, function: Activation | None, asked: dict[str, Any]) -> Path:
    """Return the file that the state of this very sweep is kept in."""
    key = repr((subject, function, sorted(asked["keywords"].items()), asked["slope"]))
    return Path(f".softgate-certify-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json")


def _kept(file: Path) -> str:
    """Return what an interrupt left, and how to go on."""
    from softgate.studies.accuracy.sweep import INPUTS, saved_counts

    done = [f"{name} {n:,} of {INPUTS:,} inputs" for name, n in saved_counts(file).items()]
    if not done:
        return "Nothing is kept, as no input of a sweep was done: the same command starts anew."
    return f"Kept in {file}: {', '.join(done)}. The same command goes on from there."


def _check_page(file: Path) -> None:
    """Refuse a place where no page can be written, before anything is computed."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise click.UsageError(f"--html {file}: there is no folder {file.parent}.")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise click.UsageError(f"--html {file}: it cannot be written.")


def _read(file: str, subject: str, asked: dict[str, Any]) -> Certificate:
    """Return the baseline, checked against what is to be measured; its function by default."""
    from softgate.runtime.registry import label
    from softgate.studies.certify.record import Certificate
    from softgate.studies.subjects import describe

    try:
        old = Certificate.from_json(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"--baseline {file}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(f"--baseline {file} is no certificate: {error}.") from None
    _check_inputs(file, old, asked)
    known = asked["function"] or describe(subject, asked["keywords"]).ours
    if known is not None and label(known) != old.function:
        raise click.UsageError(
            f"--baseline {file} was measured as {old.function}, this would be as {label(known)}: "
            "certificates of one function can be compared."
        )
    try:
        asked["function"] = known or resolve(old.function)
    except ValueError:
        raise click.UsageError(
            f"--baseline {file} was measured as {old.function}, which is not in the catalogue: "
            "say what that is with --as module:function."
        ) from None
    return old


def _check_inputs(file: str, old: Certificate, asked: dict[str, Any]) -> None:
    """Refuse to measure at other inputs than the baseline was measured at."""
    from softgate.studies.certify import DEFAULT, QUANTITIES, chosen, counts
    from softgate.studies.certify.measure import ORDER

    samples = counts(asked["samples"])
    dtypes = chosen("dtypes", asked["dtypes"], ORDER) or ORDER
    quantities = chosen("quantities", asked["quantities"], QUANTITIES) or QUANTITIES
    for one in old:
        if one.dtype not in DEFAULT or one.dtype not in dtypes or one.quantity not in quantities:
            continue
        sweep = asked["exhaustive"] and one.dtype == "float32" and one.quantity != "curvature"
        what = f"--baseline {file} has {one.dtype} {one.quantity} at"
        if sweep != one.exhaustive:
            said = "all inputs: give" if one.exhaustive else "a sample: leave out"
            raise click.UsageError(f"{what} {said} --exhaustive, or give another baseline.")
        if not sweep and (old.seed, old.samples[one.dtype]) != (asked["seed"], samples[one.dtype]):
            usual = old.samples == DEFAULT
            size = "without --samples" if usual else f"with --samples {old.samples[one.dtype]}"
            raise click.UsageError(
                f"{what} other inputs: measure again {size} and with --seed {old.seed}, or give "
                "another baseline."
            )
