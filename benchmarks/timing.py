"""Interleaved rounds: in each, every contestant has its turn; the least time of many counts.

A turn is two calls, so that the second finds its arrays in the cache, and rounds begin with another
contestant each time, so that nobody always follows the one who leaves the cache worst.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np
import peers
from bystanders import Bystanders
from cells import PEERS, Cell, Row, Time
from inputs import Array, Arrays, arrays, finfo
from peers import Contestant

CALLS_A_TURN = 2
PAGE_BYTES = resource.getpagesize()
FRESH = 0.05
"""Fresh pages beyond this share of the output are worth a note."""

TOLERANCE_EPS = 32
"""Whoever is further from ours, in epsilons of 1 + |result|, computes something else."""

SELDOM = {"scipy": 5}
"""Contestants that are slow and bind no bar have their turn in every so many rounds."""


@dataclass(frozen=True)
class Effort:
    """How long a cell is timed: `least` rounds, then more until `budget_s` is used up."""

    budget_s: float
    least: dict[str, int]
    most: int = 2000


@dataclass
class Clock:
    """A contestant's times so far."""

    contestant: Contestant
    times_ns: list[int] = field(default_factory=list)
    faults: int = 0

    def turn(self) -> None:
        call = self.contestant.call
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(CALLS_A_TURN):
            start = perf_counter_ns()
            call()
            self.times_ns.append(perf_counter_ns() - start)
        self.faults += resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    def time(self, count: int, out_bytes: int) -> Time:
        return Time(
            least_ns=min(self.times_ns) / count,
            median_ns=median(self.times_ns) / count,
            calls=len(self.times_ns),
            fresh_share=self.faults * PAGE_BYTES / len(self.times_ns) / out_bytes,
        )


def measure(cell: Cell, seed: int, effort: Effort) -> Row:
    """Time everybody on one cell; who raises is named in the row, and the rest go on."""
    data = arrays(cell.dtype, cell.count, seed)
    row = Row(cell)
    entered = list(_enter(cell, data, row))
    clocks = {contestant.name: Clock(contestant) for contestant in entered}
    bystanders = Bystanders()
    gc.collect()
    gc.disable()
    try:
        _rounds(list(clocks.values()), effort, effort.least[cell.size])
    finally:
        gc.enable()
    row.others_share = bystanders.share()
    for name, clock in clocks.items():
        time = clock.time(cell.count, data.out.nbytes)
        row.times[name] = time
        if time.fresh_share > FRESH:
            _note(row, name, "touches fresh memory in each call")
    return row


def _enter(cell: Cell, data: Arrays, row: Row) -> Iterator[Contestant]:
    """Make each contestant, run it once to compile, and compare what it computes with ours."""
    reference: Array | None = None
    for name, make in peers.contestants(cell, data):
        try:
            contestant = make()
            result = contestant.read(contestant.call())
        except Exception as error:  # whatever a peer throws belongs into its cell
            kind = "" if isinstance(error, peers.Absent) else f"{type(error).__name__}: "
            row.errors[name] = kind + str(error).split("\n", 1)[0]
            continue
        if name == "ours":
            reference = np.array(result, np.float64)
        elif name in PEERS and reference is not None:
            apart_eps = _apart_eps(np.asarray(result, np.float64), reference, data.out.dtype)
            if not apart_eps <= TOLERANCE_EPS:
                _note(row, name, f"differs from ours by {apart_eps:.3g} epsilons of 1 + |result|")
        if contestant.note:
            _note(row, name, contestant.note)
        yield contestant


def _apart_eps(result: Array, reference: Array, dtype: np.dtype[Any]) -> float:
    eps = float(finfo(dtype).eps)
    return float(np.max(np.abs(result - reference) / (1 + np.abs(reference)))) / eps


def _note(row: Row, name: str, text: str) -> None:
    row.notes[name] = "; ".join(filter(None, (row.notes.get(name), text)))


def _rounds(clocks: list[Clock], effort: Effort, least: int) -> None:
    start = perf_counter()
    for index in range(effort.most):
        if index >= least and perf_counter() - start > effort.budget_s:
            break
        first = index % len(clocks)
        for clock in clocks[first:] + clocks[:first]:
            if index % SELDOM.get(clock.contestant.name, 1) == 0:
                clock.turn()
