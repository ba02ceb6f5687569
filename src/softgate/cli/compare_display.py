"""What `softgate compare` says while it trains: on stderr, live in a terminal, plain in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from softgate.studies.compare.execution import Event, Running
    from softgate.studies.compare.run import Study, Update
    from softgate.studies.compare.trial import Outcome, Trial

EVERY_S = 5.0
"""Seconds between two lines of progress where stderr is no terminal."""
SHOWN_S = 0.2
"""Seconds between two changes of a terminal."""


class Display:
    """Shows trials done, what is running with which loss, and the time left."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.start, self.shown = time.monotonic(), float("-inf")
        self.pace = Pace()
        self.live: Any = None

    def __call__(self, update: Update) -> None:
        """Show how far it is."""
        self.pace.hear(update)
        ended = update.event.ended
        if update.event.said:
            self._say(update.event.said)
        if ended is not None and ended.status != "finished":
            self._say(f"{named(ended.trial)}: {ended.said}")
        if self.terminal:
            self._redraw(update)
        else:
            self._line(update, ended)

    def end(self) -> None:
        """Remove what is live."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def summary(self) -> str:
        """Return what was done in one line."""
        trained, total = self.pace.done - self.pace.found, self.pace.total - self.pace.found
        count = f"{trained}" if trained == total else f"{trained} of {total}"
        found = f", {self.pace.found} were there already" if self.pace.found else ""
        return f"{count} trials in {duration(time.monotonic() - self.start)}{found}"

    def _say(self, text: str) -> None:
        """Leave a line that stays."""
        if self.live is None:
            click.echo(text, err=True)
        else:
            self.live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _line(self, update: Update, ended: Outcome | None) -> None:
        now = time.monotonic()
        if now - self.shown < EVERY_S and not self.pace.last:
            return
        self.shown = now
        shown = head(update, self.pace, now - self.start)
        if ended is not None and ended.status == "finished":
            shown += f"; {named(ended.trial)}: {figure(ended)}"
        click.echo(shown, err=True)

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
        for one in update.event.running:
            running.add_row(*(Text(cell, no_wrap=True) for cell in cells(one)))
        return Group(first, running)


class Pace:
    """How many trials are done of all, tuning and reported, and how long the rest will take."""

    def __init__(self) -> None:
        self.before = self.done = self.total = self.found_before = self.found = 0
        self.stage = ""
        self.event: Event | None = None
        self.seconds: list[float] = []
        self.width = 1

    def hear(self, update: Update) -> None:
        """Take note of an update."""
        event = update.event
        if update.stage != self.stage:
            self.before, self.stage = self.done, update.stage
            self.found_before = self.found
        self.event = event
        self.done = self.before + event.done
        self.found = self.found_before + event.found
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
        """Seconds that all takes if trials go on as those so far; None while nobody can tell."""
        if self.event is None or self.event.eta_s is None:
            return None
        ahead, later = (
            self.event.total - self.event.done,
            self.total - self.before - self.event.total,
        )
        if self.seconds:
            one_s = sum(self.seconds) / len(self.seconds) / self.width
        else:
            one_s = self.event.eta_s / max(1, ahead)
        return self.event.eta_s + later * one_s


def outlook(study: Study, store: str | None) -> list[str]:
    """Return what is about to be trained, what it can show, and where it is kept."""
    from softgate.studies.diagnose.text import counted

    plan = study.plan
    tuning, reported = plan.counts
    arms = ", ".join(arm.label for arm in plan.arms)
    under = [condition.label for condition in plan.conditions if condition.label]
    where = f", each with {' | '.join(under)}" if under else ""
    lines = [f"{plan.subject.name}: {arms}{where}", plan.subject.describe()]
    if tuning:
        rates = ", ".join(f"{rate:g}" for rate in plan.rates)
        lines.append(
            f"{tuning} trials choose learning rates from {rates} on validation data, with "
            f"{counted(len(plan.tuning_seeds), 'seed')} of their own; then {reported} are reported"
        )
    else:
        at = f", learning rate {plan.rates[0]:g}" if plan.rates else ""
        lines.append(f"{reported} trials{at}; nothing is tuned")
    lines += [str(study.possible), *study.notes]
    if store is not None:
        lines.append(f"each trial is kept in {store}: the same command goes on where this one ends")
    return lines


def head(update: Update, pace: Pace, seconds: float) -> str:
    """Return how far it is in one line."""
    left = pace.left_s
    rest = "" if left is None else f", about {duration(left)} left"
    if not update.event.running and not pace.last:
        rest = ", starting"
    kept = f", {pace.found} found in the store" if pace.found else ""
    return f"{update.stage} [{pace.done}/{pace.total} trials{kept}] {duration(seconds)}{rest}"


def named(trial: Trial) -> str:
    """Return what tells a trial from the others, in a few words."""
    under = f" {trial.condition}" if trial.condition else ""
    rate = f" lr {trial.lr:g}" if trial.lr else ""
    return f"{trial.arm}{under}{rate} seed {trial.seed}"


def figure(outcome: Outcome) -> str:
    """Return what a finished trial gave."""
    found = outcome.measured
    for what, value in (
        ("score", found.score),
        ("validation score", found.validation_score),
        ("loss", found.loss),
        ("validation loss", found.validation_loss),
    ):
        if value is not None:
            return f"{what} {value:.4g}"
    return "finished"


def cells(running: Running) -> Sequence[str]:
    """Return a row for a trial that is running."""
    trial = running.trial
    of = f"step {running.step}/{running.steps}" if running.steps else f"step {running.step}"
    loss = "" if running.loss is None else f"loss {running.loss:.4g}"
    return (named(trial), of, loss)


def duration(seconds: float) -> str:
    """Return seconds as people say them.

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
