"""Interleaved timing and its statistics, with a fake clock and fake calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from softgate.studies.bench import worker
from softgate.studies.bench.interleave import (
    ENOUGH_S,
    ENOUGH_TIMES,
    LEAST_TURNS,
    SLOW_S,
    SLOW_TURNS,
    TurnTimes,
    interleave,
    statistics,
)
from softgate.studies.bench.worker import LONG_S, MIDDLE_S, CallClock
from softgate.studies.subjects.peers.timed_call import TimedCall


class Clock:
    """Time that passes only during a turn."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeTimer:
    """Takes a given time, turn after turn."""

    name: str
    clock: Clock
    log: list[str]
    takes_s: Callable[[int], float]
    turns: int = 0
    dies_at: int | None = None
    times: list[float] = field(default_factory=list)

    def turn(self) -> TurnTimes | None:
        if self.turns == self.dies_at:
            return None
        taken = self.takes_s(self.turns)
        self.turns += 1
        self.clock.now += taken
        self.log.append(self.name)
        return TurnTimes((1e9 * taken,), taken)


def timers(*takes_s: float | Callable[[int], float]) -> tuple[list[FakeTimer], Clock, list[str]]:
    clock, log = Clock(), list[str]()
    made = [
        FakeTimer(name, clock, log, takes if callable(takes) else lambda _, takes=takes: takes)
        for name, takes in zip("abcdef", takes_s, strict=False)
    ]
    return made, clock, log


def test_every_timer_has_a_turn_in_each_round_and_another_begins() -> None:
    made, clock, log = timers(0.1, 0.1, 0.1)
    interleave(made, 1.15, clock)
    rounds = ["".join(log[i : i + 3]) for i in range(0, len(log), 3)]
    assert rounds == ["abc", "bca", "cab", "abc"]


def test_a_slow_timer_has_its_share_of_time_and_not_more() -> None:
    made, clock, log = timers(0.001, 0.05)
    timed_series = interleave(made, 2.0, clock)
    assert timed_series[0].spent_s == pytest.approx(timed_series[1].spent_s, rel=0.1)
    first, last = log.index("b"), len(log) - 1 - log[::-1].index("b")
    assert first < 3
    assert last > 0.9 * len(log)  # spread over the whole time


def test_every_timer_has_some_turns_without_any_budget() -> None:
    made, clock, _ = timers(0.1, SLOW_S)
    timed_series = interleave(made, 0.0, clock)
    assert [len(series.turns) for series in timed_series] == [LEAST_TURNS, SLOW_TURNS]


def test_quick_timers_have_enough_times_or_enough_seconds_without_any_budget() -> None:
    made, clock, _ = timers(1e-4, ENOUGH_S / 8)
    timed_series = interleave(made, 0.0, clock)
    assert [len(series.turns) for series in timed_series] == [ENOUGH_TIMES, 8]


def test_a_failed_timer_does_not_stop_the_others() -> None:
    made, clock, _ = timers(0.01, 0.01)
    made[0].dies_at = 2
    timed_series = interleave(made, 0.2, clock)
    assert (timed_series[0].failed, len(timed_series[0].turns)) == (True, 2)
    assert len(timed_series[1].turns) > 10
    assert interleave([], 1.0, clock) == []


@pytest.mark.parametrize(
    ("takes_s", "called", "timed"),
    [
        (MIDDLE_S / 2, 5, 4),  # one warms, and does not count
        (MIDDLE_S, 3, 3),  # it counts too: a slice of time ends with it
        (LONG_S / 2, 2, 2),
        (LONG_S, 1, 1),
    ],
)
def test_a_turn_warms_the_caches_and_counts_a_long_call_that_does(
    monkeypatch: pytest.MonkeyPatch, takes_s: float, called: int, timed: int
) -> None:
    clock, calls = Clock(), list[float]()
    monkeypatch.setattr(worker, "perf_counter", clock)
    monkeypatch.setattr(worker, "perf_counter_ns", lambda: int(1e9 * clock.now))

    def call() -> None:
        clock.now += takes_s
        calls.append(clock.now)

    call_clock = CallClock(TimedCall(call))
    calls.clear()
    times = call_clock.turn()["times_ns"]
    assert (len(calls), len(times)) == (called, timed)
    assert times == pytest.approx([1e9 * takes_s] * timed)


def turns_of(*turns: tuple[float, ...]) -> list[TurnTimes]:
    return [TurnTimes(times, 1.0) for times in turns]


def test_least_median_spread_and_doubt() -> None:
    result = statistics(turns_of((10.0, 12.0), (11.0, 30.0), (14.0, 16.0)))
    assert result is not None
    assert (result.least_ns, result.median_ns, result.calls) == (10.0, 13.0, 6)
    assert result.spread == pytest.approx(0.3)
    assert result.relative_uncertainty == pytest.approx(
        0.1
    )  # 11 without every other turn, 10 with them
    assert statistics(turns_of()) is None
