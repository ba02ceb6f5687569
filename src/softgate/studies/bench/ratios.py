"""What figures are to each other: multiples of the copy, of relu and of ours; what is in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .record import COPY, OURS, RELU, Row, Setting

DOUBTFUL = 0.1
"""A figure that half the turns would have moved by more than this is not worth its digits."""

DISTURBED = 0.1
"""From this share of all cores on, what others took is worth a word."""


def related(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return one copy for each setting, and every row with its multiples."""
    kept = _one_copy(rows)
    times = {row.key: row.least_ns for row in kept if row.least_ns}

    def ratio(row: Row, function: str, implementation: str) -> float | None:
        under = times.get((function, implementation, row.setting))
        return row.least_ns / under if row.least_ns and under else None

    return tuple(
        replace(
            row,
            x_copy=ratio(row, COPY, "numpy"),
            x_relu=ratio(row, RELU, row.implementation) or ratio(row, RELU, OURS),
            x_ours=ratio(row, row.function, OURS),
        )
        for row in kept
    )


def _one_copy(rows: Iterable[Row]) -> list[Row]:
    """Keep the least of the copies that were timed beside each function."""
    least: dict[Setting, Row] = {}
    others: list[Row] = []
    for row in rows:
        if row.function != COPY:
            others.append(row)
        elif row.least_ns is not None:
            best = least.get(row.setting)
            if best is None or best.least_ns is None or row.least_ns < best.least_ns:
                least[row.setting] = row
    return others + list(least.values())


def apart(one: Row, other: Row) -> bool:
    """Tell whether two times differ by more than what they are in doubt by."""
    if one.least_ns is None or other.least_ns is None:
        return False
    doubt = (one.doubt or 0.0) + (other.doubt or 0.0)
    low, high = sorted((one.least_ns, other.least_ns))
    return high > low * (1 + doubt)


def warnings(rows: Sequence[Row], others_share: float | None, threads: int) -> tuple[str, ...]:
    """Return what keeps the figures from being trusted."""
    said = []
    if others_share is not None and others_share > DISTURBED:
        effect = "figures are noisy, and those of long calls, which get interrupted, too high"
        if threads > 1:
            effect = "DO NOT BELIEVE figures of several threads"
        said.append(f"other processes took {others_share:.0%} of the cores meanwhile: {effect}")
    timed = [row for row in rows if row.doubt is not None]
    doubtful = [row for row in timed if (row.doubt or 0.0) > DOUBTFUL]
    if doubtful:
        worst = max(doubtful, key=lambda row: row.doubt or 0.0)
        said.append(
            f"{len(doubtful)} of {len(timed)} figures are in doubt by more than {DOUBTFUL:.0%} "
            f"(worst: {worst.function} in {worst.implementation}, {worst.doubt:.0%}): this machine "
            "is too noisy to tell them apart; repeat, or give more time"
        )
    return tuple(said)
