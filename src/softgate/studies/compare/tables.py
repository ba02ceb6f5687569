"""The tables of a comparison: scores, differences with verdicts, and how rates were chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from softgate.runtime.machine import in_bytes
from softgate.runtime.records import Grid

from ..diagnose.text import counted
from .choice import Rate
from .difference import Difference
from .formatting import NONE, probability
from .statistics import Interval

if TYPE_CHECKING:
    from .record import Comparison
    from .summary import Summary

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
