"""What a comparison looks like, in places and numbers; a figure and the report's page draw it.

Learning curves are medians over the seeds with the middle half as a band. A run that diverged is
above every loss from there on, so that a curve never looks better because runs are missing.
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

from .record import Difference, merit
from .statistics import Interval
from .trial import Outcome

if TYPE_CHECKING:
    from .record import Comparison

Floats = NDArray[np.float64]
Loss = Literal["validation loss", "training loss"]
ROOM = 0.06
"""The share of what numbers span that is left free on each side of them."""


@dataclass(frozen=True)
class Band:
    """The losses of an arm: by step the median, and where the middle half of the seeds lies.

    A number is inf where runs have diverged. `ends` are the last points of those that did.
    """

    arm: str
    steps: tuple[float, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    ends: tuple[tuple[float, float], ...]

    @property
    def end(self) -> tuple[float, float] | None:
        """The last point of the median; None where half of the runs diverged at once."""
        drawn = [at for at in zip(self.steps, self.middle, strict=True) if math.isfinite(at[1])]
        return drawn[-1] if drawn else None


@dataclass(frozen=True)
class Curves:
    """The learning curves of all arms under a condition, and what they are of."""

    of: Loss
    bands: tuple[Band, ...]

    @property
    def log(self) -> bool:
        """Whether a logarithmic axis can show them."""
        return all(y > 0 for band in self.bands for y in (*band.low, *(y for _, y in band.ends)))

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest number that is drawn, (0.1, 1) where there is none."""
        drawn = [
            y
            for band in self.bands
            for y in (*band.middle, *band.low, *band.high, *(y for _, y in band.ends))
            if math.isfinite(y)
        ]
        return (min(drawn), max(drawn)) if drawn else (0.1, 1.0)


@dataclass(frozen=True)
class Range:
    """What an axis shows, in the unit it has: numbers from `low` to `high`, and runs without one.

    Those stand beyond: at `bad` what is worse than any number, at `good` what is better.
    """

    low: float
    high: float
    bad: float
    good: float
    beyond: tuple[bool, bool]
    """Whether anything stands at `bad`, and at `good`."""

    @classmethod
    def of(cls, numbers: Sequence[float], higher: bool, beyond: tuple[bool, bool]) -> Range:
        """Return the range of numbers, with some room around them."""
        low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
        room = ROOM * (high - low) or 0.5
        ends = (low - 3 * room, high + 3 * room)
        return cls(low - room, high + room, *(ends if higher else ends[::-1]), beyond)

    @property
    def edges(self) -> tuple[float, float]:
        """Where the axis begins and ends."""
        shown = [at for at, there in zip((self.bad, self.good), self.beyond, strict=True) if there]
        room = ROOM / (1 + 2 * ROOM) * (self.high - self.low)
        low, high = min([self.low, *shown]), max([self.high, *shown])
        return low - room * (low < self.low), high + room * (high > self.high)


@dataclass(frozen=True)
class Dot:
    """A run: its score, None where it has none, and how it ended."""

    arm: str
    seed: int
    score: float | None
    failed: Literal["", "diverged", "no score"]


def styles(record: Comparison) -> dict[str, Style]:
    """Return how arms are drawn: in their activation's colour, in dashes of their own if shared."""
    first = {one.trial.arm: one.trial.activation for one in reversed(record.outcomes)}
    names = {arm: first[arm].partition(":")[0] for arm in record.arms}
    shared = {name: variants(name, count) for name, count in Counter(names.values()).items()}
    return {arm: shared[names[arm]].pop(0) for arm in record.arms}


def dots(record: Comparison, condition: str) -> list[Dot]:
    """Return every run under a condition."""
    return [_dot(one, record) for arm in record.arms for one in record.of_cell(condition, arm)]


def _dot(one: Outcome, record: Comparison) -> Dot:
    found = merit(one, record.measure)
    failed: Literal["", "diverged", "no score"] = (
        "no score" if math.isnan(found) else "diverged" if math.isinf(found) else ""
    )
    return Dot(one.trial.arm, one.trial.seed, None if failed else one.measured.score, failed)


def score_range(record: Comparison, condition: str) -> Range:
    """Return what the axis of scores shows."""
    found, factor = dots(record, condition), record.numerals.factor
    cells = [one for one in record.summaries if one.condition == condition]
    scores = [dot.score for dot in found if dot.score is not None]
    numbers = [*scores, *_ends(one.interval for one in cells)]
    failed = any(dot.failed for dot in found)
    return Range.of([factor * y for y in numbers], record.measure.higher, (failed, False))


def difference_range(record: Comparison, condition: str) -> Range:
    """Return what the axis of differences shows; 0 is always there."""
    own = [one for one in record.differences if one.condition == condition]
    each = [value for one in own for value in one.each if value is not None]
    numbers = [0.0, *each, *_ends(one.interval for one in own)]
    gained, lost = zip(*(one_sided(record, one) for one in own), strict=True)
    beyond = (any(lost), any(gained))
    factor = record.numerals.factor
    return Range.of([factor * x for x in numbers], record.measure.higher, beyond)


def _ends(found: Iterable[Interval | None]) -> list[float]:
    return [end for one in found if one is not None for end in (one.low, one.high)]


def one_sided(record: Comparison, one: Difference) -> tuple[int, int]:
    """Return at how many seeds only the other arm diverged, and at how many only this one."""
    cells = {(cell.condition, cell.arm): cell for cell in record.summaries}
    own, other = (cells[one.condition, arm] for arm in (one.arm, one.other))
    gained = set(other.diverged) - set(own.diverged) - set(own.raised)
    lost = set(own.diverged) - set(other.diverged) - set(other.raised)
    return len(gained), len(lost)


def learning(record: Comparison, condition: str) -> Curves | None:
    """Return learning curves; None where no run has one."""
    cells = {arm: record.of_cell(condition, arm) for arm in record.arms}
    runs = [one for cell in cells.values() for one in cell]
    points = [point for one in runs for point in one.measured.curve]
    if not points:
        return None
    known = all(p.validation_loss is not None for p in points)
    of: Loss = "validation loss" if known else "training loss"
    bands = tuple(_band(arm, cell, of) for arm, cell in cells.items())
    return Curves(of, tuple(band for band in bands if band is not None))


def _band(arm: str, cell: Sequence[Outcome], of: Loss) -> Band | None:
    curves = [(one, *_points(one, of)) for one in cell]
    curves = [curve for curve in curves if curve[1].size]
    if not curves:
        return None
    steps = np.unique(np.concatenate([at for _, at, _ in curves]))
    runs = [_along(steps, at, losses, one.status) for one, at, losses in curves]
    low, middle, high = _quartiles(np.array(runs))
    shown = np.isfinite(low)  # what is not has no run any more
    ends = [(float(at[-1]), float(losses[-1]))
            for one, at, losses in curves if one.status == "diverged"]  # fmt: skip
    x, y, y_low, y_high = (tuple(p[shown].tolist()) for p in (steps, middle, low, high))
    return Band(arm, x, y, y_low, y_high, tuple(ends))


def _points(one: Outcome, of: Loss) -> tuple[Floats, Floats]:
    curve = one.measured.curve
    losses = [p.validation_loss if of == "validation loss" else p.train_loss for p in curve]
    x, y = np.array([p.step for p in curve], float), np.array(losses, float)
    kept = np.isfinite(y)
    return x[kept], y[kept]


def _along(steps: Floats, x: Floats, y: Floats, status: str) -> Floats:
    """Return a run's loss at all steps: NaN before and after, inf after it diverged."""
    after = np.inf if status == "diverged" else np.nan
    return np.interp(steps, x, y, left=np.nan, right=after)


def _quartiles(runs: Floats) -> tuple[Floats, Floats, Floats]:
    """Return quartiles by step, of the runs that have a number there or have diverged."""
    found = []
    for column in runs.T:
        here = np.sort(column[~np.isnan(column)])
        last = here.size - 1
        at = (math.floor(last / 4), (last // 2, (last + 1) // 2), math.ceil(3 * last / 4))
        found.append((here[at[0]], here[list(at[1])].mean(), here[at[2]]))
    low, middle, high = np.array(found).T
    return low, middle, high
