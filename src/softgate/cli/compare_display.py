"""Progress display of `softgate compare` on stderr: live in a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from softgate.runtime.printable_text import visible

from .output import echo

if TYPE_CHECKING:
    from softgate.studies.compare.execution import Event, Running
    from softgate.studies.compare.run import PlannedComparison, Update
    from softgate.studies.compare.trial import Outcome, Trial

EVERY_S = 5.0
"""Seconds between two lines of progress if stderr is not a terminal."""
SHOWN_S = 0.2
"""Seconds between two updates of a terminal."""


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
            self._say(f"{named(ended.trial)}: {ended.said}")
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
    lines += [str(study.possible), *study.notes]
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


def cells(running: Running) -> Sequence[str]:
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
