"""The options of `softgate compare`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .bench_context import FunctionType

STORE = "softgate-trials"
"""Default folder of trials, in the current folder."""
TASK = "digits"


class ArmType(FunctionType):
    """An activation, or a gated one, which may have parameters here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the function that `value` names."""
        from softgate.runtime.registry import gated

        if not isinstance(value, str) or value.partition(":")[0] not in gated():
            return super().convert(value, param, ctx)
        from softgate.studies.compare.functions import function

        try:
            return function(value)
        except (ValueError, TypeError) as error:
            self.fail(str(error), param, ctx)


ARM = ArmType()


def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the tasks that start with the typed text."""
    from softgate.studies.compare.tasks import tasks

    return [name for name in tasks() if name.startswith(incomplete)]


WHAT = (
    click.option(
        "--data-dir", type=click.Path(), metavar="DIR",
        help="Folder of the files of mnist, fashion-mnist or cifar10.",
    ),
    click.option(
        "--data", type=click.Path(), metavar="FILE", help="A text for text, a CSV for churn."
    ),
    click.option(
        "--set", "more", multiple=True, metavar="NAME=VALUE",
        help="Another setting of the task (see --tasks), such as epochs=5; a list, as in "
        "layers=8,48, makes a condition of each. May be repeated.",
    ),
    click.option("--seconds", metavar="S", help="Time of each trial, for --same time."),
    click.option(
        "--same", metavar="steps|time", help="The same number of steps for all, or the same time."
    ),
    click.option(
        "--init", metavar="NAME", help="Initial weights: he, or fitted to the activation's gain."
    ),
    click.option(
        "--match", metavar="NAME",
        help="Gated models match plain ones in parameters, or flops.",
    ),
    click.option("--preset", metavar="NAME", help="A published experiment: gelu-paper-mnist."),
    click.option(
        "--script", metavar="FILE.py:FUNCTION",
        help="Your own training loop: run(activation, seed, report).",
    ),
    click.option(
        "--task", metavar="NAME", shell_complete=complete_task,
        help=f"The task to train (see --tasks).  [{TASK}]",
    ),
)  # fmt: skip
"""Options on the task, in reverse order of the help text."""

HOW = (
    click.option(
        "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE",
        help="Save a figure of curves, seeds and differences: .svg, .png or .pdf.",
    ),
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Concurrent trials.  [one per core]"
    ),
    click.option(
        "--on", default="local", show_default=True, metavar="PLACE",
        help="local processes, ray, or ray://host:port.",
    ),
    click.option("--no-store", is_flag=True, help="Save no trials."),
    click.option(
        "--store", type=click.Path(file_okay=False), metavar="DIR",
        help=f"Folder of saved trials, which are not trained again.  [{STORE}]",
    ),
    click.option("--alpha", type=float, metavar="P", help="Significance level.  [0.05]"),
    click.option(
        "--pairs", type=click.Choice(["baseline", "all"]), default="baseline",
        show_default=True, help="Compare with the baseline, or all pairs.",
    ),
    click.option("--baseline", type=ARM, metavar="NAME", help="Instead of the first name."),
    click.option("--tuning-seeds", type=int, metavar="N", help="Seeds for tuning.  [2]"),
    click.option("--rates", metavar="NUMBERS", help="Learning rates to tune over."),
    click.option("--lr", type=float, help="One learning rate for all, without tuning."),
    click.option("--seeds", type=int, metavar="N", help="Reported seeds.  [8]"),
)  # fmt: skip
"""Options on seeds, tests, the store and execution."""


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options to a command."""
    for option in (*HOW, *WHAT):
        command = option(command)
    return command
