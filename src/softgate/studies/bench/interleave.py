"""Interleaved timing: calls take turns, so that noise affects all of them alike.

A turn is an untimed call that warms the caches, and then timed calls. Each round starts with
another call, so that the order of calls changes and with it the state of the caches. A slow call
skips rounds until the others have used as much time: all have the same share of the budget, and
their turns are spread over all of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Protocol

LEAST_TURNS = 4
"""Turns of every call, whatever the budget is."""

ENOUGH_TIMES, ENOUGH_S = 40, 0.06
"""A call with fewer times that used less time has more turns: a busy machine may interrupt four.
"""

SLOW_TURNS, SLOW_S = 2, 1.0
"""A call that takes this long has fewer turns: the least of two is enough."""

MOST_ROUNDS = 2000

STAT = Path("/proc/stat")
BUSY = (0, 1, 2, 5, 6, 7)
"""Fields of /proc/stat: user, nice, system, irq, softirq, steal; not idle, not waiting for a disk.
"""


@dataclass(frozen=True)
class TurnTimes:
    """The times of the calls in one turn, and of the whole turn."""

    times_ns: tuple[float, ...]
    spent_s: float


class Timeable(Protocol):
    """Interface of calls that `interleave` times in turns."""

    def turn(self) -> TurnTimes | None:
        """Run one turn and return its times; None if it failed and must not run again."""


@dataclass
class TurnSeries:
    """The turns of one timed call so far."""

    timer: Timeable
    turns: list[TurnTimes] = field(default_factory=list)
    spent_s: float = 0.0
    failed: bool = False

    def run(self) -> None:
        """Run a turn and add its times, or set `failed`."""
        turn = self.timer.turn()
        if turn is None:
            self.failed = True
            return
        self.turns.append(turn)
        self.spent_s += turn.spent_s

    @property
    def due(self) -> bool:
        """Whether more turns are needed even if the budget is used up."""
        if self.spent_s >= SLOW_S:
            return len(self.turns) < SLOW_TURNS
        times = sum(len(turn.times_ns) for turn in self.turns)
        few = times < ENOUGH_TIMES and self.spent_s < ENOUGH_S
        return few or len(self.turns) < LEAST_TURNS


@dataclass(frozen=True)
class Statistics:
    """Times of a call over all turns."""

    least_ns: float
    median_ns: float
    spread: float
    relative_uncertainty: float
    calls: int


def interleave(
    timers: Sequence[Timeable], budget_s: float, clock: Callable[[], float] = perf_counter
) -> list[TurnSeries]:
    """Run all timers in turns until the budget is used up; return a series for each."""
    everything = [TurnSeries(timer) for timer in timers]
    start = clock()
    for number in range(MOST_ROUNDS):
        running = [series for series in everything if not series.failed]
        over = clock() - start >= budget_s
        due = [series for series in running if series.due]
        if not running or (over and not due):
            break
        share = sum(series.spent_s for series in running) / len(running)
        ready = due if over else [series for series in running if series.spent_s <= share]
        first = number % len(everything)
        for series in everything[first:] + everything[:first]:
            if any(series is other for other in ready):
                series.run()
    return everything


def statistics(turns: Sequence[TurnTimes]) -> Statistics | None:
    """Return least, median, spread and relative uncertainty; None if there are no times.

    The relative uncertainty is estimated by the difference of the least times of even and of odd
    turns.
    """
    times = [time for turn in turns for time in turn.times_ns]
    if not times:
        return None
    halves = [[time for turn in turns[half::2] for time in turn.times_ns] for half in (0, 1)]
    least, middle = min(times), median(times)
    both = [min(half) for half in halves if half]
    return Statistics(
        least_ns=least,
        median_ns=middle,
        spread=(middle - least) / least if least else 0.0,
        relative_uncertainty=(max(both) - min(both)) / min(both)
        if len(both) == 2 and min(both)
        else 0.0,
        calls=len(times),
    )


class SystemLoad:
    """The CPU use of other processes since this object was created, as a share of all cores.

    Short interruptions of one thread do not affect the least of many times. They do if threads wait
    for each other and one of them has no core: such times are not reliable.

    Parameters
    ----------
    measured_s : callable
        Returns the CPU seconds that the measured processes have used; this process's by default.
    """

    def __init__(self, measured_s: Callable[[], float] = process_time) -> None:
        self._measured_s = measured_s
        self._start = self._read()

    def share(self) -> float | None:
        """Return the share that others used since the start; None where /proc/stat is missing."""
        now = self._read()
        if self._start is None or now is None:
            return None
        busy, measured, wall = (b - a for a, b in zip(self._start, now, strict=True))
        return max(0.0, busy - measured) / (wall * (os.cpu_count() or 1)) if wall > 0 else None

    def _read(self) -> tuple[float, float, float] | None:
        """Return busy seconds of all cores, those of the measured processes, and the time."""
        try:
            fields = STAT.read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
            ticks = sum(int(fields[i]) for i in BUSY)
        except (OSError, IndexError, ValueError):
            return None
        return ticks / os.sysconf("SC_CLK_TCK"), self._measured_s(), perf_counter()
