"""Interleaved rounds: everybody has a turn in each, so that noise hits all alike.

A turn is a call that warms the caches, and then calls that count. Rounds begin with another player
each time, so that nobody always follows the one who leaves the caches worst. A slow player sits out
until the others have used as much time: all have the same share of the budget, and their turns are
spread over all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Protocol

LEAST_TURNS = 4
"""So many turns everybody has, whatever the budget says."""

ENOUGH_TIMES, ENOUGH_S = 40, 0.06
"""Whoever has fewer times and used less time has more turns: a busy machine interrupts all of four.
"""

SLOW_TURNS, SLOW_S = 2, 1.0
"""Whoever takes so many seconds has fewer turns: the least of two calls of a second says enough."""

MOST_ROUNDS = 2000


@dataclass(frozen=True)
class Turn:
    """What one turn took: the time of a call, several times, and all of it."""

    times_ns: tuple[float, ...]
    spent_s: float


class Player(Protocol):
    """Somebody who can take a turn; None where he cannot any more."""

    def turn(self) -> Turn | None:
        """Run, and tell the times."""


@dataclass
class Score:
    """A player's turns so far, with the round that each was in."""

    player: Player
    turns: list[tuple[int, Turn]] = field(default_factory=list)
    spent_s: float = 0.0
    out: bool = False

    def play(self, number: int) -> None:
        """Take a turn in a round."""
        turn = self.player.turn()
        if turn is None:
            self.out = True
            return
        self.turns.append((number, turn))
        self.spent_s += turn.spent_s

    @property
    def due(self) -> bool:
        """Whether more turns are needed even if the budget is used up."""
        turns = len(self.turns)
        if self.spent_s >= SLOW_S:
            return turns < SLOW_TURNS
        times = sum(len(turn.times_ns) for _, turn in self.turns)
        return turns < LEAST_TURNS or (times < ENOUGH_TIMES and self.spent_s < ENOUGH_S)


@dataclass(frozen=True)
class Statistics:
    """Times of a call over all turns."""

    least_ns: float
    median_ns: float
    spread: float
    doubt: float
    calls: int


def play(
    players: Sequence[Player], budget_s: float, clock: Callable[[], float] = perf_counter
) -> list[Score]:
    """Let the players take turns until the budget is used up; return their scores."""
    scores = [Score(player) for player in players]
    start = clock()
    for number in range(MOST_ROUNDS):
        left = [score for score in scores if not score.out]
        over = clock() - start >= budget_s
        due = [score for score in left if score.due]
        if over and not due:
            break
        share = sum(score.spent_s for score in left) / max(1, len(left))
        ready = due if over else [score for score in left if score.spent_s <= share]
        first = number % len(scores) if scores else 0
        order = scores[first:] + scores[:first]
        for score in [score for score in order if any(score is one for one in ready)]:
            score.play(number)
        if not left:
            break
    return scores


def statistics(score: Score) -> Statistics | None:
    """Return least, median, spread and doubt; None where nothing was timed.

    The doubt is how far the least of every other turn is from the least of the rest: what one would
    have got from half the work.
    """
    times = [time for _, turn in score.turns for time in turn.times_ns]
    if not times:
        return None
    halves = [
        [time for index, (_, turn) in enumerate(score.turns) if index % 2 == half
         for time in turn.times_ns]
        for half in (0, 1)
    ]  # fmt: skip
    least, middle = min(times), median(times)
    both = [min(half) for half in halves if half]
    return Statistics(
        least_ns=least,
        median_ns=middle,
        spread=(middle - least) / least if least else 0.0,
        doubt=(max(both) - min(both)) / min(both) if len(both) == 2 and min(both) else 0.0,
        calls=len(times),
    )
