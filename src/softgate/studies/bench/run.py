"""Runs a plan: opens the rooms, lets everybody of a cell take turns, makes rows of the times."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from ..peers import IMPLEMENTATIONS
from .inputs import dtype_of, finfo
from .interleave import Score, play, statistics
from .plan import Cell, Plan
from .record import COPY, OURS, Row
from .system_load import Bystanders
from .worker_pool import BenchWorker, RemoteCall, WorkerDied, WorkerPool

Progress = Callable[[str, int, int], None]

TOLERANCE_EPS = 32
"""Whoever is further from ours, in epsilons of 1 + |result|, computes something else."""

BURNING = 0.1
"""From this share of a core on, what a framework burns between its turns is worth a note."""


@dataclass
class Entered:
    """Who takes part in a cell: a seat in a room, and what the first call told."""

    call: RemoteCall
    first_call_ms: float
    sample: tuple[float, ...]
    notes: list[str]


@dataclass
class Study:
    """A plan being run."""

    plan: Plan
    progress: Progress | None = None
    rows: list[Row] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    """What others took of all cores, for each group of cells."""

    def run(self) -> None:
        """Time every cell; the time that is left is shared out among the cells that are left."""
        end = perf_counter() + self.plan.settings.budget_s
        done, entering_s = 0, 0.0
        for (threads, buffers), cells in self.plan.groups():
            homes = self.plan.homes(cells)
            self._say("starting " + ", ".join(homes), done)
            with WorkerPool(homes, threads, buffers == "reused", self.plan.settings.seed) as pool:
                self._note_closed(pool)
                bystanders = Bystanders(pool.cpu_s)
                for cell in cells:
                    self._say(str(cell), done)
                    start = perf_counter()
                    entered = self._enter(cell, pool)
                    entering_s += perf_counter() - start
                    done += 1
                    left = len(self.plan.cells) - done + 1
                    budget_s = (end - perf_counter()) / left - entering_s / done
                    self._time(cell, entered, max(0.0, budget_s))
                    _leave(pool)
                self._after(pool, bystanders, threads)
        self._say("done", done)

    def _say(self, what: str, done: int) -> None:
        if self.progress is not None:
            self.progress(what, done, len(self.plan.cells))

    def _note_closed(self, pool: WorkerPool) -> None:
        for home, why in pool.errors.items():
            self.not_run.append(f"{home} could not be started: {why}")
        for worker in pool.workers.values():
            if worker.remark and worker.remark not in self.remarks:
                self.remarks.append(worker.remark)

    def _enter(self, cell: Cell, pool: WorkerPool) -> dict[str, Entered]:
        """Make everybody's call and run it once; who throws gets a row that says so."""
        entered: dict[str, Entered] = {}
        for number, (name, message) in enumerate(self._contestants(cell)):
            home = "numpy" if name == COPY else IMPLEMENTATIONS[name].home
            if home in pool.errors:
                continue
            worker = pool.workers[home]
            answer = _asked(worker, number, message, cell)
            if "error" in answer:
                self.rows.append(_row(cell, name, error=answer["error"]))
                continue
            sample, notes = tuple(answer["sample"]), answer["notes"]
            entered[name] = Entered(
                RemoteCall(worker, number), answer["first_call_ms"], sample, notes
            )
            if name not in (OURS, COPY) and OURS in entered:
                notes += differs(sample, entered[OURS].sample, cell.dtype)
        return entered

    def _contestants(self, cell: Cell) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, peer in self.plan.peers(cell).items():
            if name == OURS:
                yield name, {"activation": pickled(cell.activation), "peer": None}
            else:
                yield name, {"activation": None, "peer": peer.message()}
        yield COPY, {"activation": None, "peer": None}

    def _time(self, cell: Cell, entered: dict[str, Entered], budget_s: float) -> None:
        scores = play([one.call for one in entered.values()], budget_s)
        for (name, one), score in zip(entered.items(), scores, strict=True):
            self.rows.append(_timed(cell, name, one, score))

    def _after(self, pool: WorkerPool, bystanders: Bystanders, threads: int) -> None:
        share = bystanders.share()
        if share is not None:
            self.shares.append(share)
        for worker in pool.workers.values():
            burnt = worker.burnt_s / worker.waited_s if worker.waited_s else 0.0
            if burnt > BURNING:
                cores = "1 thread" if threads == 1 else f"{threads} threads"
                self.remarks.append(
                    f"{worker.home} kept {burnt:.0%} of a core busy between its turns, with {cores}"
                )

    @property
    def others_share(self) -> float | None:
        """What others took of all cores while cells were timed."""
        return median(self.shares) if self.shares else None


def _asked(worker: BenchWorker, number: int, message: dict[str, Any], cell: Cell) -> dict[str, Any]:
    task = {
        "quantity": cell.quantity, "dtype": cell.dtype, "count": cell.count, "inputs": cell.inputs,
    }  # fmt: skip
    try:
        return worker.request("enter", number=number, **message, **task)
    except WorkerDied as died:
        return {"error": str(died)}


def _leave(pool: WorkerPool) -> None:
    for home, worker in pool.workers.items():
        if home not in pool.errors and worker.alive:
            with suppress(WorkerDied):  # it is started again for the next cell
                worker.request("leave")


def _row(cell: Cell, name: str, **more: Any) -> Row:
    copied = name == COPY
    return Row(
        function=COPY if copied else label(cell.activation),
        implementation="numpy" if copied else name,
        quantity=cell.quantity,
        dtype=cell.dtype,
        count=cell.count,
        size=cell.size,
        threads=cell.threads,
        inputs=cell.inputs,
        buffers=cell.buffers,
        **more,
    )


def _timed(cell: Cell, name: str, one: Entered, score: Score) -> Row:
    found = statistics(score)
    if found is None or one.call.error:
        return _row(cell, name, error=one.call.error or "no turn was timed")
    return _row(
        cell,
        name,
        least_ns=found.least_ns / cell.count,
        median_ns=found.median_ns / cell.count,
        spread=found.spread,
        doubt=found.doubt,
        calls=found.calls,
        first_call_ms=one.first_call_ms,
        notes=tuple(one.notes),
    )


def differs(sample: tuple[float, ...], ours: tuple[float, ...], dtype: str) -> list[str]:
    """Return a note where results are not ours; NaN and infinities must be where ours are."""
    theirs, reference = np.array(sample), np.array(ours)
    if theirs.shape != reference.shape:
        return [f"returned {theirs.size} results where ours has {reference.size}"]
    eps = float(finfo(dtype_of(dtype)).eps)
    finite = np.isfinite(reference)
    same = (theirs == reference) | (np.isnan(theirs) & np.isnan(reference))
    if not same[~finite].all() or not np.isfinite(theirs[finite]).all():
        return ["differs from ours in NaN or infinity"]
    apart = np.abs(theirs[finite] - reference[finite]) / (1 + np.abs(reference[finite])) / eps
    worst = float(apart.max(initial=0.0))
    if worst <= TOLERANCE_EPS:
        return []
    return [f"differs from ours by {worst:.3g} epsilons of 1 + |result|"]


def pickled(activation: Activation) -> str:
    """Return an activation as text that another process makes it of."""
    return base64.b64encode(pickle.dumps(activation)).decode("ascii")
