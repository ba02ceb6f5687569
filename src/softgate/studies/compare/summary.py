"""One arm under one condition: its scores over the seeds, and what training with it took."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .difference import merit
from .outcome import Outcome
from .statistics import Interval, interval
from .trainable import Measure


@dataclass(frozen=True)
class Summary:
    """What an arm did.

    Attributes
    ----------
    lr : float
        The learning rate it was reported with.
    mean, interval, sd : float, Interval, float
        Of the runs that finished.
    median : float or None
        Of all runs, one without a score being worse than any; None where that is the middle one.
    diverged, raised : tuple of int
        The seeds at which it did so. A score that is no number counts as diverged, a run that
        gave none as raised.
    dead, gradient_ratio : float or None
        Medians over the runs that finished: the share of dead units, and the gradient's norm at the
        first activation over that at the last.
    step_ms, step_ratio : float or None
        The median time of an update, and how many times the baseline's it is: the median over the
        seeds of the two at the same seed.
    peak_bytes : int or None
        The median of how far memory rose.
    seconds : float
        All runs together.
    parameters, flops : int, float or None
        Of the model.
    """

    condition: str
    arm: str
    lr: float
    runs: int
    mean: float | None
    interval: Interval | None
    sd: float | None
    median: float | None
    diverged: tuple[int, ...]
    raised: tuple[int, ...]
    dead: float | None
    gradient_ratio: float | None
    step_ms: float | None
    step_ratio: float | None
    peak_bytes: int | None
    seconds: float
    parameters: int | None
    flops: float | None

    @property
    def finished(self) -> int:
        """How many runs have a score."""
        return self.runs - len(self.diverged) - len(self.raised)


def summarise(
    outcomes: Sequence[Outcome], baseline: Sequence[Outcome], measure: Measure, level: float
) -> Summary:
    """Return the summary of an arm's reported runs, in the order of the baseline's seeds."""
    merits = [merit(one, measure) for one in outcomes]
    done = [one for one, m in zip(outcomes, merits, strict=True) if math.isfinite(m)]
    scores = [float(one.measured.score or 0.0) for one in done]
    trial = outcomes[0].trial
    seeds = [(one.trial.seed, m) for one, m in zip(outcomes, merits, strict=True)]
    ratios = [
        a.step_ms / b.step_ms
        for a, b in zip(outcomes, baseline, strict=True)
        if a.step_ms and b.step_ms
    ]
    peak = _median(one.peak_bytes for one in done)
    return Summary(
        condition=trial.condition,
        arm=trial.arm,
        lr=trial.lr,
        runs=len(outcomes),
        mean=math.fsum(scores) / len(scores) if scores else None,
        interval=interval(scores, level),
        sd=statistics.stdev(scores) if len(scores) > 1 else None,
        median=_middle(merits, measure),
        diverged=tuple(seed for seed, m in seeds if math.isinf(m)),
        raised=tuple(seed for seed, m in seeds if math.isnan(m)),
        dead=_median(one.measured.dead for one in done),
        gradient_ratio=_median(one.measured.gradient_ratio for one in done),
        step_ms=_median(one.step_ms for one in outcomes),
        step_ratio=_median(ratios),
        peak_bytes=None if peak is None else int(peak),
        seconds=math.fsum(one.seconds for one in outcomes),
        parameters=next((p for one in outcomes if (p := one.measured.parameters)), None),
        flops=next((f for one in outcomes if (f := one.measured.flops) is not None), None),
    )


def _median(values: Iterable[float | None]) -> float | None:
    kept = [value for value in values if value is not None and not math.isnan(value)]
    return statistics.median(kept) if kept else None


def _middle(merits: Sequence[float], measure: Measure) -> float | None:
    """Return the median score, what has none being worst."""
    found = statistics.median(-math.inf if math.isnan(m) else m for m in merits)
    if not math.isfinite(found):
        return None
    return found if measure.higher else -found
