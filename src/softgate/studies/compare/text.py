"""What a comparison shows, in sentences: what was found, what was not, and what that rests on.

"No detectable difference" is not "no difference", so it comes with how large one could still be.
What limits a finding is said beside it: too few seeds, runs without a score, a learning rate at the
end of what was tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import TYPE_CHECKING

from ..diagnose.text import counted
from .difference import Difference
from .formatting import listed, probability

if TYPE_CHECKING:
    from .choice import Choice
    from .record import Comparison
    from .summary import Summary

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
