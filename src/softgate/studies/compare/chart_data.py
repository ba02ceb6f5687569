"""The data of a comparison's charts: learning curves, runs, ranges of axes and styles.

Learning curves are medians over the seeds with the middle half as a band. A run that diverged
counts as an infinite loss from there on, so that a curve never improves because runs are missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from softgate.plotting.palette import Style, variants

from .record import PairedDifference, signed_score
from .statistics import ConfidenceInterval
from .trial import Outcome

if TYPE_CHECKING:
    from .record import Comparison

Floats = NDArray[np.float64]
Loss = Literal["validation loss", "training loss"]
ROOM = 0.06
"""Free space on each side of an axis, as a share of the range of its numbers."""


@dataclass(frozen=True)
class LearningCurveBand:
    """The losses of an activation by step: the median, and the middle half of the seeds.

    A loss is inf where runs have diverged. `ends` are the last points of those runs.
    """

    arm: str
    steps: tuple[float, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    ends: tuple[tuple[float, float], ...]

    @property
    def end(self) -> tuple[float, float] | None:
        """The last finite point of the median; None if there is none."""
        drawn = [at for at in zip(self.steps, self.middle, strict=True) if math.isfinite(at[1])]
        return drawn[-1] if drawn else None


@dataclass(frozen=True)
class LearningCurves:
    """The learning curves of all activations under a condition, and which loss they show."""

    of: Loss
    bands: tuple[LearningCurveBand, ...]

    @property
    def log(self) -> bool:
        """Whether all losses are positive, so that a logarithmic axis can show them."""
        return all(y > 0 for band in self.bands for y in (*band.low, *(y for _, y in band.ends)))

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest finite loss; (0.1, 1) if there is none."""
        drawn = [
            y
            for band in self.bands
            for y in (*band.middle, *band.low, *band.high, *(y for _, y in band.ends))
            if math.isfinite(y)
        ]
        return (min(drawn), max(drawn)) if drawn else (0.1, 1.0)


@dataclass(frozen=True)
class Range:
    """The range of an axis, in its unit: scores from `low` to `high`, and runs without a score.

    The latter are drawn outside: at `bad` if worse than any score, at `good` if better.
    """

    low: float
    high: float
    bad: float
    good: float
    beyond: tuple[bool, bool]
    """Whether anything is drawn at `bad`, and at `good`."""

    @classmethod
    def of(cls, numbers: Sequence[float], higher: bool, beyond: tuple[bool, bool]) -> Range:
        """Return the range of some numbers, with free space around them."""
        low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
        room = ROOM * (high - low) or 0.5
        ends = (low - 3 * room, high + 3 * room)
        return cls(low - room, high + room, *(ends if higher else ends[::-1]), beyond)

    @property
    def edges(self) -> tuple[float, float]:
        """The ends of the axis."""
        shown = [at for at, there in zip((self.bad, self.good), self.beyond, strict=True) if there]
        room = ROOM / (1 + 2 * ROOM) * (self.high - self.low)
        low, high = min([self.low, *shown]), max([self.high, *shown])
        return low - room * (low < self.low), high + room * (high > self.high)


@dataclass(frozen=True)
class Dot:
    """A run: its score, None if it has none, and how it failed."""

    arm: str
    seed: int
    score: float | None
    failed: Literal["", "diverged", "no score"]


def styles(record: Comparison) -> dict[str, Style]:
    """Return the style of each arm: its activation's colour, with other dashes if it is shared."""
    first = {it.trial.arm: it.trial.activation for it in reversed(record.outcomes)}
    names = {arm: first[arm].partition(":")[0] for arm in record.arms}
    shared = {name: variants(name, count) for name, count in Counter(names.values()).items()}
    return {arm: shared[names[arm]].pop(0) for arm in record.arms}


def dots(record: Comparison, condition: str) -> list[Dot]:
    """Return every run under a condition."""
    return [
        _dot(outcome, record) for arm in record.arms for outcome in record.of_cell(condition, arm)
    ]


def _dot(outcome: Outcome, record: Comparison) -> Dot:
    value = signed_score(outcome, record.measure)
    failed: Literal["", "diverged", "no score"] = (
        "no score" if math.isnan(value) else "diverged" if math.isinf(value) else ""
    )
    score = None if failed else outcome.measured.score
    return Dot(outcome.trial.arm, outcome.trial.seed, score, failed)


def score_range(record: Comparison, condition: str) -> Range:
    """Return the range of the axis of scores."""
    runs, factor = dots(record, condition), record.score_format.factor
    cells = [cell for cell in record.summaries if cell.condition == condition]
    scores = [dot.score for dot in runs if dot.score is not None]
    numbers = [*scores, *_ends(cell.interval for cell in cells)]
    failed = any(dot.failed for dot in runs)
    return Range.of([factor * y for y in numbers], record.measure.higher, (failed, False))


def difference_range(record: Comparison, condition: str) -> Range:
    """Return the range of the axis of differences, which includes 0."""
    differences = [it for it in record.differences if it.condition == condition]
    each = [value for it in differences for value in it.each if value is not None]
    numbers = [0.0, *each, *_ends(it.interval for it in differences)]
    gained, lost = zip(*(one_sided(record, it) for it in differences), strict=True)
    beyond = (any(lost), any(gained))
    factor = record.score_format.factor
    return Range.of([factor * x for x in numbers], record.measure.higher, beyond)


def _ends(intervals: Iterable[ConfidenceInterval | None]) -> list[float]:
    return [end for it in intervals if it is not None for end in (it.low, it.high)]


def one_sided(record: Comparison, difference: PairedDifference) -> tuple[int, int]:
    """Return the number of seeds at which only the other arm diverged, and only this one."""
    cells = {(cell.condition, cell.arm): cell for cell in record.summaries}
    names = (difference.arm, difference.other)
    this, other = (cells[difference.condition, arm] for arm in names)
    gained = set(other.diverged) - set(this.diverged) - set(this.raised)
    lost = set(this.diverged) - set(other.diverged) - set(other.raised)
    return len(gained), len(lost)


def learning(record: Comparison, condition: str) -> LearningCurves | None:
    """Return learning curves; None if no run has one."""
    cells = {arm: record.of_cell(condition, arm) for arm in record.arms}
    runs = [outcome for cell in cells.values() for outcome in cell]
    points = [point for outcome in runs for point in outcome.measured.curve]
    if not points:
        return None
    known = all(p.validation_loss is not None for p in points)
    of: Loss = "validation loss" if known else "training loss"
    bands = tuple(_band(arm, cell, of) for arm, cell in cells.items())
    return LearningCurves(of, tuple(band for band in bands if band is not None))


def _band(arm: str, cell: Sequence[Outcome], of: Loss) -> LearningCurveBand | None:
    curves = [(outcome, *_points(outcome, of)) for outcome in cell]
    curves = [curve for curve in curves if curve[1].size]
    if not curves:
        return None
    steps = np.unique(np.concatenate([at for _, at, _ in curves]))
    runs = [_along(steps, at, losses, outcome.status) for outcome, at, losses in curves]
    low, middle, high = _quartiles(np.array(runs))
    shown = np.isfinite(low)  # false where too few runs have a finite loss
    ends = [(float(at[-1]), float(losses[-1]))
            for outcome, at, losses in curves if outcome.status == "diverged"]  # fmt: skip
    x, y, y_low, y_high = (tuple(p[shown].tolist()) for p in (steps, middle, low, high))
    return LearningCurveBand(arm, x, y, y_low, y_high, tuple(ends))


def _points(outcome: Outcome, of: Loss) -> tuple[Floats, Floats]:
    curve = outcome.measured.curve
    losses = [p.validation_loss if of == "validation loss" else p.train_loss for p in curve]
    x, y = np.array([p.step for p in curve], float), np.array(losses, float)
    finite = np.isfinite(y)
    return x[finite], y[finite]


def _along(steps: Floats, x: Floats, y: Floats, status: str) -> Floats:
    """Return a run's loss interpolated at all steps: NaN outside, inf after it diverged."""
    after = np.inf if status == "diverged" else np.nan
    return np.interp(steps, x, y, left=np.nan, right=after)


def _quartiles(runs: Floats) -> tuple[Floats, Floats, Floats]:
    """Return quartiles by step, of the runs that have a loss there or have diverged."""
    quartiles = []
    for column in runs.T:
        here = np.sort(column[~np.isnan(column)])
        last = here.size - 1
        at = (math.floor(last / 4), (last // 2, (last + 1) // 2), math.ceil(3 * last / 4))
        quartiles.append((here[at[0]], here[list(at[1])].mean(), here[at[2]]))
    low, middle, high = np.array(quartiles).T
    return low, middle, high
