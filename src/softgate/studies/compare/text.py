"""Tables and sentences of a comparison.

"No detectable difference" is not "no difference", so it is printed with the size of a difference
that the runs do not rule out. Limits of a result are printed beside it: too few seeds, runs without
a score, a learning rate at the end of the tuned range.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from softgate.records.record import Grid

from .. import counted
from .statistics import ConfidenceInterval
from .trial import Measure

if TYPE_CHECKING:
    from .plan import ChosenRate, RateResult
    from .record import Comparison, PairedDifference, Summary

MAX_DECIMALS = 6
NONE = "-"
MIN_AGREEING_SEEDS = 3
"""With fewer seeds, it is not printed that all of them agree."""
MAX_LISTED_SEEDS = 6
"""Up to this number, failed seeds are listed."""

T = TypeVar("T")
Column = tuple[str, Callable[[T], str]]


@dataclass(frozen=True)
class ScoreFormat:
    """Number format of a measure: percent for fractions, as many decimals as the spread allows."""

    measure: Measure
    decimals: int

    @classmethod
    def of(cls, measure: Measure, *spreads: Iterable[float | None]) -> ScoreFormat:
        """Return a format with two digits of the smallest of the spreads' medians.

        Examples
        --------
        >>> ScoreFormat.of(Measure("test accuracy", True, percent=True), [0.0043]).score(0.97128)
        '97.13'
        """
        factor = 100 if measure.percent else 1
        kinds = [[factor * s for s in kind if s is not None and s > 0] for kind in spreads]
        typical = [statistics.median(kind) for kind in kinds if kind]
        if not typical:
            return cls(measure, 2 if measure.percent else 4)
        decimals = 1 - math.floor(math.log10(min(typical)))
        return cls(measure, min(max(decimals, 0), MAX_DECIMALS))

    @property
    def factor(self) -> int:
        """100 for a score in percent, else 1."""
        return 100 if self.measure.percent else 1

    @property
    def name(self) -> str:
        """Name of the score, with its unit."""
        return f"{self.measure.name} in %" if self.measure.percent else self.measure.name

    def score(self, value: float | None) -> str:
        """Return a score, or a spread of scores, as text."""
        return NONE if value is None else f"{self.factor * value:.{self.decimals}f}"

    def difference(self, value: float | None) -> str:
        """Return a difference with its sign; 0 has none."""
        if value is None:
            return NONE
        text = f"{self.factor * value:+.{self.decimals}f}"
        return text[1:] if float(text) == 0 else text

    def size(self, value: float) -> str:
        """Return the absolute value of a difference with its unit."""
        text = f"{self.factor * abs(value):.{self.decimals}f}"
        return f"{text} points" if self.measure.percent else text

    def between(self, interval: ConfidenceInterval | None, *, signed: bool = False) -> str:
        """Return an interval as text."""
        if interval is None:
            return NONE
        write = self.difference if signed else self.score
        return f"{write(interval.low)} to {write(interval.high)}"


def probability(p: float | None) -> str:
    """Return a p-value as text.

    Examples
    --------
    >>> probability(0.0078125), probability(1.0), probability(1.9e-6)
    ('0.00781', '1', '1.9e-06')
    """
    return NONE if p is None else f"{p:.3g}"


def listed(names: Iterable[str], last_by: str = "and") -> str:
    """Return names as a list in a sentence: with commas, and a word before the last.

    Examples
    --------
    >>> listed(["relu"]), listed(["relu", "elu", "silu"])
    ('relu', 'relu, elu and silu')
    """
    *first, last = names
    return f"{', '.join(first)} {last_by} {last}" if first else last


def summary_grid(record: Comparison) -> Grid:
    """Return the table of scores and costs: a row for each activation under each condition."""
    scores, rows = record.score_format, record.summaries
    columns: list[Column[Summary]] = [
        ("activation", lambda row: row.arm),
        ("mean", lambda row: scores.score(row.mean)),
        _interval_column(record, [row.interval for row in rows], lambda row: row.interval),
        ("sd", lambda row: scores.score(row.sd)),
        ("median", lambda row: scores.score(row.median)),
    ]
    if any(row.finished < row.runs for row in rows):
        columns.append(("finished", lambda row: f"{row.finished} of {row.runs}"))
    columns += _cost_columns(rows)
    side = "more" if record.measure.higher else "less"
    seeds = counted(len(record.seeds), "seed")
    title = f"{record.task}: {scores.name} ({side} is better), {seeds}\n{record.about}"
    return _grid(record, title.rstrip(), columns, rows)


def _cost_columns(rows: Sequence[Summary]) -> list[Column[Summary]]:
    """Return the columns on training and cost; those without any value are left out."""
    columns: list[Column[Summary]] = [
        ("lr", lambda row: f"{row.lr:g}" if row.lr else NONE),
        ("dead", lambda row: NONE if row.dead is None else f"{100 * row.dead:.3g} %"),
        ("gradient\nfirst/last", lambda row: _short(row.gradient_ratio)),
        ("ms per\nstep", lambda row: _short(row.step_ms)),
        ("× of\nbaseline", lambda row: NONE if row.step_ratio is None else f"{row.step_ratio:.2f}"),
        ("parameters", lambda row: NONE if row.parameters is None else f"{row.parameters:,}"),
    ]
    if len({row.flops for row in rows}) > 1:
        columns.append(("FLOPs", lambda row: _short(row.flops)))
    return [(head, cell) for head, cell in columns if any(cell(row) != NONE for row in rows)]


def difference_grid(record: Comparison) -> Grid:
    """Return the table of differences: a row for each comparison, with its verdict."""
    scores, rows = record.score_format, record.differences
    all_pairs, several = record.pairs == "all", len(rows) > 1
    columns: list[Column[PairedDifference]] = [
        ("activation", lambda row: f"{row.arm} - {row.other}" if all_pairs else row.arm),
        ("verdict", lambda row: row.verdict),  # first: a narrow window cuts columns off
        ("difference", lambda row: scores.difference(row.mean)),
        _interval_column(record, [r.interval for r in rows], lambda r: r.interval, signed=True),
        ("seeds won", _seeds_won),
        ("P(better)", lambda row: NONE if row.improvement is None else f"{row.improvement:.2f}"),
        ("p", lambda row: probability(row.p)),
    ]
    if several:
        columns.append(("corrected p", lambda row: probability(row.corrected)))
    exact = all(row.exact for row in rows)
    test = "exact sign-flip test" if exact else "sign-flip test, flips sampled"
    title = (
        f"{'Differences of all pairs' if all_pairs else f'Difference from {record.baseline}'}"
        f"{' in points' if record.measure.percent else ''}, paired by seed\n"
        f"p: {test}{', corrected by Holm' if several else ''}; a verdict needs "
        f"{'corrected p' if several else 'p'} <= {record.alpha:g}\n"
        "P(better): fraction of all pairs of runs in which the activation is better"
    )
    return _grid(record, title, columns, rows)


def _seeds_won(row: PairedDifference) -> str:
    ties = f", {row.tied} tied" if row.tied else ""
    unknown = f", {row.unknown} unknown" if row.unknown else ""
    return f"{row.won} of {len(row.each)}{ties}{unknown}"


def rate_grid(record: Comparison) -> Grid:
    """Return the table of tuning results by learning rate; the chosen one is marked."""
    rates = sorted({rate.lr for choice in record.choices for rate in choice.rates})
    first = record.choices[0]
    rows = []
    for choice in record.choices:
        by_lr = {rate.lr: rate for rate in choice.rates}
        cells = [_rate_cell(by_lr.get(lr), lr == choice.lr, record, choice.by) for lr in rates]
        rows.append((choice.condition, choice.arm, *cells))
    shown = slice(None) if record.conditions != ("",) else slice(1, None)
    header = ("condition", "activation", *(f"lr {lr:g}" for lr in rates))[shown]
    unit = " in %" if record.measure.percent and first.by == "validation score" else ""
    title = (
        f"Learning rates: mean {first.by}{unit} over {counted(len(first.seeds), 'tuning seed')}, "
        "none of them reported; * chosen"
    )
    return Grid(title, header, tuple(row[shown] for row in rows), labels=len(header) - len(rates))


def _rate_cell(rate: RateResult | None, chosen: bool, record: Comparison, by: str) -> str:
    if rate is None:
        return NONE
    if rate.mean is None:
        text = "failed"
    else:
        text = record.score_format.score(rate.mean) if by.endswith("score") else f"{rate.mean:.4g}"
        text += f" ({rate.failed} of {rate.seeds} failed)" if rate.failed else ""
    return f"{text} *" if chosen else f"{text}  "


def _interval_column(
    record: Comparison,
    intervals: Iterable[ConfidenceInterval | None],
    take: Callable[[T], ConfidenceInterval | None],
    *,
    signed: bool = False,
) -> Column[T]:
    """Return the column of intervals, with their kind in the head, or in each cell if mixed."""
    kinds = {interval.kind for interval in intervals if interval is not None}

    def cell(row: T) -> str:
        interval = take(row)
        text = record.score_format.between(interval, signed=signed)
        return text if interval is None or len(kinds) == 1 else f"{text} {interval.kind}"

    label = f" ({min(kinds)})" if len(kinds) == 1 else ""
    return f"{record.level}{label}", cell


def _grid(record: Comparison, title: str, columns: Sequence[Column[T]], rows: Sequence[T]) -> Grid:
    """Return a table; if there are several conditions, they are the first column."""
    header = tuple(head for head, _ in columns)
    cells = [tuple(cell(row) for _, cell in columns) for row in rows]
    if record.conditions == ("",):
        return Grid(title, header, tuple(cells))
    conditions = [row.condition for row in rows]  # type: ignore[attr-defined]
    named = tuple((c, *row) for c, row in zip(conditions, cells, strict=True))
    return Grid(title, ("condition", *header), named, labels=2)


def _short(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"


def sentences(record: Comparison) -> list[str]:
    """Return the result of a comparison in sentences, the most important first."""
    parts = (
        _verdicts, _swaps, _identical, _power, _failures, _uncorrected, _sampled, _rates, _places
    )  # fmt: skip
    return [*(line for part in parts for line in part(record)), *record.notes]


def _verdicts(record: Comparison) -> Iterator[str]:
    for condition in record.conditions:
        differences = [d for d in record.differences if d.condition == condition]
        under = f"{condition}: " if condition else ""
        for difference in differences:
            if difference.verdict in ("better", "worse"):
                yield under + _detected(difference, record)
        for other in _others(differences):
            to_other = [d for d in differences if d.other == other]
            for part in (_not_detected(to_other, record), _not_compared(to_other)):
                if part:
                    yield under + part


def _others(differences: Iterable[PairedDifference]) -> list[str]:
    return list(dict.fromkeys(difference.other for difference in differences))


def _detected(difference: PairedDifference, record: Comparison) -> str:
    p = f"p = {probability(difference.corrected)}"
    if len(record.differences) > 1:
        p += f" after correction for {len(record.differences)} comparisons"
    lead = f"{difference.arm} is {difference.verdict} than {difference.other}"
    if difference.by == "values":
        return f"{lead}: {_mean(difference, record)}, {p}."
    won, lost, total = difference.won, difference.lost, len(difference.each)
    seeds = f"better at {won} and worse at {lost} of {total} seeds"
    if difference.mean is None:
        return f"{lead}: {seeds}, {p}."
    both = sum(each is not None for each in difference.each)
    mean = _mean(difference, record)
    return f"{lead}: {seeds}, {p}. Both have a score at {counted(both, 'seed')}: {mean}."


def _mean(difference: PairedDifference, record: Comparison) -> str:
    if difference.mean is None:
        raise ValueError(f"{difference.arm} and {difference.other} have no seed with two scores")
    side = "higher" if difference.mean > 0 else "lower"
    text = f"{record.measure.name} {record.score_format.size(difference.mean)} {side}"
    if difference.interval is None:
        return text
    return (
        f"{text} ({record.level} {record.score_format.between(difference.interval, signed=True)})"
    )


def _not_detected(differences: list[PairedDifference], record: Comparison) -> str:
    alike = [d for d in differences if d.verdict == "no detectable difference"]
    if not alike:
        return ""
    lead = f"No detectable difference from {alike[0].other}: {listed(d.arm for d in alike)}."
    bounds = [abs(bound) for d in alike if (i := d.interval) for bound in (i.low, i.high)]
    if not bounds:
        return f"{lead} A small difference is possible."
    largest = record.score_format.size(max(bounds))
    return f"{lead} Differences of up to {largest} are consistent with these runs."


def _not_compared(differences: list[PairedDifference]) -> str:
    arms = [d.arm for d in differences if d.verdict == "not compared"]
    other = differences[0].other
    return f"Not compared with {other}: {listed(arms)}. No seed has both." if arms else ""


def _swaps(record: Comparison) -> Iterator[str]:
    """Yield the validation scores right before and after a swap of activations."""
    cells: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for outcome in record.outcomes:
        more, final = outcome.measured.extra_metrics or {}, outcome.measured.validation_score
        before = more.get("validation_score_before_swap")
        after = more.get("validation_score_after_swap")
        trial = outcome.trial
        if trial.role != "reported" or before is None or after is None or final is None:
            continue
        if trial.settings.get("before") != trial.activation:  # else nothing was swapped
            cells.setdefault((trial.condition, trial.arm), []).append((before, after, final))
    for (condition, arm), scores in cells.items():
        means = [record.score_format.score(statistics.fmean(s)) for s in zip(*scores, strict=True)]
        yield (
            f"{f'{condition}: ' if condition else ''}{arm}: mean validation score {means[0]} "
            f"before the swap, {means[1]} right after it, {means[2]} at the end."
        )


def _identical(record: Comparison) -> Iterator[str]:
    """Yield a warning if two activations gave identical losses at every step and seed."""
    runs: dict[tuple[str, str], dict[int, object]] = {}
    for outcome in record.outcomes:
        if outcome.trial.role != "reported":
            continue
        measured = outcome.measured
        if outcome.status != "finished" or not measured.curve:
            return
        losses = [point.train_loss for point in measured.curve]
        cell = runs.setdefault((outcome.trial.condition, outcome.trial.arm), {})
        cell[outcome.trial.seed] = (measured.score, measured.loss, losses)
    for other in _others(record.differences):
        twins = [
            d
            for d in record.differences
            if d.other == other and runs[d.condition, d.arm] == runs[d.condition, other]
        ]
        if twins:
            yield (
                f"{_named(twins, record)}: losses and scores identical to {other} at every seed. "
                "Is the activation used at all?"
            )


def _power(record: Comparison) -> Iterator[str]:
    best = record.attainable_p
    if best is None or best.enough:
        return
    many = "" if best.comparisons == 1 else f" after correction for {best.comparisons} comparisons"
    yield (
        f"{counted(best.seeds, 'seed')} cannot show a difference at {best.alpha:g}, however large "
        f"it is: p is at least {probability(best.corrected)}{many}. {best.needed} seeds can."
    )
    if best.seeds < MIN_AGREEING_SEEDS:
        return
    for side, count in (("Better", "won"), ("Worse", "lost")):
        agreed = [d for d in record.differences if getattr(d, count) == best.seeds]
        for other in _others(agreed):
            names = _named((d for d in agreed if d.other == other), record)
            yield f"{side} than {other} at every seed: {names}. More seeds are needed to decide."


def _failures(record: Comparison) -> Iterator[str]:
    diverged = [_failed(row, row.diverged) for row in record.summaries if row.diverged]
    if diverged:
        yield (
            f"Diverged: {'; '.join(diverged)}. A diverged run counts as worse than any score, so "
            "these tests use ranks; means and intervals are over the finished runs."
        )
    raised = [_failed(row, row.raised) for row in record.summaries if row.raised]
    if raised:
        message = next((o.message for o in record.outcomes if o.status == "raised"), "")
        yield (
            f"No score: {'; '.join(raised)}{f' ({message})' if message else ''}. Such a seed "
            "counts against any verdict; means and intervals are over the finished runs."
        )


def _failed(row: Summary, seeds: tuple[int, ...]) -> str:
    name = f"{row.arm} with {row.condition}" if row.condition else row.arm
    if len(seeds) == row.runs:
        return f"{name} at every seed"
    which = f" ({', '.join(map(str, seeds))})" if len(seeds) <= MAX_LISTED_SEEDS else ""
    return f"{name} at {len(seeds)} of {counted(row.runs, 'seed')}{which}"


def _named(items: Iterable[ChosenRate | PairedDifference], record: Comparison) -> str:
    """Return activations, each with its conditions unless these are all conditions."""
    cells: dict[str, list[str]] = {}
    for item in items:
        cells.setdefault(item.arm, []).append(item.condition)
    return listed(
        arm if set(of) == set(record.conditions) else f"{arm} ({', '.join(dict.fromkeys(of))})"
        for arm, of in cells.items()
    )


def _uncorrected(record: Comparison) -> Iterator[str]:
    """Yield an explanation if an interval excludes 0 although no difference was detected."""
    if record.attainable_p is None or not record.attainable_p.enough:
        return
    apart = [
        d
        for d in record.differences
        if d.verdict == "no detectable difference"
        and (i := d.interval) is not None
        and (i.low > 0 or i.high < 0)
    ]
    for other in _others(apart):
        names = _named((d for d in apart if d.other == other), record)
        yield (
            f"The interval of {names} to {other} excludes 0, but no difference was detected: the "
            "interval is for one comparison alone; the corrected p decides."
        )


def _sampled(record: Comparison) -> Iterator[str]:
    if not all(difference.exact for difference in record.differences):
        yield (
            f"With {len(record.seeds)} seeds sign flips are sampled, not enumerated: p is accurate "
            "to about two digits."
        )


def _rates(record: Comparison) -> Iterator[str]:
    if not record.choices:
        rates = {row.lr for row in record.summaries}
        if len(rates) == 1 and (lr := rates.pop()):
            yield f"One learning rate for all, {lr:g}, not tuned: another may change the ranking."
        return
    for end, further in (("smallest", "smaller"), ("largest", "larger")):
        edged = [c for c in record.choices if c.edge == end and _any_finished(c)]
        if edged:
            yield (
                f"The chosen learning rate is the {end} that was tried for "
                f"{_named(edged, record)}: a {further} one may do better."
            )
    failed = [choice for choice in record.choices if not _any_finished(choice)]
    if failed:
        yield (
            f"{_named(failed, record)} finished with none of the learning rates: the smallest was "
            "used."
        )


def _any_finished(choice: ChosenRate) -> bool:
    return any(rate.failed < rate.seeds for rate in choice.rates)


def _places(record: Comparison) -> Iterator[str]:
    cpus = list(dict.fromkeys(environment.cpu for environment in record.environments))
    if len(cpus) > 1:
        yield (
            f"Runs used different CPUs ({'; '.join(cpus)}): scores of a seed can differ by "
            "rounding, and times by more."
        )
