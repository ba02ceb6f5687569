"""The options of `softgate compare`: what is trained, how often, where, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .bench_context import FunctionType

STORE = "softgate-trials"
"""Where trials are kept unless told otherwise: beside what one works on, found again by itself."""
TASK = "digits"


class ArmType(FunctionType):
    """What is compared: an activation, or a gated one, which may have parameters here."""

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
    """Offer the tasks that begin as what was typed."""
    from softgate.studies.compare.tasks import tasks

    return [name for name in tasks() if name.startswith(incomplete)]


WHAT = (
    click.option(
        "--data-dir", type=click.Path(), metavar="DIR",
        help="Where the files of mnist, fashion-mnist or cifar10 are.",
    ),
    click.option(
        "--data", type=click.Path(), metavar="FILE", help="A text for text, a CSV for churn."
    ),
    click.option(
        "--set", "more", multiple=True, metavar="NAME=VALUE",
        help="Another setting of the task (see --tasks), such as epochs=5; a list, as in "
        "layers=8,48, makes a condition of each. May be repeated.",
    ),
    click.option("--seconds", metavar="S", help="With --same time: for each trial."),
    click.option(
        "--same", metavar="steps|time", help="What all have in common: steps, or seconds."
    ),
    click.option(
        "--init", metavar="NAME", help="Initial weights: he, or fitted to the activation."
    ),
    click.option(
        "--match", metavar="NAME",
        help="Gated models have as many parameters as plain ones, or flops.",
    ),
    click.option("--preset", metavar="NAME", help="A published experiment: gelu-paper-mnist."),
    click.option(
        "--script", metavar="FILE.py:FUNCTION",
        help="Your own loop: run(activation, seed, report) in a file.",
    ),
    click.option(
        "--task", metavar="NAME", shell_complete=complete_task,
        help=f"What to train (see --tasks).  [{TASK}]",
    ),
)  # fmt: skip
"""What is trained, in the order from the last to the first that help shows."""

HOW = (
    click.option(
        "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE",
        help="Draw curves, seeds and differences too: .svg, .png or .pdf.",
    ),
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Trials at a time.  [one a core]"
    ),
    click.option(
        "--on", default="local", show_default=True, metavar="PLACE",
        help="local processes, ray, or ray://host:port.",
    ),
    click.option("--no-store", is_flag=True, help="Keep no trials."),
    click.option(
        "--store", type=click.Path(file_okay=False), metavar="DIR",
        help=f"Where each trial is kept; what is there is not trained again.  [{STORE}]",
    ),
    click.option("--alpha", type=float, metavar="P", help="The level of the test.  [0.05]"),
    click.option(
        "--pairs", type=click.Choice(["baseline", "all"]), default="baseline",
        show_default=True, help="Compare with the first, or each with each.",
    ),
    click.option("--baseline", type=ARM, metavar="NAME", help="Instead of the first."),
    click.option("--tuning-seeds", type=int, metavar="N", help="Seeds that choose it.  [2]"),
    click.option("--rates", metavar="NUMBERS", help="Learning rates to choose from."),
    click.option("--lr", type=float, help="One learning rate for all: nothing is tuned."),
    click.option("--seeds", type=int, metavar="N", help="Seeds that are reported.  [8]"),
)  # fmt: skip
"""How often, where, and what is made of it."""


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command all of them."""
    for option in (*HOW, *WHAT):
        command = option(command)
    return command
