"""A comparison: all that was trained, and what follows from it."""

from __future__ import annotations

import math
import os
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, Literal

from softgate.runtime.records import Cell, Grid, Record

from .plan import Choice
from .statistics import (
    BestPossible,
    Interval,
    best_possible,
    check_alpha,
    holm,
    improvement,
    interval,
    judge,
)
from .text import Numerals, difference_grid, rate_grid, sentences, summary_grid
from .trial import Measure, Outcome, Place, Setting

if TYPE_CHECKING:
    from softgate.plotting.vega import Chart

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


WIDTH = 96
"""Characters that a line of text has at most."""


@dataclass(frozen=True)
class Comparison(Record):
    """What arms did at the same seeds, and whether they differ.

    Attributes
    ----------
    task, about : str
        What was trained, in a word and in a line.
    measure : Measure
        What a score is.
    arms, conditions : tuple of str
        What is compared, and under which circumstances.
    baseline, pairs : str
        What arms are compared with: "baseline", or each with each: "all".
    alpha : float
        The level of the verdicts.
    seeds : tuple of int
        That all arms were trained with, and that nothing was chosen by.
    settings : mapping
        What all trials had in common.
    choices : tuple of Choice
        How learning rates were chosen; empty where they were given.
    outcomes : tuple of Outcome
        Every reported trial.
    summaries : tuple of Summary
        One for each arm under each condition.
    differences : tuple of Difference
        The comparisons with their verdicts.
    notes : tuple of str
        What whoever planned it wants said.
    """

    schema: ClassVar[str] = "softgate.comparison"

    task: str
    about: str
    measure: Measure
    arms: tuple[str, ...]
    conditions: tuple[str, ...]
    baseline: str
    pairs: Pairs
    alpha: float
    seeds: tuple[int, ...]
    settings: Mapping[str, Setting]
    choices: tuple[Choice, ...]
    outcomes: tuple[Outcome, ...]
    summaries: tuple[Summary, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(  # noqa: PLR0913  (settings of one study, by keyword)
        cls,
        outcomes: Iterable[Outcome],
        *,
        measure: Measure,
        arms: Sequence[str] | None = None,
        conditions: Sequence[str] | None = None,
        baseline: str | None = None,
        pairs: Pairs = "baseline",
        alpha: float = 0.05,
        about: str = "",
        notes: Sequence[str] = (),
    ) -> Comparison:
        """Return what follows from outcomes.

        Parameters
        ----------
        outcomes : iterable of Outcome
            Tuning and reported trials, in any order.
        measure : Measure
            What a score is.
        arms, conditions : sequence of str, optional
            The order they are shown in; by default that in which they appear.
        baseline : str, optional
            The arm that others are compared with; by default the first.
        pairs : {"baseline", "all"}
            Whether arms are compared with the baseline alone, or each with each.
        alpha : float
            The level of the verdicts, after correction for all comparisons.
        about : str
            A line on data and model.
        notes : sequence of str
            What else should be said with the result.

        Raises
        ------
        ValueError
            If an arm lacks a reported outcome at a seed under a condition, or has two.
        """
        given = list(outcomes)
        reported = [one for one in given if one.trial.role == "reported"]
        if not reported:
            raise ValueError("there are no reported outcomes: expected one per arm and seed")
        arms = tuple(arms or dict.fromkeys(one.trial.arm for one in reported))
        conditions = tuple(conditions or dict.fromkeys(one.trial.condition for one in reported))
        baseline = baseline or arms[0]
        _check(arms, baseline, pairs, alpha)
        seeds = tuple(sorted({one.trial.seed for one in reported}))
        results = _results(reported, conditions, arms, seeds)
        return cls(
            task=reported[0].trial.task,
            about=about,
            measure=measure,
            arms=arms,
            conditions=conditions,
            baseline=baseline,
            pairs=pairs,
            alpha=alpha,
            seeds=seeds,
            settings=_common(reported),
            choices=_choices(given, conditions, arms, measure),
            outcomes=tuple(one for cell in results.values() for one in cell),
            summaries=tuple(
                summarise(cell, results[condition, baseline], measure, 1 - alpha)
                for (condition, _), cell in results.items()
            ),
            differences=differences(
                results, conditions, arms, baseline, measure, pairs=pairs, alpha=alpha
            ),
            notes=tuple(notes),
        )

    @property
    def summary(self) -> list[str]:
        """What this shows, in sentences."""
        return sentences(self)

    @property
    def best(self) -> BestPossible | None:
        """What so many seeds can show at best; None where nothing is compared."""
        if not self.differences:
            return None
        return best_possible(len(self.seeds), len(self.differences), self.alpha)

    @property
    def places(self) -> tuple[Place, ...]:
        """The machines that trials ran on."""
        return tuple(dict.fromkeys(one.place for one in self.outcomes))

    @cached_property
    def numerals(self) -> Numerals:
        """How scores are written."""
        found = [one.interval for one in self.differences if one.interval is not None]
        reach = [(one.high - one.low) / 2 for one in found]
        return Numerals.of(self.measure, reach, [one.sd for one in self.summaries])

    @property
    def level(self) -> str:
        """What intervals hold, in words."""
        return f"{100 * (1 - self.alpha):g} % interval"

    def of_cell(self, condition: str, arm: str) -> list[Outcome]:
        """Return the reported outcomes of an arm under a condition, in the order of the seeds."""
        cell = (condition, arm)
        return [one for one in self.outcomes if (one.trial.condition, one.trial.arm) == cell]

    def grids(self) -> tuple[Grid, ...]:
        """Return scores, differences with verdicts, how rates were chosen, and all in words."""
        lines = tuple(
            ("\n".join(wrap(line, WIDTH, initial_indent="- ", subsequent_indent="  ")),)
            for line in self.summary
        )
        found = [summary_grid(self)]
        if self.differences:
            found.append(difference_grid(self))
        if self.choices:
            found.append(rate_grid(self))
        return (*found, Grid("", ("what this shows",), lines, text=True))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each trial; of tuning trials only what they were judged by."""
        header, _ = self.outcomes[0].table()
        rows = [row for one in self.outcomes for row in one.table()[1]]
        for choice in self.choices:
            by = choice.by.replace(" ", "_")
            for one in choice.trials:
                cells: dict[str, Cell] = {
                    "task": self.task, "condition": choice.condition, "arm": choice.arm,
                    "seed": one.seed, "role": "tuning", "lr": one.lr, "status": one.status,
                    by: one.value,
                }  # fmt: skip
                rows.append(tuple(cells.get(name) for name in header))
        return header, rows

    def figure(self, width: float = 11.0) -> Chart:
        """Return the chart of learning curves, scores and differences.

        Parameters
        ----------
        width : float
            In inches; everything in the chart is scaled with it.

        Returns
        -------
        softgate.plotting.vega.Chart
            Has the Vega-Lite specification as `spec`, and `save`. Notebooks show it.
        """
        from .plots import comparison_chart

        return comparison_chart(self, width)

    def save(self, file: str | os.PathLike[str], width: float = 11.0) -> None:
        """Write the chart to an .svg, .png or .pdf file, `width` inches wide.

        Needs vl-convert-python: pip install 'softgate[plot]'.
        """
        self.figure(width).save(file)

    def _repr_html_(self) -> str:
        try:
            svg = self.figure().svg()
        except ImportError:
            svg = ""  # the tables have the same numbers
        return svg + super()._repr_html_()


def _check(arms: tuple[str, ...], baseline: str, pairs: str, alpha: float) -> None:
    check_alpha(alpha)
    if baseline not in arms:
        raise ValueError(f"the baseline {baseline!r} is no arm: expected one of {', '.join(arms)}")
    if pairs not in ("baseline", "all"):
        raise ValueError(f"pairs = {pairs!r}: expected 'baseline' or 'all'")


def _results(
    reported: list[Outcome],
    conditions: tuple[str, ...],
    arms: tuple[str, ...],
    seeds: tuple[int, ...],
) -> Results:
    """Return outcomes by condition and arm, in the order of the seeds: each there, and once."""
    cells = [(one.trial.condition, one.trial.arm, one.trial.seed) for one in reported]
    wanted = [(c, a, s) for c in conditions for a in arms for s in seeds]
    found = Counter(cells)
    for cell in dict.fromkeys([*wanted, *cells]):
        if found[cell] != 1 or cell not in wanted:
            condition, arm, seed = cell
            where = f"{arm} at seed {seed}{f' with {condition}' if condition else ''}"
            expected = "one for each arm, condition and seed, and no others"
            raise ValueError(f"{where} has {found[cell]} reported outcomes: expected {expected}")
    by_cell = dict(zip(cells, reported, strict=True))
    return {(c, a): [by_cell[c, a, s] for s in seeds] for c in conditions for a in arms}


def _common(reported: list[Outcome]) -> dict[str, Setting]:
    first, *others = (one.trial.settings for one in reported)
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def _choices(
    given: list[Outcome], conditions: tuple[str, ...], arms: tuple[str, ...], measure: Measure
) -> tuple[Choice, ...]:
    tuning = [one for one in given if one.trial.role == "tuning"]
    cells: dict[tuple[str, str], list[Outcome]] = {}
    for one in tuning:
        cells.setdefault((one.trial.condition, one.trial.arm), []).append(one)
    return tuple(
        Choice.of(arm, condition, cells[condition, arm], measure)
        for condition in conditions
        for arm in arms
        if (condition, arm) in cells
    )
