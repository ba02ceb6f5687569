"""What a comparison shows, in sentences: what was found, what was not, and what that rests on.

"No detectable difference" is not "no difference", so it comes with how large one could still be.
What limits a finding is said beside it: too few seeds, runs without a score, a learning rate at the
end of what was tried.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

from softgate.runtime.machine import in_bytes
from softgate.runtime.records import Grid

from ..diagnose.text import counted
from .statistics import Interval
from .trial import Measure

if TYPE_CHECKING:
    from .plan import Choice, Rate
    from .record import Comparison, Difference, Summary

MOST_DECIMALS = 6
NONE = "-"


@dataclass(frozen=True)
class Numerals:
    """The notation of one measure."""

    measure: Measure
    decimals: int

    @classmethod
    def of(cls, measure: Measure, *spreads: Iterable[float | None]) -> Numerals:
        """Return a notation with two digits of each kind of spread, of those usual for it.

        Examples
        --------
        >>> Numerals.of(Measure("test accuracy", True, percent=True), [0.0043]).score(0.97128)
        '97.13'
        """
        factor = 100 if measure.percent else 1
        kinds = [[factor * one for one in kind if one is not None and one > 0] for kind in spreads]
        usual = [statistics.median(kind) for kind in kinds if kind]
        if not usual:
            return cls(measure, 2 if measure.percent else 4)
        wanted = 1 - math.floor(math.log10(min(usual)))
        return cls(measure, min(max(wanted, 0), MOST_DECIMALS))

    @property
    def factor(self) -> int:
        """What a score is multiplied by."""
        return 100 if self.measure.percent else 1

    @property
    def name(self) -> str:
        """What the score is, with its unit."""
        return f"{self.measure.name} in %" if self.measure.percent else self.measure.name

    def score(self, value: float | None) -> str:
        """Return a score, or what is in its unit."""
        return NONE if value is None else f"{self.factor * value:.{self.decimals}f}"

    def difference(self, value: float | None) -> str:
        """Return a difference, with its sign; 0 has none."""
        if value is None:
            return NONE
        shown = f"{self.factor * value:+.{self.decimals}f}"
        return shown[1:] if float(shown) == 0 else shown

    def size(self, value: float) -> str:
        """Return how large a difference is, with its unit."""
        shown = f"{self.factor * abs(value):.{self.decimals}f}"
        return f"{shown} points" if self.measure.percent else shown

    def between(self, found: Interval | None, *, signed: bool = False) -> str:
        """Return an interval."""
        if found is None:
            return NONE
        write = self.difference if signed else self.score
        return f"{write(found.low)} to {write(found.high)}"


def probability(p: float | None) -> str:
    """Return a p-value.

    Examples
    --------
    >>> probability(0.0078125), probability(1.0), probability(1.9e-6)
    ('0.00781', '1', '1.9e-06')
    """
    return NONE if p is None else f"{p:.3g}"


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them.

    Examples
    --------
    >>> listed(["relu", "elu", "silu"])
    'relu, elu and silu'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


T = TypeVar("T")
Column = tuple[str, Callable[[T], str]]


def summary_grid(record: Comparison) -> Grid:
    """Return a row for each arm under each condition."""
    numerals, rows = record.numerals, record.summaries
    columns: list[Column[Summary]] = [
        ("arm", lambda one: one.arm),
        ("mean", lambda one: numerals.score(one.mean)),
        _interval(record, [one.interval for one in rows], lambda one: one.interval),
        ("sd", lambda one: numerals.score(one.sd)),
        ("median", lambda one: numerals.score(one.median)),
    ]
    if any(one.finished < one.runs for one in rows):
        columns.append(("finished", lambda one: f"{one.finished} of {one.runs}"))
    columns += _costs(rows)
    side = "more" if record.measure.higher else "less"
    title = (
        f"{record.task}: {numerals.name} ({side} is better), {counted(len(record.seeds), 'seed')}"
    )
    return _grid(record, f"{title}\n{record.about}".rstrip(), columns, rows)


def _costs(rows: Sequence[Summary]) -> list[Column[Summary]]:
    """Return what training took; a column that says nothing of any arm is left out."""
    columns: list[Column[Summary]] = [
        ("lr", lambda one: f"{one.lr:g}" if one.lr else NONE),
        ("dead", lambda one: NONE if one.dead is None else f"{100 * one.dead:.3g} %"),
        ("gradient\nfirst/last", lambda one: _short(one.gradient_ratio)),
        ("ms a\nstep", lambda one: _short(one.step_ms)),
        ("× of\nbaseline", lambda one: _ratio(one.step_ratio)),
        ("memory", lambda one: NONE if one.peak_bytes is None else in_bytes(one.peak_bytes)),
        ("parameters", lambda one: NONE if one.parameters is None else f"{one.parameters:,}"),
    ]
    if len({one.flops for one in rows}) > 1:
        columns.append(("FLOPs", lambda one: _short(one.flops)))
    return [(head, cell) for head, cell in columns if any(cell(one) != NONE for one in rows)]


def difference_grid(record: Comparison) -> Grid:
    """Return a row for each comparison, with its verdict."""
    numerals, rows = record.numerals, record.differences
    several = record.pairs == "all"
    columns: list[Column[Difference]] = [
        ("arm", lambda one: f"{one.arm} - {one.other}" if several else one.arm),
        ("verdict", lambda one: one.verdict),  # first: a narrow window cuts columns off
        ("difference", lambda one: numerals.difference(one.mean)),
        _interval(record, [one.interval for one in rows], lambda one: one.interval, signed=True),
        ("seeds won", _won),
        ("P(better)", lambda one: NONE if one.improvement is None else f"{one.improvement:.2f}"),
        ("p", lambda one: probability(one.p)),
        ("corrected p", lambda one: probability(one.corrected)),
    ]
    if len(rows) == 1:
        columns = [column for column in columns if column[0] != "corrected p"]
    whose = "Differences of all pairs" if several else f"Difference to {record.baseline}"
    points = " in points" if record.measure.percent else ""
    title = (
        f"{whose}{points}, paired by seed\n"
        f"p: {_test(record)}; a verdict needs {'p' if len(rows) == 1 else 'corrected p'} <= "
        f"{record.alpha:g}\nP(better): the share of all pairs of runs in which the arm did better"
    )
    return _grid(record, title, columns, rows)


def _test(record: Comparison) -> str:
    exact = all(one.exact for one in record.differences)
    test = "exact sign-flip test" if exact else "sign-flip test, flips drawn"
    holm = ", Holm's correction" if len(record.differences) > 1 else ""
    return test + holm


def _won(one: Difference) -> str:
    ties = f", {one.tied} tied" if one.tied else ""
    unknown = f", {one.unknown} unknown" if one.unknown else ""
    return f"{one.won} of {len(one.each)}{ties}{unknown}"


def rate_grid(record: Comparison) -> Grid:
    """Return how each rate did in tuning; the chosen one is marked."""
    rates = sorted({rate.lr for choice in record.choices for rate in choice.rates})
    chosen = record.choices[0]
    rows = []
    for choice in record.choices:
        tried = {rate.lr: rate for rate in choice.rates}
        cells = [_tried(tried.get(lr), lr == choice.lr, record, choice.by) for lr in rates]
        rows.append((choice.condition, choice.arm, *cells))
    keep = slice(None) if record.conditions != ("",) else slice(1, None)
    header = ("condition", "arm", *(f"lr {lr:g}" for lr in rates))[keep]
    unit = " in %" if record.measure.percent and chosen.by == "validation score" else ""
    title = (
        f"Learning rates: mean {chosen.by}{unit} over {counted(len(chosen.seeds), 'seed')} of "
        "tuning, none of them reported; * chosen"
    )
    return Grid(title, header, tuple(row[keep] for row in rows), labels=len(header) - len(rates))


def _tried(rate: Rate | None, chosen: bool, record: Comparison, by: str) -> str:
    if rate is None:
        return NONE
    if rate.mean is None:
        shown = "failed"
    else:
        shown = record.numerals.score(rate.mean) if by.endswith("score") else f"{rate.mean:.4g}"
        shown += f" ({rate.failed} of {rate.seeds} failed)" if rate.failed else ""
    return f"{shown} *" if chosen else f"{shown}  "


def _interval(
    record: Comparison,
    found: Iterable[Interval | None],
    take: Callable[[T], Interval | None],
    *,
    signed: bool = False,
) -> Column[T]:
    """Return the column of intervals; their kind stands in its head, or by each if they differ."""
    kinds = {one.kind for one in found if one is not None}

    def cell(row: T) -> str:
        one = take(row)
        shown = record.numerals.between(one, signed=signed)
        return shown if one is None or len(kinds) == 1 else f"{shown} {one.kind}"

    label = f" ({min(kinds)})" if len(kinds) == 1 else ""
    return f"{record.level}{label}", cell


def _grid(record: Comparison, title: str, columns: Sequence[Column[T]], rows: Sequence[T]) -> Grid:
    """Return a grid; conditions stand on the left where there are several."""
    several = record.conditions != ("",)
    header = tuple(head for head, _ in columns)
    cells = [tuple(cell(row) for _, cell in columns) for row in rows]
    if not several:
        return Grid(title, header, tuple(cells))
    conditions = [row.condition for row in rows]  # type: ignore[attr-defined]
    named = tuple((c, *row) for c, row in zip(conditions, cells, strict=True))
    return Grid(title, ("condition", *header), named, labels=2)


def _short(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


FEWEST_AGREEING = 3
"""That so many seeds agree is worth saying."""
MOST_SEEDS = 6
"""So many seeds are named one by one."""


def sentences(record: Comparison) -> list[str]:
    """Return what a comparison shows, the most important first."""
    parts = (_findings, _swaps, _same, _power, _failures, _uncorrected, _drawn, _rates, _places)
    return [*(line for part in parts for line in part(record)), *record.notes]


def _findings(record: Comparison) -> Iterator[str]:
    for condition in record.conditions:
        own = [one for one in record.differences if one.condition == condition]
        under = f"{condition}: " if condition else ""
        for one in own:
            if one.verdict in ("better", "worse"):
                yield under + _found(one, record)
        for other in dict.fromkeys(one.other for one in own):
            with_it = [one for one in own if one.other == other]
            for part in (_not_found(with_it, record), _not_compared(with_it)):
                if part:
                    yield under + part


def _found(one: Difference, record: Comparison) -> str:
    p = f"p = {probability(one.corrected)}"
    if len(record.differences) > 1:
        p += f" after correction for {len(record.differences)} comparisons"
    lead = f"{one.arm} is {one.verdict} than {one.other}"
    if one.by == "values":
        return f"{lead}: {_mean(one, record)}, {p}."
    seeds = f"it did better at {one.won} and worse at {one.lost} of {len(one.each)} seeds"
    if one.mean is None:
        return f"{lead}: {seeds}, {p}."
    both = sum(each is not None for each in one.each)
    return f"{lead}: {seeds}, {p}. Where both have a score (at {both}): {_mean(one, record)}."


def _mean(one: Difference, record: Comparison) -> str:
    if one.mean is None:
        raise ValueError(f"{one.arm} and {one.other} have no seed with two scores")
    side = "higher" if one.mean > 0 else "lower"
    shown = f"{record.measure.name} {record.numerals.size(one.mean)} {side}"
    if one.interval is None:
        return shown
    return f"{shown} ({record.level} {record.numerals.between(one.interval, signed=True)})"


def _not_found(own: list[Difference], record: Comparison) -> str:
    alike = [one for one in own if one.verdict == "no detectable difference"]
    if not alike:
        return ""
    lead = f"No detectable difference to {alike[0].other}: {listed(one.arm for one in alike)}."
    ends = [abs(end) for one in alike if (i := one.interval) for end in (i.low, i.high)]
    if not ends:
        return f"{lead} That does not mean none."
    most = record.numerals.size(max(ends))
    return f"{lead} That does not mean none: up to {most} would fit these runs."


def _not_compared(own: list[Difference]) -> str:
    arms = [one.arm for one in own if one.verdict == "not compared"]
    return f"Not compared with {own[0].other}: {listed(arms)}. No seed has both." if arms else ""


def _swaps(record: Comparison) -> Iterator[str]:
    """Say what an activation's replacement did at once, where arms replace one."""
    cells: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for one in record.outcomes:
        more, last = one.measured.more or {}, one.measured.validation_score
        before = more.get("validation_score_before_swap")
        after = more.get("validation_score_after_swap")
        if one.trial.role != "reported" or before is None or after is None or last is None:
            continue
        if one.trial.settings.get("before") != one.trial.activation:  # else nothing was replaced
            cell = cells.setdefault((one.trial.condition, one.trial.arm), [])
            cell.append((before, after, last))
    for (condition, arm), found in cells.items():
        means = [record.numerals.score(fmean(each)) for each in zip(*found, strict=True)]
        yield (
            f"{f'{condition}: ' if condition else ''}{arm}: on validation data {means[0]} before "
            f"the swap, {means[1]} right after it, {means[2]} in the end (means)."
        )


def _same(record: Comparison) -> Iterator[str]:
    """Doubt a comparison in which nothing differs, not even the losses on the way."""
    seen: dict[tuple[str, str], dict[int, object]] = {}
    for one in record.outcomes:
        if one.trial.role != "reported":
            continue
        got = one.measured
        if one.status != "finished" or not got.curve:
            return
        cell = seen.setdefault((one.trial.condition, one.trial.arm), {})
        cell[one.trial.seed] = (got.score, got.loss, [point.train_loss for point in got.curve])
    for other in dict.fromkeys(one.other for one in record.differences):
        twins = [
            one
            for one in record.differences
            if one.other == other and seen[one.condition, one.arm] == seen[one.condition, other]
        ]
        if twins:
            yield (
                f"{_named(twins, record)} gave the very same as {other} at every seed: is the "
                "activation used at all?"
            )


def _power(record: Comparison) -> Iterator[str]:
    best = record.best
    if best is None or best.enough:
        return
    many = "" if best.comparisons == 1 else f" after correction for {best.comparisons} comparisons"
    yield (
        f"{counted(best.seeds, 'seed')} cannot show a difference at {best.alpha:g}, however large "
        f"it is: p is at least {probability(best.corrected)}{many}. {best.needed} seeds can."
    )
    if best.seeds < FEWEST_AGREEING:
        return
    for side, count in (("better", "won"), ("worse", "lost")):
        agreed = [one for one in record.differences if getattr(one, count) == best.seeds]
        for other in dict.fromkeys(one.other for one in agreed):
            names = _named((one for one in agreed if one.other == other), record)
            yield f"At every seed {side} than {other}: {names}. More seeds would tell."


def _failures(record: Comparison) -> Iterator[str]:
    diverged = [_failed(one, one.diverged) for one in record.summaries if one.diverged]
    if diverged:
        yield (
            f"Diverged: {'; '.join(diverged)}. That counts as worse than any score, so tests with "
            "such runs go by ranks; means and intervals are of the runs that finished."
        )
    raised = [_failed(one, one.raised) for one in record.summaries if one.raised]
    if raised:
        said = next((one.said for one in record.outcomes if one.status == "raised"), "")
        yield (
            f"No score: {'; '.join(raised)}{f' ({said})' if said else ''}. Such a seed counts "
            "against any verdict; means and intervals are of the runs that finished."
        )


def _failed(one: Summary, seeds: tuple[int, ...]) -> str:
    name = f"{one.arm} with {one.condition}" if one.condition else one.arm
    if len(seeds) == one.runs:
        return f"{name} at every seed"
    which = f" ({', '.join(map(str, seeds))})" if len(seeds) <= MOST_SEEDS else ""
    return f"{name} at {len(seeds)} of {counted(one.runs, 'seed')}{which}"


def _named(some: Iterable[Choice | Difference], record: Comparison) -> str:
    """Return arms, with their conditions where it is not so under all of them."""
    cells: dict[str, list[str]] = {}
    for one in some:
        cells.setdefault(one.arm, []).append(one.condition)
    return listed(
        arm if set(of) == set(record.conditions) else f"{arm} ({', '.join(dict.fromkeys(of))})"
        for arm, of in cells.items()
    )


def _uncorrected(record: Comparison) -> Iterator[str]:
    """Explain what looks like a contradiction, where there is one."""
    if record.best is None or not record.best.enough:
        return
    apart = [
        one
        for one in record.differences
        if one.verdict == "no detectable difference"
        and (i := one.interval) is not None
        and (i.low > 0 or i.high < 0)
    ]
    for other in dict.fromkeys(one.other for one in apart):
        names = _named((one for one in apart if one.other == other), record)
        yield (
            f"The interval of {names} to {other} leaves out 0, and yet no difference counts as "
            "detected: it looks at one comparison alone; the corrected p decides."
        )


def _drawn(record: Comparison) -> Iterator[str]:
    if not all(one.exact for one in record.differences):
        yield (
            f"With {len(record.seeds)} seeds sign flips are drawn, not all counted: p is good to "
            "two digits or so."
        )


def _rates(record: Comparison) -> Iterator[str]:
    if not record.choices:
        rates = {one.lr for one in record.summaries}
        if len(rates) == 1 and (lr := rates.pop()):
            yield f"One learning rate for all, {lr:g}, not tuned: another may favour another arm."
        return
    for end, further in (("smallest", "smaller"), ("largest", "larger")):
        edged = [one for one in record.choices if one.edge == end and _any_finished(one)]
        if edged:
            yield (
                f"The chosen learning rate is the {end} that was tried for "
                f"{_named(edged, record)}: a {further} one may do better."
            )
    lost = [one for one in record.choices if not _any_finished(one)]
    if lost:
        yield (
            f"No learning rate that was tried let {_named(lost, record)} finish: the smallest was "
            "taken."
        )


def _any_finished(choice: Choice) -> bool:
    return any(rate.failed < rate.seeds for rate in choice.rates)


def _places(record: Comparison) -> Iterator[str]:
    kinds = list(dict.fromkeys(one.cpu for one in record.places))
    if len(kinds) > 1:
        yield (
            f"Runs were made on different CPUs ({'; '.join(kinds)}): scores of a seed can differ "
            "by rounding, and times by more."
        )
