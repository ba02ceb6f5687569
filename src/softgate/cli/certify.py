"""`softgate certify`: how exact a callable is, and whether it passes."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .arguments import ACTIVATION, keywords_option, parse_keywords
from .output import check_formats, emit, formats

if TYPE_CHECKING:
    from .._activation import Activation
    from ..certification.certificate import Certificate

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
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds a call.")
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

    SUBJECT is softgate:gelu, module:function, module:Class, model.onnx or ./library.so:symbol with
    the C type void(const T*, T*, size_t). What is foreign runs in a process of its own.

    Exit code 1 where --max-ulp or --baseline fails, where ours break the bound that the catalogue
    states, and where SUBJECT crashes, hangs, changes its input or returns another shape or dtype.

    \b
    softgate certify softgate:gelu
    softgate certify torch.nn.functional:gelu --as gelu --dtype float32
    softgate certify torch.nn.functional:gelu --as gelu_tanh --with approximate=tanh --max-ulp 4
    softgate certify ./libkernels.so:gelu_f32 --as gelu --exhaustive --html gelu.html
    softgate certify model.onnx --as silu --json > silu.json
    """
    check_formats(as_json, as_csv)
    if max_ulp is not None and not max_ulp > 0:
        raise click.UsageError(f"--max-ulp {max_ulp:g}: expected a positive number.")
    old = None if baseline is None else _read(baseline)
    if html is not None and not Path(html).absolute().parent.is_dir():
        raise click.UsageError(f"--html {html}: there is no folder {Path(html).parent}.")
    if old is not None and asked["function"] is None:
        asked["function"] = old.function
    asked["keywords"] = parse_keywords(asked["keywords"])
    found = _measure(subject, **asked)
    failures = [*found.failures(max_ulp), *(() if old is None else found.regressions(old))]
    emit(found, as_json, as_csv)
    if html is not None:
        Path(html).write_text(found.page(), encoding="utf-8")
        click.echo(f"Wrote {html}", err=True)
    for line in failures[:MOST_FAILURES]:
        click.echo(FAILED + line, err=True)
    if len(failures) > MOST_FAILURES:
        click.echo(f"{FAILED}and {len(failures) - MOST_FAILURES} more", err=True)
    return 1 if failures else 0


def _measure(
    subject: str, state: str | None, function: Activation | None, **asked: Any
) -> Certificate:
    from .._certify import certify

    progress = Progress()
    file = None
    if asked["exhaustive"]:
        file = Path(state) if state is not None else _usual(subject, function, asked)
        if file.exists():
            click.echo(f"Going on from {file}", err=True)
    try:
        return certify(subject, function, state=file, progress=progress, **asked)
    except KeyboardInterrupt:
        progress.end()
        if file is not None and file.exists():
            click.echo(f"The same command goes on from here: {file} knows what is done", err=True)
        raise
    finally:
        progress.end()


def _usual(subject: str, function: Activation | None, asked: dict[str, Any]) -> Path:
    """Return the file that the state of this very sweep is kept in."""
    key = repr((subject, function, sorted(asked["keywords"].items()), asked["slope"]))
    return Path(f".softgate-certify-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json")


def _read(file: str) -> Certificate:
    from ..certification.certificate import Certificate

    try:
        return Certificate.from_json(Path(file).read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise click.UsageError(f"--baseline {file}: {error}.") from None
