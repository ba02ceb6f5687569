"""`softgate compare`: train the same model with each activation and compare the results."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from .arguments import parse_pairs
from .compare_display import Display, plan_lines
from .compare_options import ARM, STORE, TASK, options
from .output import check_formats, emit, formats, show
from .report import check_output

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated
    from softgate.runtime.records import Grid
    from softgate.studies.compare.record import Comparison
    from softgate.studies.compare.request import Request
    from softgate.studies.compare.run import Study

WIDTH = 76
"""Characters per line in the list of tasks."""
SETTINGS = ("match", "init", "same", "seconds")
"""Settings that have an option of their own."""


def numbers(text: str | None) -> list[float] | None:
    """Return the numbers of --rates."""
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--rates {text}: write numbers, such as 1e-3,1e-4.") from None


@click.command()
@click.argument("functions", nargs=-1, type=ARM, metavar="[NAMES]...")
@options
@click.option("--tasks", "list_tasks", is_flag=True, help="List the tasks and their settings.")
@click.option("--dry-run", is_flag=True, help="Print the plan and train nothing.")
@formats
def command(  # noqa: PLR0913, PLR0917  (click passes options by keyword)
    functions: tuple[Activation | Gated, ...],
    list_tasks: bool,
    dry_run: bool,
    store: str | None,
    no_store: bool,
    on: str,
    jobs: int | None,
    output: str | None,
    as_json: bool,
    as_csv: bool,
    **arguments: Any,
) -> int:
    """Train the same model with each activation, several times, and compare the results.

    NAMES are activations (gelu, elu:alpha=0.5, swiglu) or your own module:function; the first is
    the baseline. For each seed all start from the same weights and see the same data. Each gets the
    learning rate that is best for it on validation data; test data is evaluated once. Verdicts come
    from an exact test, corrected for the number of comparisons.

    Trials are saved, one file each: rerun the same command to resume it; more seeds only add
    trials. Exit code 1 if no trial could be trained.

    \b
    softgate compare gelu relu tanh elu silu swiglu --task digits --seeds 8
    softgate compare gelu relu --task deep --set layers=8,48 --init fitted
    softgate compare gelu relu --task text --data corpus.txt --on ray
    softgate compare gelu relu --script train.py:run --seeds 6 --json
    softgate compare gelu relu elu --preset gelu-paper-mnist --data-dir mnist
    """
    if list_tasks:
        show(catalogue())
        return 0
    check_formats(as_json, as_csv)
    if output is not None:
        from softgate.plotting.picture import file_format
        from softgate.plotting.vega import library

        file_format(Path(output))
        library()
        check_output(Path(output))
    if no_store and store is not None:
        raise click.UsageError("--no-store and --store: give one.")
    store = None if no_store else store or STORE
    study = _request(functions, **arguments).study()
    for line in plan_lines(study, store):
        click.echo(line, err=True)
    if dry_run:
        return 0
    comparison = _train(study, store, on, jobs)
    emit(comparison, as_json, as_csv)
    if output is not None:
        comparison.save(output)
        click.echo(f"Wrote {Path(output).absolute()}", err=True)
    return 0 if any(o.status == "finished" for o in comparison.outcomes) else 1


def _request(functions: tuple[Activation | Gated, ...], **arguments: Any) -> Request:
    """Return the request of the command's arguments."""
    from softgate.studies.compare.request import Request

    settings = parse_pairs("--set", arguments.pop("more"), "epochs=5")
    for name in SETTINGS:
        if (value := arguments.pop(name)) is not None:
            settings[name] = value
    rates = numbers(arguments.pop("rates"))
    what = _what(arguments.pop("task"), arguments.pop("script"), arguments["preset"])
    return Request(what, activations=functions or None, rates=rates, settings=settings, **arguments)


def _what(task: str | None, script: str | None, name: str | None) -> str:
    """Return the task or script to train."""
    from softgate.studies.compare.presets import preset
    from softgate.studies.compare.scripts import is_script

    if script is None:
        return task or (TASK if name is None else preset(name).tasks[0])
    for option, value in (("--task", task), ("--preset", name)):
        if value is not None:
            raise click.UsageError(f"{option} and --script: give one of them.")
    if not is_script(script):
        raise click.UsageError(f"--script {script}: write FILE.py:FUNCTION, such as train.py:run.")
    return script


def _train(study: Study, store: str | None, on: str, jobs: int | None) -> Comparison:
    from softgate.studies.compare.execution.serialization import ExecutionError
    from softgate.studies.compare.run import NothingTrainedError
    from softgate.studies.compare.store import StoreError

    display = Display()
    try:
        comparison = study.run(store, on, jobs, display)
    except BaseException as error:
        display.end()
        if isinstance(error, NothingTrainedError):
            raise click.ClickException(str(error)) from error  # exit code 1
        if store is not None and display.pace.done:
            resume = f"{display.summary()}, saved in {store}; rerun this command to resume"
            click.echo(resume, err=True)
        if isinstance(error, StoreError | ExecutionError):
            raise ValueError(str(error)) from error
        raise
    display.end()
    click.echo(display.summary(), err=True)
    return comparison


def catalogue() -> list[Grid]:
    """Return tables of the tasks and of their settings."""
    from softgate.runtime.records import Grid
    from softgate.studies.compare.tasks import tasks

    known = tasks()
    about = tuple((name, fill(task.describe(), WIDTH)) for name, task in known.items())
    grids = [Grid("tasks", ("name", "description"), about, text=True)]
    for name, task in known.items():
        rows = tuple((n, str(o.default), fill(o.about, WIDTH)) for n, o in task.options.items())
        grids.append(Grid(name, ("setting", "default", "description"), rows, text=True))
    return grids
