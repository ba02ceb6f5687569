"""Two arms under one condition: how far apart they are, seed by seed, and the verdict on that.

All tests of a run are corrected together, for whoever makes twenty comparisons finds one that
stands at 0.05 where nothing differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from .outcome import Outcome
from .statistics import Interval, holm, improvement, interval, judge
from .trainable import Measure

Verdict = Literal["better", "worse", "no detectable difference", "not compared"]
Pairs = Literal["baseline", "all"]
Results = Mapping[tuple[str, str], Sequence[Outcome]]
"""Reported outcomes by condition and arm, in the order of the seeds."""


@dataclass(frozen=True)
class Difference:
    """An arm against another one, `other`, at the same seeds.

    Attributes
    ----------
    each : tuple of float or None
        The arm's score minus the other's, by seed; None where one of them has none.
    mean, interval : float, Interval
        Of those that are numbers, and so of the seeds at which both finished; None where there is
        none, and no interval where there are too few.
    won, tied, lost, unknown : int
        Seeds at which the arm did better, the same, worse; a run that diverged is worse than any
        other, and one that raised says nothing.
    improvement : float or None
        The share of pairs of runs, of any seeds, in which the arm did better; ties count half.
    p, corrected : float or None
        Of the sign-flip test, before and after Holm's correction over all comparisons of the run.
    exact : bool
        Whether all sign flips were counted, or some drawn.
    by : {"values", "ranks"}
        What the test sums: ranks where a run has no score.
    verdict : str
        From the corrected p alone.
    """

    condition: str
    arm: str
    other: str
    each: tuple[float | None, ...]
    mean: float | None
    interval: Interval | None
    won: int
    tied: int
    lost: int
    unknown: int
    improvement: float | None
    p: float | None
    corrected: float | None
    exact: bool
    by: Literal["values", "ranks"]
    direction: int
    verdict: Verdict


def merit(outcome: Outcome, measure: Measure) -> float:
    """Return a score, more being better: -inf where it diverged, NaN where it is not known."""
    score = None if outcome.measured.score is None else float(outcome.measured.score)
    if outcome.status == "diverged" or (score is not None and not math.isfinite(score)):
        return -math.inf
    if outcome.status == "raised" or score is None:
        return math.nan
    return score if measure.higher else -score


def differences(
    results: Results,
    conditions: Sequence[str],
    arms: Sequence[str],
    baseline: str,
    measure: Measure,
    *,
    pairs: Pairs,
    alpha: float,
) -> tuple[Difference, ...]:
    """Return all comparisons of a run, corrected together."""
    if pairs == "all":
        chosen = [(arm, other) for other, arm in combinations(arms, 2)]
    else:
        chosen = [(arm, baseline) for arm in arms if arm != baseline]
    found = [
        _difference(condition, arm, other, results, measure, 1 - alpha)
        for condition in conditions
        for arm, other in chosen
    ]
    corrected, stands = holm([1.0 if one.p is None else one.p for one in found], alpha)
    return tuple(
        one if one.p is None else replace(one, corrected=p, verdict=_verdict(one, stood))
        for one, p, stood in zip(found, corrected, stands, strict=True)
    )


def _verdict(one: Difference, stands: bool) -> Verdict:
    if not stands:
        return "no detectable difference"
    return "better" if one.direction > 0 else "worse"


def _difference(
    condition: str, arm: str, other: str, results: Results, measure: Measure, level: float
) -> Difference:
    own, others = ([merit(o, measure) for o in results[condition, a]] for a in (arm, other))
    gains = [_gain(a, b) for a, b in zip(own, others, strict=True)]
    sign = 1 if measure.higher else -1
    # Not sign * gain, for 0 is no -0.
    each = [a - b if sign > 0 else b - a for a, b in zip(own, others, strict=True)]
    kept = [one for one in each if math.isfinite(one)]
    test = judge(gains)
    return Difference(
        condition=condition,
        arm=arm,
        other=other,
        each=tuple(one if math.isfinite(one) else None for one in each),
        mean=math.fsum(kept) / len(kept) if kept else None,
        interval=interval(kept, level),
        won=sum(gain > 0 for gain in gains),
        tied=sum(gain == 0 for gain in gains),
        lost=sum(gain < 0 for gain in gains),
        unknown=sum(math.isnan(gain) for gain in gains),
        improvement=improvement(*([m for m in one if not math.isnan(m)] for one in (own, others))),
        p=None if test is None else test.p,
        corrected=None,
        exact=test is None or test.exact,
        by="values" if test is None else test.by,
        direction=0 if test is None else test.direction,
        verdict="not compared",
    )


def _gain(arm: float, other: float) -> float:
    """Return what an arm gained at a seed; two that diverged are equal."""
    return 0.0 if arm == other else arm - other
