"""The result of a comparison: outcomes, summaries, paired differences with verdicts.

All tests of a run are corrected together: of twenty tests at the level 0.05 one is expected to be
significant by chance.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, Literal

from softgate.records.files import PICTURES, TABLES
from softgate.records.record import Cell, Grid, Record

from .plan import ChosenRate
from .statistics import (
    ConfidenceInterval,
    MinimumPValue,
    attainable_p,
    check_alpha,
    holm,
    improvement,
    interval,
    sign_flip_test,
)
from .text import ScoreFormat, difference_grid, rate_grid, sentences, summary_grid
from .trial import Measure, Outcome, Setting, TrialEnvironment

if TYPE_CHECKING:
    from softgate.plotting.vega import Chart

WIDTH = 96
"""Maximum number of characters in a line of text."""

Verdict = Literal["better", "worse", "no detectable difference", "not compared"]
Pairs = Literal["baseline", "all"]
Results = Mapping[tuple[str, str], Sequence[Outcome]]
"""Reported outcomes by condition and arm, ordered by seed."""


@dataclass(frozen=True)
class PairedDifference:
    """Paired difference of an activation, `arm`, to another one, `other`, over the same seeds.

    Attributes
    ----------
    each : tuple of float or None
        Score of `arm` minus score of `other`, by seed; None if either has no score.
    mean, interval : float, ConfidenceInterval
        Over the seeds at which both have a score; None if there are none or, for the interval, too
        few.
    won, tied, lost, unknown : int
        Number of seeds at which `arm` is better, equal, worse; a diverged run is worse than any
        other, and a seed at which either raised is unknown.
    improvement : float or None
        Fraction of pairs of runs, over all seeds, in which `arm` is better; ties count half.
    p, corrected : float or None
        p-value of the sign-flip test, before and after Holm's correction over all comparisons.
    exact : bool
        Whether all sign flips were enumerated; if not, they were sampled.
    by : {"values", "ranks"}
        The test statistic: ranks if a run has no score.
    verdict : str
        Determined by the corrected p-value alone.
    """

    condition: str
    arm: str
    other: str
    each: tuple[float | None, ...]
    mean: float | None
    interval: ConfidenceInterval | None
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


def signed_score(outcome: Outcome, measure: Measure) -> float:
    """Return the score with a sign such that higher is better: -inf if diverged, NaN if unknown."""
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
) -> tuple[PairedDifference, ...]:
    """Return all comparisons of a run, corrected together."""
    if pairs == "all":
        compared = [(arm, other) for other, arm in combinations(arms, 2)]
    else:
        compared = [(arm, baseline) for arm in arms if arm != baseline]
    uncorrected = [
        _difference(condition, arm, other, results, measure, 1 - alpha)
        for condition in conditions
        for arm, other in compared
    ]
    corrected, significant = holm([1.0 if d.p is None else d.p for d in uncorrected], alpha)
    for i, difference in enumerate(uncorrected):
        if difference.p is not None:
            verdict: Verdict = "better" if difference.direction > 0 else "worse"
            verdict = verdict if significant[i] else "no detectable difference"
            uncorrected[i] = replace(difference, corrected=corrected[i], verdict=verdict)
    return tuple(uncorrected)


def _difference(
    condition: str, arm: str, other: str, results: Results, measure: Measure, level: float
) -> PairedDifference:
    scores, others = (
        [signed_score(o, measure) for o in results[condition, a]] for a in (arm, other)
    )
    pairs = list(zip(scores, others, strict=True))
    gains = [0.0 if a == b else a - b for a, b in pairs]  # two diverged runs are equal
    # Not the negated gain: that would be -0 for a tie.
    each = [a - b if measure.higher else b - a for a, b in pairs]
    finite = [value for value in each if math.isfinite(value)]
    test = sign_flip_test(gains)
    known = ([score for score in side if not math.isnan(score)] for side in (scores, others))
    return PairedDifference(
        condition=condition,
        arm=arm,
        other=other,
        each=tuple(value if math.isfinite(value) else None for value in each),
        mean=math.fsum(finite) / len(finite) if finite else None,
        interval=interval(finite, level),
        won=sum(gain > 0 for gain in gains),
        tied=sum(gain == 0 for gain in gains),
        lost=sum(gain < 0 for gain in gains),
        unknown=sum(math.isnan(gain) for gain in gains),
        improvement=improvement(*known),
        p=None if test is None else test.p,
        corrected=None,
        exact=test is None or test.exact,
        by="values" if test is None else test.by,
        direction=0 if test is None else test.direction,
        verdict="not compared",
    )


@dataclass(frozen=True)
class Summary:
    """Scores and costs of an activation under one condition.

    Attributes
    ----------
    lr : float
        Learning rate of the reported runs.
    mean, interval, sd : float, ConfidenceInterval, float
        Over the finished runs.
    median : float or None
        Over all runs, a run without a score ranking worst; None if that run is the median.
    diverged, raised : tuple of int
        Seeds at which it diverged (or the score is not finite) or raised (or returned no score).
    dead, gradient_ratio : float or None
        Medians over the finished runs: fraction of dead units, and gradient norm at the first
        activation divided by that at the last.
    step_ms, step_ratio : float or None
        Median time of an update, and the median over seeds of its ratio to the baseline's.
    seconds : float
        Total time of all runs.
    parameters, flops : int, float or None
        Of the model.
    """

    condition: str
    arm: str
    lr: float
    runs: int
    mean: float | None
    interval: ConfidenceInterval | None
    sd: float | None
    median: float | None
    diverged: tuple[int, ...]
    raised: tuple[int, ...]
    dead: float | None
    gradient_ratio: float | None
    step_ms: float | None
    step_ratio: float | None
    seconds: float
    parameters: int | None
    flops: float | None

    @property
    def finished(self) -> int:
        """Number of runs with a score."""
        return self.runs - len(self.diverged) - len(self.raised)


def summarise(
    outcomes: Sequence[Outcome], baseline: Sequence[Outcome], measure: Measure, level: float
) -> Summary:
    """Return the summary of an activation's reported runs, given in the baseline's seed order."""
    signed = [(outcome, signed_score(outcome, measure)) for outcome in outcomes]
    finished = [outcome for outcome, score in signed if math.isfinite(score)]
    scores = [float(outcome.measured.score or 0.0) for outcome in finished]
    trial = outcomes[0].trial
    ratios = [
        a.step_ms / b.step_ms
        for a, b in zip(outcomes, baseline, strict=True)
        if a.step_ms and b.step_ms
    ]
    middle = statistics.median(-math.inf if math.isnan(score) else score for _, score in signed)
    return Summary(
        condition=trial.condition,
        arm=trial.arm,
        lr=trial.lr,
        runs=len(outcomes),
        mean=math.fsum(scores) / len(scores) if scores else None,
        interval=interval(scores, level),
        sd=statistics.stdev(scores) if len(scores) > 1 else None,
        median=None if not math.isfinite(middle) else middle if measure.higher else -middle,
        diverged=tuple(outcome.trial.seed for outcome, score in signed if math.isinf(score)),
        raised=tuple(outcome.trial.seed for outcome, score in signed if math.isnan(score)),
        dead=_median(outcome.measured.dead for outcome in finished),
        gradient_ratio=_median(outcome.measured.gradient_ratio for outcome in finished),
        step_ms=_median(outcome.step_ms for outcome in outcomes),
        step_ratio=_median(ratios),
        seconds=math.fsum(outcome.seconds for outcome in outcomes),
        parameters=next((p for outcome in outcomes if (p := outcome.measured.parameters)), None),
        flops=next((f for o in outcomes if (f := o.measured.flops) is not None), None),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return statistics.median(known) if known else None


@dataclass(frozen=True)
class Comparison(Record):
    """Results of training with several activations at the same seeds.

    Attributes
    ----------
    task, about : str
        Name of the task, and one line on data, model and training.
    measure : Measure
        Name and direction of the score.
    arms, conditions : tuple of str
        Labels of the compared activations and of the conditions.
    baseline, pairs : str
        The activation that others are compared with; "baseline", or "all" for all pairs.
    alpha : float
        Significance level of the verdicts.
    seeds : tuple of int
        Reported seeds; none of them was used for tuning.
    settings : mapping
        Settings shared by all trials.
    choices : tuple of ChosenRate
        How learning rates were chosen; empty if they were given.
    outcomes : tuple of Outcome
        Every reported trial.
    summaries : tuple of Summary
        One for each activation under each condition.
    differences : tuple of PairedDifference
        The comparisons with their verdicts.
    notes : tuple of str
        Further sentences on the task and the run.
    """

    schema: ClassVar[str] = "softgate.comparison"
    formats: ClassVar[tuple[str, ...]] = (*TABLES, *PICTURES)

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
    choices: tuple[ChosenRate, ...]
    outcomes: tuple[Outcome, ...]
    summaries: tuple[Summary, ...]
    differences: tuple[PairedDifference, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(
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
        """Return the comparison of outcomes.

        Parameters
        ----------
        outcomes : iterable of Outcome
            Tuning and reported trials, in any order.
        measure : Measure
            Name and direction of the score.
        arms, conditions : sequence of str, optional
            Order in tables; by default the order of appearance.
        baseline : str, optional
            The activation that others are compared with; by default the first.
        pairs : {"baseline", "all"}
            Whether to compare with the baseline alone, or all pairs.
        alpha : float
            Significance level, after correction for all comparisons.
        about : str
            One line on data and model.
        notes : sequence of str
            Further sentences to print with the result.

        Raises
        ------
        ValueError
            If an activation has no reported outcome at a seed under a condition, or has two.
        """
        trials = list(outcomes)
        reported = [outcome for outcome in trials if outcome.trial.role == "reported"]
        if not reported:
            raise ValueError("no reported outcomes: expected one per activation and seed")
        arms = tuple(arms or dict.fromkeys(outcome.trial.arm for outcome in reported))
        conditions = tuple(conditions or dict.fromkeys(o.trial.condition for o in reported))
        baseline = baseline or arms[0]
        check_alpha(alpha)
        check_pairs(pairs)
        if baseline not in arms:
            raise ValueError(f"baseline {baseline!r}: expected one of {', '.join(arms)}")
        seeds = tuple(sorted({outcome.trial.seed for outcome in reported}))
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
            settings=_shared_settings(reported),
            choices=_choices(trials, conditions, arms, measure),
            outcomes=tuple(outcome for cell in results.values() for outcome in cell),
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
        """The result in sentences."""
        return sentences(self)

    @property
    def attainable_p(self) -> MinimumPValue | None:
        """The least p-value possible with this number of seeds; None if nothing is compared."""
        if not self.differences:
            return None
        return attainable_p(len(self.seeds), len(self.differences), self.alpha)

    @property
    def environments(self) -> tuple[TrialEnvironment, ...]:
        """The machines that trials ran on."""
        return tuple(dict.fromkeys(outcome.environment for outcome in self.outcomes))

    @cached_property
    def score_format(self) -> ScoreFormat:
        """Number format of scores."""
        intervals = [d.interval for d in self.differences if d.interval is not None]
        half_widths = [(interval.high - interval.low) / 2 for interval in intervals]
        return ScoreFormat.of(self.measure, half_widths, [row.sd for row in self.summaries])

    @property
    def level(self) -> str:
        """Name of the intervals, such as "95 % interval"."""
        return f"{100 * (1 - self.alpha):g} % interval"

    def of_cell(self, condition: str, arm: str) -> list[Outcome]:
        """Return the reported outcomes of an activation under a condition, ordered by seed."""
        cell = (condition, arm)
        return [o for o in self.outcomes if (o.trial.condition, o.trial.arm) == cell]

    def grids(self) -> tuple[Grid, ...]:
        """Return scores, differences with verdicts, learning rates, and the result in sentences."""
        lines = tuple(
            ("\n".join(wrap(line, WIDTH, initial_indent="- ", subsequent_indent="  ")),)
            for line in self.summary
        )
        grids = [summary_grid(self)]
        if self.differences:
            grids.append(difference_grid(self))
        if self.choices:
            grids.append(rate_grid(self))
        return (*grids, Grid("", ("summary",), lines, text=True))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return a row for each trial; a tuning trial has only its validation figure."""
        header, _ = self.outcomes[0].table()
        rows = [row for outcome in self.outcomes for row in outcome.table()[1]]
        for choice in self.choices:
            for trial in choice.trials:
                cells: dict[str, Cell] = {
                    "task": self.task, "condition": choice.condition, "arm": choice.arm,
                    "seed": trial.seed, "role": "tuning", "lr": trial.lr, "status": trial.status,
                    choice.by.replace(" ", "_"): trial.value,
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

    def _repr_html_(self) -> str:
        try:
            svg = self.figure().svg()
        except ImportError:
            svg = ""  # the tables have the same numbers
        return svg + super()._repr_html_()


def check_pairs(pairs: str) -> None:
    """Raise ValueError unless `pairs` is "baseline" or "all"."""
    if pairs not in ("baseline", "all"):
        raise ValueError(f"pairs = {pairs!r}: expected 'baseline' or 'all'")


def _results(
    reported: list[Outcome],
    conditions: tuple[str, ...],
    arms: tuple[str, ...],
    seeds: tuple[int, ...],
) -> Results:
    """Return outcomes by condition and arm, ordered by seed; raise unless each exists once."""
    cells = [(o.trial.condition, o.trial.arm, o.trial.seed) for o in reported]
    expected = [(c, a, s) for c in conditions for a in arms for s in seeds]
    counts = Counter(cells)
    for cell in dict.fromkeys([*expected, *cells]):
        if counts[cell] != 1 or cell not in expected:
            condition, arm, seed = cell
            raise ValueError(
                f"{arm} at seed {seed}{f' with {condition}' if condition else ''} has "
                f"{counts[cell]} reported outcomes: expected one for each activation, condition "
                "and seed, and no others"
            )
    by_cell = dict(zip(cells, reported, strict=True))
    return {(c, a): [by_cell[c, a, s] for s in seeds] for c in conditions for a in arms}


def _shared_settings(reported: list[Outcome]) -> dict[str, Setting]:
    first, *others = (outcome.trial.settings for outcome in reported)
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def _choices(
    outcomes: list[Outcome], conditions: tuple[str, ...], arms: tuple[str, ...], measure: Measure
) -> tuple[ChosenRate, ...]:
    cells: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.trial.role == "tuning":
            cells.setdefault((outcome.trial.condition, outcome.trial.arm), []).append(outcome)
    return tuple(
        ChosenRate.of(arm, condition, cells[condition, arm], measure)
        for condition in conditions
        for arm in arms
        if (condition, arm) in cells
    )
