"""`softgate report`: curves, accuracy, speed and cost of activations in one HTML page."""

from __future__ import annotations

import shlex
import sys
import time
from math import inf
from typing import TYPE_CHECKING, Any

import click

from .arguments import ACTIVATION, FUNCTIONS, MODELS, trust_option
from .output import ProgressLine, checked_files, echo, echo_json, echo_wrapped

if TYPE_CHECKING:
    from softgate.reporting import Report
    from softgate.runtime.activation import Activation

FILE = "report.html"
"""The default file, as of `make report`."""
FORMATS = ("html", "json")
BUDGET_S = 75.0
SHOWN_S = 0.2
"""Least seconds between two updates of the progress line."""


class StudyProgress(ProgressLine):
    """The running study on stderr: one line in a terminal, a line for each study in a pipe."""

    def __init__(self) -> None:
        super().__init__(SHOWN_S, inf)
        self.study = ""

    def step(self, study: str, number: int, count: int, detail: str) -> None:
        """Show the running study, its number, and in a terminal a detail."""
        more = f": {detail}" if detail and self.terminal else ""
        self.show_timed(f"{study}{more}", f"[{number}/{count}] ", now=study != self.study)
        self.study = study

    def show_timed(self, text: str, prefix: str = "", *, now: bool = True) -> None:
        """Show a text after the seconds so far."""
        self.show(f"{prefix}{time.monotonic() - self.start:.0f} s  {text}", now=now)


@click.command(epilog=f"{FUNCTIONS}\n\n{MODELS}")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", multiple=True,
    help=f"Write the page (.html) or the records (.json). May be repeated.  [default: {FILE}]",
)  # fmt: skip
@click.option(
    "--formula", type=ACTIVATION, multiple=True,
    help="Your formula, decorated with @softgate.activation; may be repeated.",
)  # fmt: skip
@click.option(
    "--budget", type=float, default=BUDGET_S, show_default=True, metavar="SECONDS",
    help="Time for certificates; timing takes 60 % of it, all else about 60 s more.",
)  # fmt: skip
@click.option(
    "--model", metavar="MODEL", help="Your model: its activations are listed, its units diagnosed.",
)  # fmt: skip
@click.option("--data", metavar="DATA", help="Inputs of --model: .npz, .safetensors or a text.")
@trust_option
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@click.option(
    "--records", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
    help="Make the page from the .json file of a report; nothing is measured.",
)  # fmt: skip
def command(
    output: tuple[str, ...],
    formula: tuple[Activation, ...],
    budget: float,
    as_json: bool,
    records: str | None,
    model: str | None,
    data: str | None,
    trust: bool,
) -> int:
    """Write one HTML page: curves, tables, accuracy, speed and cost of activations here.

    The page needs no network and no other file. A summary is printed. The section of a study that
    failed has the reason, which is also printed on stderr; the other sections are complete.

    Exit code 0 if the page was written, 1 if every study failed.

    \b
    softgate report
    softgate report -o report.html --formula my_formulas.py:my_activation
    softgate report --model ./my-bert --data corpus.txt
    softgate report -o report.html -o report.json
    softgate report --records report.json
    """
    files = checked_files(output or (FILE,), FORMATS)
    _check(budget, model, data, records)
    with StudyProgress() as progress:
        made = _make(
            formula, budget, records, progress, {"model": model, "data": data, "trust": trust}
        )
        progress.show_timed("drawing the page")
        for file in files:
            made.save(file)
    if as_json:
        echo_json(made.to_dict())
    else:
        echo_wrapped(str(made))
    for file in files:
        echo(f"Wrote {file.absolute()} ({file.stat().st_size / 1e6:.1f} MB)", err=True)
    for missing in made.missing:
        echo(f"{'Skipped' if missing.skipped else 'Failed'}: {missing}", err=True)
    return 1 if made.empty else 0


def _check(budget: float, model: str | None, data: str | None, records: str | None) -> None:
    """Raise a usage error for options that exclude or need each other."""
    if not 0 < budget < inf:
        raise click.UsageError(f"--budget {budget}: expected a number of seconds above 0.")
    if (model is None) != (data is None):
        raise click.UsageError("--model and --data need each other: give both.")
    if model is not None and records is not None:
        raise click.UsageError("--records runs nothing: omit --model and --data.")


def _make(
    formula: tuple[Activation, ...],
    budget: float,
    records: str | None,
    progress: StudyProgress,
    user_model: dict[str, Any],
) -> Report:
    from softgate.reporting import read, report

    if records is not None:
        return read(records, formula)
    command = shlex.join(["softgate", *sys.argv[1:]])
    return report(formula, budget=budget, command=command, progress=progress.step, **user_model)
