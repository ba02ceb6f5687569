"""`softgate compare`: train the same model with each activation and compare the results.

The progress is shown on stderr: live in a terminal, as plain lines otherwise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from softgate.records.files import PICTURES, TABLES
from softgate.records.text import visible

from .arguments import FUNCTION, FUNCTIONS, parse_pairs
from .output import Format, echo, echo_json, echo_wrapped, emit, formats, show

if TYPE_CHECKING:
    from softgate.records.record import Grid
    from softgate.runtime.activation import Activation
    from softgate.studies.compare.execution import Event, RunningTrial
    from softgate.studies.compare.record import Comparison
    from softgate.studies.compare.request import ComparisonRequest
    from softgate.studies.compare.run import PlannedComparison, Update
    from softgate.studies.compare.trial import Outcome, Trial

STORE = "softgate-trials"
"""Default folder of trials, in the current folder."""
TASK = "digits"
WIDTH, NARROW = 62, 50
"""Characters per line of the descriptions of tasks and of settings, for a window of 80."""
SETTINGS = ("match", "init", "same", "seconds")
"""Settings with a separate option."""
EVERY_S = 5.0
"""Seconds between two lines of progress if stderr is not a terminal."""
SHOWN_S = 0.2
"""Seconds between two updates of a terminal."""


def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the tasks that start with the typed text."""
    from softgate.studies.compare.tasks import tasks

    return [name for name in tasks() if name.startswith(incomplete)]


OPTIONS = (
    click.option(
        "--task", metavar="NAME", shell_complete=complete_task,
        help=f"The task to train (see --tasks).  [{TASK}]",
    ),
    click.option(
        "--script", metavar="FUNCTION",
        help="Your own training loop, run(activation, seed, report), such as train.py:run.",
    ),
    click.option(
        "--model", metavar="FUNCTION",
        help="Your own model, build(activation), such as models.py:build; needs --data.",
    ),
    click.option("--preset", metavar="NAME", help="A published experiment: gelu-paper-mnist."),
    click.option(
        "--match", metavar="NAME",
        help="Gated models match plain ones in parameters, or flops.",
    ),
    click.option(
        "--init", metavar="NAME", help="Initial weights: he, or fitted to the activation's gain."
    ),
    click.option(
        "--same", metavar="steps|time", help="The same number of steps for all, or the same time."
    ),
    click.option("--seconds", metavar="S", help="Time of each trial, for --same time."),
    click.option(
        "--set", "more", multiple=True, metavar="NAME=VALUE",
        help="Another setting of the task (see --tasks), such as epochs=5; a list, as in "
        "layers=8,48, makes a condition of each. May be repeated.",
    ),
    click.option(
        "--data", type=click.Path(), metavar="DATA",
        help="A text for text, a CSV for churn; for --model an .npz with x and y, or a function "
        "that returns (x, y), such as data.py:load.",
    ),
    click.option(
        "--data-dir", type=click.Path(), metavar="DIR",
        help="Folder of the files of mnist or fashion-mnist.",
    ),
    click.option("--seeds", type=int, metavar="N", help="Reported seeds.  [8]"),
    click.option("--lr", type=float, help="One learning rate for all, without tuning."),
    click.option("--rates", metavar="NUMBERS", help="Learning rates to tune over."),
    click.option("--tuning-seeds", type=int, metavar="N", help="Seeds for tuning.  [2]"),
    click.option(
        "--baseline", type=FUNCTION, help="Baseline, if not the first FUNCTION."
    ),
    click.option(
        "--pairs", type=click.Choice(["baseline", "all"]), default="baseline",
        show_default=True, help="Compare with the baseline, or all pairs.",
    ),
    click.option("--alpha", type=float, metavar="P", help="Significance level.  [0.05]"),
    click.option(
        "--store", type=click.Path(file_okay=False), metavar="DIR",
        help=f"Folder of saved trials, which are not trained again.  [{STORE}]",
    ),
    click.option("--no-store", is_flag=True, help="Save no trials."),
    click.option(
        "--on", default="local", show_default=True, metavar="WHERE",
        help="local processes, here (this process), ray, or ray://host:port.",
    ),
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Concurrent trials.  [one per core]"
    ),
)  # fmt: skip
"""In the order of the help text."""


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def numbers(text: str | None) -> list[float] | None:
    """Return the numbers of --rates."""
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--rates {text}: write numbers, such as 1e-3,1e-4.") from None


class CompareCommand(click.Command):
    """A command that answers a setting of a task, written as an option, with `--set`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            written = setting_of_a_task(error.option_name, words)
            if written is None:
                raise
            message = f"No such option {error.option_name}: write {written}."
            raise click.UsageError(message, ctx) from None


def setting_of_a_task(option: str, args: list[str]) -> str | None:
    """Return how an unknown option is written as a setting of a task, or None if it is none."""
    from softgate.studies.compare.tasks import tasks

    name = option.lstrip("-").replace("-", "_")
    known = {setting: spec for task in tasks().values() for setting, spec in task.options.items()}
    if name not in known:
        return None
    value = default = str(known[name].default)
    for word, following in pairwise([*args, default]):
        if word == option:
            value = following
        elif word.startswith(f"{option}="):
            value = word.partition("=")[2]
    return f"--set {name}={value}"


@click.command(cls=CompareCommand, epilog=FUNCTIONS)
@click.argument("functions", nargs=-1, type=FUNCTION, metavar="[FUNCTION]...")
@options
@click.option("--tasks", "list_tasks", is_flag=True, help="List the tasks and their settings.")
@click.option("--dry-run", is_flag=True, help="Print the plan and train nothing.")
@formats(*TABLES, *PICTURES)
def command(
    functions: tuple[Activation, ...],
    list_tasks: bool,
    dry_run: bool,
    store: str | None,
    no_store: bool,
    on: str,
    jobs: int | None,
    form: Format,
    output: tuple[Path, ...],
    **arguments: Any,
) -> int:
    """Train the same model with each activation, several times, and compare the results.

    The first FUNCTION is the baseline. For each seed all start from the same weights and see the
    same data. Each gets the learning rate that is best for it on validation data; test data is
    evaluated once. Verdicts come from an exact test, corrected for the number of comparisons.

    Trials are saved, one file each: rerun the same command to resume it; more seeds only add
    trials. Exit code 1 if no trial could be trained.

    \b
    softgate compare gelu relu tanh elu silu swiglu --task digits --seeds 8
    softgate compare gelu relu --task deep --set layers=8,48 --init fitted
    softgate compare gelu relu --task text --data corpus.txt --on ray
    softgate compare gelu relu --script train.py:run --seeds 6 --json
    softgate compare gelu relu --model models.py:build --data data.npz
    softgate compare gelu relu elu --preset gelu-paper-mnist --data-dir mnist
    """
    if list_tasks:
        show(catalogue())
        return 0
    if no_store and store is not None:
        raise click.UsageError("--no-store and --store: give one.")
    store = None if no_store else store or STORE
    if dry_run and (form == "csv" or output):
        raise click.UsageError("--dry-run prints the plan as text or, with --json, as JSON.")
    study = _request(functions, **arguments).plan()
    for line in plan_lines(study, store):
        echo_wrapped(line, err=True)
    if dry_run:
        if form == "json":
            echo_json(study.to_dict())
        return 0
    comparison = _train(study, store, on, jobs)
    emit(comparison, form, output)
    return 0 if any(o.status == "finished" for o in comparison.outcomes) else 1


def _request(functions: tuple[Activation, ...], **arguments: Any) -> ComparisonRequest:
    """Return the request of the command's arguments."""
    from softgate.studies.compare.request import ComparisonRequest

    settings = parse_pairs("--set", arguments.pop("more"), "epochs=5")
    for name in SETTINGS:
        if (value := arguments.pop(name)) is not None:
            settings[name] = value
    rates = numbers(arguments.pop("rates"))
    code = {"--script": arguments.pop("script"), "--model": arguments.pop("model")}
    what = _what(arguments.pop("task"), arguments["preset"], code)
    return ComparisonRequest(
        what, activations=functions or None, rates=rates, settings=settings, **arguments
    )


def _what(task: str | None, name: str | None, code: dict[str, str | None]) -> str:
    """Return the task, the script or the model to train."""
    from softgate.studies.compare.published_experiments import preset
    from softgate.studies.compare.scripts import is_function, is_loop, source

    options = {"--task": task, "--preset": name, **code}
    chosen = [option for option, value in options.items() if value is not None]
    texts = [(option, text) for option, text in code.items() if text is not None]
    if not texts:
        return task or (TASK if name is None else preset(name).tasks[0])
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)}: give one of them.")
    ((option, text),) = texts
    if not is_function(text):
        raise click.UsageError(f"{option} {text}: write file.py:function or module:function.")
    if is_loop(*source(text)) != (option == "--script"):
        expected = {"--script": "run(activation, seed, report)", "--model": "build(activation)"}
        raise click.UsageError(f"{option} {text}: expected a function {expected[option]}.")
    return text


def _train(study: PlannedComparison, store: str | None, on: str, jobs: int | None) -> Comparison:
    from softgate.studies.compare.execution import ExecutionError
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
            echo(resume, err=True)
        if isinstance(error, StoreError | ExecutionError):
            raise ValueError(str(error)) from error
        raise
    display.end()
    echo(display.summary(), err=True)
    return comparison


def catalogue() -> list[Grid]:
    """Return tables of the tasks and of their settings."""
    from softgate.records.record import Grid
    from softgate.studies.compare.tasks import tasks

    known = tasks()
    about = tuple((name, fill(task.describe(), WIDTH)) for name, task in known.items())
    grids = [Grid("tasks", ("name", "description"), about, text=True)]
    for name, task in known.items():
        rows = tuple((n, str(o.default), fill(o.about, NARROW)) for n, o in task.options.items())
        grids.append(Grid(name, ("setting", "default", "description"), rows, text=True))
    return grids


class Display:
    """Shows finished trials, running ones with their losses, and the time left."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.start, self.shown = time.monotonic(), float("-inf")
        self.pace = Pace()
        self.live: Any = None

    def __call__(self, update: Update) -> None:
        """Show an update."""
        self.pace.update(update)
        ended = update.event.ended
        if update.event.message:
            self._say(update.event.message)
        if ended is not None and ended.status != "finished":
            self._say(f"{named(ended.trial)}: {ended.message}")
        if self.terminal:
            self._redraw(update)
        else:
            self._line(update, ended)

    def end(self) -> None:
        """Remove the live display."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def summary(self) -> str:
        """Return one line on the trials run."""
        trained, total = self.pace.done - self.pace.found, self.pace.total - self.pace.found
        count = f"{trained}" if trained == total else f"{trained} of {total}"
        stored = f", {self.pace.found} were stored already" if self.pace.found else ""
        return f"{count} trials in {duration(time.monotonic() - self.start)}{stored}"

    def _say(self, text: str) -> None:
        """Print a line that stays."""
        if self.live is None:
            echo(text, err=True)
        else:
            self.live.console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def _line(self, update: Update, ended: Outcome | None) -> None:
        now = time.monotonic()
        if now - self.shown < EVERY_S and not self.pace.last:
            return
        self.shown = now
        shown = head(update, self.pace, now - self.start)
        if ended is not None and ended.status == "finished":
            shown += f"; {named(ended.trial)}: {figure(ended)}"
        echo(shown, err=True)

    def _redraw(self, update: Update) -> None:
        now = time.monotonic()
        if self.live is None:
            from rich.console import Console
            from rich.live import Live

            self.live = Live(
                console=Console(stderr=True, highlight=False), auto_refresh=False, transient=True
            )
            self.live.start()
        elif now - self.shown < SHOWN_S:
            return
        self.shown = now
        self.live.update(self._picture(update, now - self.start), refresh=True)

    def _picture(self, update: Update, seconds: float) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        bar = ProgressBar(total=max(1, self.pace.total), completed=self.pace.done, width=30)
        first, running = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2))
        first.add_row(bar, Text(head(update, self.pace, seconds), no_wrap=True))
        for trial in update.event.running:
            running.add_row(*(Text(visible(cell), no_wrap=True) for cell in cells(trial)))
        return Group(first, running)


class Pace:
    """Number of finished trials over both stages, tuning and reported, and the time left."""

    def __init__(self) -> None:
        self.before = self.done = self.total = self.found_before = self.found = 0
        self.stage = ""
        self.event: Event | None = None
        self.seconds: list[float] = []
        self.width = 1

    def update(self, update: Update) -> None:
        """Record an update."""
        event = update.event
        if update.stage != self.stage:
            self.before, self.stage = self.done, update.stage
            self.found_before = self.found
        self.event = event
        self.done = self.before + event.done
        self.found = self.found_before + event.stored
        self.total = sum(update.plan.counts)
        self.width = max(self.width, len(event.running))
        if event.ended is not None:
            self.seconds.append(event.ended.seconds)

    @property
    def last(self) -> bool:
        """Whether all trials of this stage are done."""
        return self.event is not None and self.event.done == self.event.total

    @property
    def left_s(self) -> float | None:
        """Estimated seconds left, from the trials so far; None if unknown."""
        if self.event is None or self.event.eta_s is None:
            return None
        ahead = self.event.total - self.event.done
        later = self.total - self.before - self.event.total
        if self.seconds:
            trial_s = sum(self.seconds) / len(self.seconds) / self.width
        else:
            trial_s = self.event.eta_s / max(1, ahead)
        return self.event.eta_s + later * trial_s


def plan_lines(study: PlannedComparison, store: str | None) -> list[str]:
    """Return lines on the planned trials, the least possible p, and the store."""
    from softgate.studies import counted

    plan = study.plan
    tuning, reported = plan.counts
    arms = ", ".join(arm.label for arm in plan.arms)
    under = [condition.label for condition in plan.conditions if condition.label]
    where = f", each with {' | '.join(under)}" if under else ""
    lines = [f"{plan.trainable.name}: {arms}{where}", plan.trainable.describe()]
    if tuning:
        rates = ", ".join(f"{rate:g}" for rate in plan.rates)
        lines.append(
            f"{tuning} tuning trials choose learning rates from {rates} on validation data, with "
            f"{counted(len(plan.tuning_seeds), 'separate seed')}; then {reported} are reported"
        )
    else:
        at = f", learning rate {plan.rates[0]:g}" if plan.rates else ""
        lines.append(f"{reported} trials{at}; no tuning")
    lines += [str(study.attainable_p), *study.notes]
    if store is not None:
        lines.append(f"trials are saved in {store}; rerun this command to resume")
        lines += study.outdated(store)
    return lines


def head(update: Update, pace: Pace, seconds: float) -> str:
    """Return one line on the progress."""
    left = pace.left_s
    rest = "" if left is None else f", about {duration(left)} left"
    if not update.event.running and not pace.last:
        rest = ", starting"
    stored = f", {pace.found} found in the store" if pace.found else ""
    return f"{update.stage} [{pace.done}/{pace.total} trials{stored}] {duration(seconds)}{rest}"


def named(trial: Trial) -> str:
    """Return activation, condition, rate and seed of a trial."""
    under = f" {trial.condition}" if trial.condition else ""
    rate = f" lr {trial.lr:g}" if trial.lr else ""
    return f"{trial.arm}{under}{rate} seed {trial.seed}"


def figure(outcome: Outcome) -> str:
    """Return the score or loss of a finished trial."""
    measured = outcome.measured
    for name, value in (
        ("score", measured.score),
        ("validation score", measured.validation_score),
        ("loss", measured.loss),
        ("validation loss", measured.validation_loss),
    ):
        if value is not None:
            return f"{name} {value:.4g}"
    return "finished"


def cells(running: RunningTrial) -> Sequence[str]:
    """Return the row of a running trial."""
    trial = running.trial
    of = f"step {running.step}/{running.steps}" if running.steps else f"step {running.step}"
    loss = "" if running.loss is None else f"loss {running.loss:.4g}"
    return (named(trial), of, loss)


def duration(seconds: float) -> str:
    """Return seconds in s, min and h.

    Examples
    --------
    >>> duration(8.4), duration(95), duration(7300)
    ('8 s', '1 min 35 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
