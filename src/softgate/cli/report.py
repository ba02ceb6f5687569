"""`softgate report`: curves, accuracy, speed and cost of activations in one HTML page."""

from __future__ import annotations

import os
import shlex
import sys
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .arguments import ACTIVATION
from .output import ProgressLine

if TYPE_CHECKING:
    from softgate.reporting import Report
    from softgate.runtime.activation import Activation

FILE = "softgate-report.html"
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


@click.command()
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), default=FILE, show_default=True,
    metavar="FILE", help="The file of the page.",
)  # fmt: skip
@click.option(
    "--formula", "formulas", type=ACTIVATION, multiple=True, metavar="MODULE:FUNCTION",
    help="Your formula, decorated with @softgate.activation; may be repeated.",
)  # fmt: skip
@click.option(
    "--budget", "budget_s", type=float, default=BUDGET_S, show_default=True, metavar="SECONDS",
    help="Time for certificates; timing takes half as long, all else about 60 s more.",
)  # fmt: skip
@click.option(
    "--model", metavar="TARGET",
    help="Your model, whose units are diagnosed: a Hugging Face folder, or module:function.",
)  # fmt: skip
@click.option("--data", metavar="FILE", help="Inputs of --model: .npz, .safetensors or a text.")
@click.option("--json", "keep", is_flag=True, help="Also write the records as JSON.")
@click.option(
    "--from-records", "records", type=click.Path(file_okay=False), metavar="DIR",
    help="Make the page from saved records; nothing is measured.",
)  # fmt: skip
def command(
    output: str,
    formulas: tuple[Activation, ...],
    budget_s: float,
    keep: bool,
    records: str | None,
    model: str | None,
    data: str | None,
) -> int:
    """Write one HTML page: curves, tables, accuracy, speed and cost of activations here.

    The page needs no network and no other file. A summary is printed. The section of a study that
    failed has the reason, which is also printed on stderr; the other sections are complete.

    Exit code 0 if the page was written, 1 if every study failed.

    \b
    softgate report
    softgate report -o report.html --formula my_module:my_activation
    softgate report --model ./my-bert --data corpus.txt
    softgate report --json
    softgate report --from-records softgate-report.records
    """
    file = Path(output)
    _check_output(file)
    _check(budget_s, model, data, records)
    with StudyProgress() as progress:
        made = _make(formulas, budget_s, records, progress, {"model": model, "data": data})
        progress.show_timed("drawing the page")
        made.save(file)
    if keep:
        made.save_records(file.with_suffix(".records"))
    click.echo(str(made))
    click.echo(f"\nWrote {file.absolute()} ({file.stat().st_size / 1e6:.1f} MB)")
    if keep:
        click.echo(f"Wrote {file.with_suffix('.records').absolute()}")
    for missing in made.missing:
        click.echo(f"Failed: {missing}", err=True)
    return 1 if made.empty else 0


def _check(budget_s: float, model: str | None, data: str | None, records: str | None) -> None:
    """Raise a usage error for options that exclude or need each other."""
    if not budget_s > 0:
        raise click.UsageError(f"--budget {budget_s:g}: expected a number of seconds above 0.")
    if (model is None) != (data is None):
        raise click.UsageError("--model and --data need each other: give both.")
    if model is not None and records is not None:
        raise click.UsageError("--from-records runs nothing: omit --model and --data.")


def _check_output(file: Path) -> None:
    """Raise a usage error if the page, which replaces a file, cannot be written to its folder."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise click.UsageError(f"-o {file}: there is no folder {folder}; make it first.")
    if file.is_dir():
        raise click.UsageError(f"-o {file}: that is a folder; name a file.")
    if not os.access(folder, os.W_OK):
        raise click.UsageError(f"-o {file}: the folder {folder} cannot be written to.")


def _make(
    formulas: tuple[Activation, ...],
    budget_s: float,
    records: str | None,
    progress: StudyProgress,
    user_model: dict[str, str | None],
) -> Report:
    from softgate.reporting import read, report

    if records is not None:
        return read(records, formulas)
    command = shlex.join(["softgate", *sys.argv[1:]])
    return report(
        formulas, budget_s=budget_s, command=command, progress=progress.step, **user_model
    )
