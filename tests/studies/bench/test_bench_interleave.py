"""bench's rounds, turns and statistics, with clocks and players made up."""

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
    Score,
    Turn,
    play,
    statistics,
)
from softgate.studies.bench.worker import LONG_S, MIDDLE_S, Playing
from softgate.studies.peers.timed_call import TimedCall


class Clock:
    """Time that passes only when somebody takes a turn."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Player:
    """Takes as long as told, turn after turn."""

    name: str
    clock: Clock
    log: list[str]
    takes_s: Callable[[int], float]
    turns: int = 0
    dies_at: int | None = None
    times: list[float] = field(default_factory=list)

    def turn(self) -> Turn | None:
        if self.turns == self.dies_at:
            return None
        taken = self.takes_s(self.turns)
        self.turns += 1
        self.clock.now += taken
        self.log.append(self.name)
        return Turn((1e9 * taken,), taken)


def players(*takes_s: float | Callable[[int], float]) -> tuple[list[Player], Clock, list[str]]:
    clock, log = Clock(), list[str]()
    made = [
        Player(name, clock, log, takes if callable(takes) else lambda _, takes=takes: takes)
        for name, takes in zip("abcdef", takes_s, strict=False)
    ]
    return made, clock, log


def test_everybody_has_a_turn_in_each_round_and_another_begins() -> None:
    made, clock, log = players(0.1, 0.1, 0.1)
    play(made, 1.15, clock)
    rounds = ["".join(log[i : i + 3]) for i in range(0, len(log), 3)]
    assert rounds == ["abc", "bca", "cab", "abc"]


def test_a_slow_player_has_its_share_of_time_and_not_more() -> None:
    made, clock, log = players(0.001, 0.05)
    scores = play(made, 2.0, clock)
    assert scores[0].spent_s == pytest.approx(scores[1].spent_s, rel=0.1)
    first, last = log.index("b"), len(log) - 1 - log[::-1].index("b")
    assert first < 3
    assert last > 0.9 * len(log)  # spread over the whole time


def test_everybody_has_some_turns_without_any_budget() -> None:
    made, clock, _ = players(0.1, SLOW_S)
    scores = play(made, 0.0, clock)
    assert [len(score.turns) for score in scores] == [LEAST_TURNS, SLOW_TURNS]


def test_quick_ones_have_enough_times_or_enough_seconds_without_any_budget() -> None:
    made, clock, _ = players(1e-4, ENOUGH_S / 8)
    scores = play(made, 0.0, clock)
    assert [len(score.turns) for score in scores] == [ENOUGH_TIMES, 8]


def test_who_drops_out_does_not_stop_the_others() -> None:
    made, clock, _ = players(0.01, 0.01)
    made[0].dies_at = 2
    scores = play(made, 0.2, clock)
    assert (scores[0].out, len(scores[0].turns)) == (True, 2)
    assert len(scores[1].turns) > 10
    assert play([], 1.0, clock) == []


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

    playing = Playing(TimedCall(call))
    calls.clear()
    times = playing.turn()["times_ns"]
    assert (len(calls), len(times)) == (called, timed)
    assert times == pytest.approx([1e9 * takes_s] * timed)


def score_of(*turns: tuple[float, ...]) -> Score:
    made, _, _ = players(1.0)
    return Score(made[0], [(i, Turn(times, 1.0)) for i, times in enumerate(turns)])


def test_least_median_spread_and_doubt() -> None:
    found = statistics(score_of((10.0, 12.0), (11.0, 30.0), (14.0, 16.0)))
    assert found is not None
    assert (found.least_ns, found.median_ns, found.calls) == (10.0, 13.0, 6)
    assert found.spread == pytest.approx(0.3)
    assert found.doubt == pytest.approx(0.1)  # 11 without every other turn, 10 with them
    assert statistics(score_of()) is None
