"""Runs a plan: starts the workers, times the calls of each cell in turns, and makes the rows.

Each framework runs in a separate worker process, which is restarted when it dies.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any, Self

import numpy as np

from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from .. import Progress, counted
from ..subjects import PassedFunction
from ..subjects.peers import IMPLEMENTATIONS, Peer
from ..subjects.worker import Worker
from .inputs import dtype_of, finfo
from .interleave import SystemLoad, TurnSeries, TurnTimes, interleave, statistics
from .plan import BenchCell, BenchPlan
from .record import COPY, OURS, SETTING, BenchRow

START_S, CALL_S = 300.0, 300.0
"""Time limits for importing a framework, and for a first call or a turn."""

PAUSE_S = 0.003
"""Pause between two turns: a framework's threads spin for a while after its last call."""

IDLE_S = 0.005
"""A shorter gap between two messages is not idle time: reading and answering takes as long."""

SAVING = ("torch", "transformers", "softgate.torch", "jax", "softgate.jax")
"""Implementations for which the bytes saved for backward can be measured."""

EXIT_S = 10.0
"""Time that a worker may take to exit once its standard output is closed."""


class WorkerDied(Exception):
    """A worker exited, or did not reply within the time limit."""


class BenchWorker:
    """A process that times the calls of one framework."""

    def __init__(self, framework: str, threads: int, reused: bool, seed: int) -> None:
        self.framework, self.threads = framework, threads
        self.settings = {"framework": framework, "threads": threads, "reused": reused, "seed": seed}
        self.remark, self.cpu_s, self.burnt_s, self.waited_s = "", 0.0, 0.0, 0.0
        self.starts = 0
        """Number of starts: calls that were prepared before the last start are lost."""
        self._answered: float | None = None
        self._idle = False
        self._worker: Worker | None = None

    def start(self) -> None:
        """Start the process without waiting for it."""
        self._worker = Worker("softgate.studies.bench.worker")
        self._answered, self.cpu_s = None, 0.0
        self.starts += 1
        self._send({"do": "open", **self.settings})

    def wait_until_open(self) -> str:
        """Wait until the framework is imported; return the error, or an empty string."""
        answer = self._receive(START_S)
        self.remark = answer.get("remark", "")
        error: str = answer.get("error", "")
        return error

    @property
    def alive(self) -> bool:
        """Whether the process has been started and not closed."""
        return self._worker is not None

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Start the process if needed, send a request, return the reply; raise WorkerDied."""
        if self._worker is None:
            self.start()
            if error := self.wait_until_open():
                raise WorkerDied(error)
        self._send({"do": do, **arguments})
        return self._receive(CALL_S)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._worker is not None
        waited_s = 0.0 if self._answered is None else perf_counter() - self._answered
        self._idle = waited_s > IDLE_S
        if self._idle:
            self.waited_s += waited_s
        self._worker.send(message)

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        assert self._worker is not None
        try:
            answer = self._worker.receive(timeout_s)
        except TimeoutError:
            self.close()
            raise WorkerDied(f"gave no answer for {timeout_s:.0f} s and was killed") from None
        if answer is None:
            code, last_line = self._worker.kill(EXIT_S)
            self.close()
            raise WorkerDied(
                f"its process ended with status {code}" + (f": {last_line}" if last_line else "")
            )
        self._account(answer.pop("cpu_before_s"), answer.pop("cpu_s"))
        return answer

    def _account(self, before_s: float, after_s: float) -> None:
        """Add up the CPU time that the process used while no request was pending."""
        if self._idle:
            self.burnt_s += max(0.0, before_s - self.cpu_s)
        self.cpu_s, self._answered = after_s, perf_counter()

    def close(self) -> None:
        """Kill the process; `request` starts it again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()


class WorkerPool:
    """The workers of one thread count; they start together and end with the `with` block."""

    def __init__(self, frameworks: Sequence[str], threads: int, reused: bool, seed: int) -> None:
        self.workers = {name: BenchWorker(name, threads, reused, seed) for name in frameworks}
        self.errors: dict[str, str] = {}
        """Why a worker could not be started, by its framework."""

    def __enter__(self) -> Self:
        try:
            for worker in self.workers.values():
                worker.start()
            for framework, worker in self.workers.items():
                try:
                    error = worker.wait_until_open()
                except WorkerDied as died:
                    error = str(died)
                if error:
                    self.errors[framework] = error
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.close()

    def release(self) -> None:
        """Drop the prepared calls of all workers."""
        for framework, worker in self.workers.items():
            if framework not in self.errors and worker.alive:
                with suppress(WorkerDied):  # it is restarted for the next cell
                    worker.request("release")

    def cpu_s(self) -> float:
        """Return the CPU seconds that this process and the workers have used so far."""
        return process_time() + sum(worker.cpu_s for worker in self.workers.values())


class RemoteCall:
    """A timed call in a worker, as `interleave` runs it."""

    def __init__(self, worker: BenchWorker, number: int) -> None:
        self.worker, self.number, self.start = worker, number, worker.starts
        self.error = ""

    def turn(self) -> TurnTimes | None:
        """Time some calls; return None if one raised or the worker died."""
        if self.worker.starts != self.start or not self.worker.alive:
            self.error = "its process died in another call's turn"
            return None
        if self.worker.threads > 1:
            sleep(PAUSE_S)
        try:
            answer = self.worker.request("turn", number=self.number)
        except WorkerDied as died:
            self.error = str(died)
            return None
        if "error" in answer:
            self.error = answer["error"]
            return None
        return TurnTimes(tuple(answer["times_ns"]), answer["spent_s"])


TOLERANCE_EPS = 32
"""Tolerance, in epsilons of 1 + |result|, for results of a peer to be of the same function."""

BURNING = 0.1
"""Share of a core above which a framework's CPU use between its turns is remarked."""


@dataclass
class PreparedCall:
    """A prepared call, with the time of its first run and a sample of the results."""

    call: RemoteCall
    first_call_ms: float
    sample: tuple[float, ...]
    notes: list[str]


@dataclass
class BenchRun:
    """The execution of a plan, and the rows and remarks so far."""

    plan: BenchPlan
    progress: Progress | None = None
    rows: list[BenchRow] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    """Share of all cores that other processes used, for each group of cells."""

    def run(self) -> None:
        """Time every cell; the remaining time is divided among the remaining cells."""
        end = perf_counter() + self.plan.settings.budget_s
        done, preparing_s = 0, 0.0
        for (threads, buffers), cells in self.plan.groups():
            frameworks = self.plan.frameworks(cells)
            self._report("starting " + ", ".join(frameworks), done)
            with WorkerPool(
                frameworks, threads, buffers == "reused", self.plan.settings.seed
            ) as pool:
                self._note_starts(pool)
                load = SystemLoad(pool.cpu_s)
                for cell in cells:
                    self._report(str(cell), done)
                    start = perf_counter()
                    prepared = self._prepare(cell, pool)
                    preparing_s += perf_counter() - start
                    done += 1
                    left = len(self.plan.cells) - done + 1
                    budget_s = (end - perf_counter()) / left - preparing_s / done
                    self._time(cell, prepared, max(0.0, budget_s))
                    pool.release()
                self._note_load(pool, load, threads)
        self._report("done", done)

    def _report(self, label: str, done: int) -> None:
        if self.progress is not None:
            self.progress(label, done, len(self.plan.cells))

    def _note_starts(self, pool: WorkerPool) -> None:
        for framework, why in pool.errors.items():
            self.not_run.append(f"{framework} could not be started: {why}")
        for worker in pool.workers.values():
            if worker.remark and worker.remark not in self.remarks:
                self.remarks.append(worker.remark)

    def _prepare(self, cell: BenchCell, pool: WorkerPool) -> dict[str, PreparedCall]:
        """Prepare and run each call of a cell once; if it raises, add a row with the error."""
        prepared: dict[str, PreparedCall] = {}
        task = {name: getattr(cell, name) for name in ("quantity", "dtype", "count", "inputs")}
        for number, (name, framework, function) in enumerate(self._functions(cell)):
            if framework in pool.errors:
                continue
            worker = pool.workers[framework]
            try:
                answer = worker.request("prepare", number=number, **function, **task)
            except WorkerDied as died:
                answer = {"error": str(died)}
            if "error" in answer:
                self.rows.append(_row(cell, name, error=answer["error"]))
                continue
            sample, notes = tuple(answer["sample"]), answer["notes"]
            call, first_call_ms = RemoteCall(worker, number), answer["first_call_ms"]
            prepared[name] = PreparedCall(call, first_call_ms, sample, notes)
            if name not in (OURS, COPY) and OURS in prepared:
                notes += differs(sample, prepared[OURS].sample, cell.dtype)
        return prepared

    def _functions(self, cell: BenchCell) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the name of each call, the framework of its worker, and what it calls."""
        if isinstance(cell.function, PassedFunction):
            framework = cell.function.framework
            yield framework, framework, {"passed": cell.function.subject.message()}
        for name, peer in self.plan.peers(cell).items():
            if isinstance(cell.function, Activation) and name == OURS:
                yield name, OURS, {"activation": pickled(cell.function)}
            else:
                yield name, IMPLEMENTATIONS[name].framework, {"peer": peer.message()}
        yield COPY, OURS, {}

    def _time(self, cell: BenchCell, prepared: dict[str, PreparedCall], budget_s: float) -> None:
        timed = interleave([call.call for call in prepared.values()], budget_s)
        for (name, call), series in zip(prepared.items(), timed, strict=True):
            self.rows.append(_timed(cell, name, call, series))

    def _note_load(self, pool: WorkerPool, load: SystemLoad, threads: int) -> None:
        share = load.share()
        if share is not None:
            self.shares.append(share)
        for worker in pool.workers.values():
            burnt = worker.burnt_s / worker.waited_s if worker.waited_s else 0.0
            if burnt > BURNING:
                cores = counted(threads, "thread")
                self.remarks.append(
                    f"{worker.framework} used {burnt:.0%} of a core between its turns, with {cores}"
                )

    @property
    def background_load(self) -> float | None:
        """Share of all cores that other processes used while cells were timed."""
        return median(self.shares) if self.shares else None


def saved_bytes(peers: Iterable[Peer]) -> dict[str, float | None]:
    """Return the bytes per float32 element that implementations save for their backward.

    torch's hooks of saved tensors and the leaves of JAX's pullbacks count them. Other frameworks
    cannot be measured and are left out; None if a peer fails.
    """
    by_framework: dict[str, list[Peer]] = {}
    for peer in peers:
        if peer.implementation in SAVING:
            by_framework.setdefault(IMPLEMENTATIONS[peer.implementation].framework, []).append(peer)
    saved: dict[str, float | None] = {}
    with WorkerPool(tuple(by_framework), threads=1, reused=False, seed=0) as pool:
        for framework, group in by_framework.items():
            saved |= dict.fromkeys(peer.implementation for peer in group)
            if framework not in pool.errors:
                with suppress(WorkerDied):
                    messages = [peer.message() for peer in group]
                    saved |= pool.workers[framework].request("saved_bytes", peers=messages)
    return saved


def _row(cell: BenchCell, name: str, **more: Any) -> BenchRow:
    function, implementation = (COPY, "numpy") if name == COPY else (label(cell.function), name)
    setting: Any = {field: getattr(cell, field) for field in SETTING}
    row = BenchRow(function, implementation, **setting, **more)
    if name == COPY or not isinstance(cell.function, PassedFunction):
        return row
    identification = cell.function.identification
    if identification.activation is None:
        note = identification.not_elementwise or "no function of the catalogue has its values"
        return replace(row, notes=(*row.notes, note))
    same_as = label(identification.activation)
    note = f"its values are those of {same_as}: other implementations of that are listed there"
    return replace(row, same_as=same_as, notes=(*row.notes, note))


def _timed(cell: BenchCell, name: str, prepared: PreparedCall, series: TurnSeries) -> BenchRow:
    times = statistics(series.turns)
    if times is None or prepared.call.error:
        return _row(cell, name, error=prepared.call.error or "no turn was timed")
    return _row(
        cell,
        name,
        least_ns=times.least_ns / cell.count,
        median_ns=times.median_ns / cell.count,
        spread=times.spread,
        relative_uncertainty=times.relative_uncertainty,
        calls=times.calls,
        first_call_ms=prepared.first_call_ms,
        notes=tuple(prepared.notes),
    )


def differs(sample: tuple[float, ...], ours: tuple[float, ...], dtype: str) -> list[str]:
    """Return a note if results differ from softgate's, NaN and infinities included."""
    theirs, reference = np.array(sample), np.array(ours)
    if theirs.shape != reference.shape:
        return [f"returned {theirs.size} results, softgate {reference.size}"]
    eps = float(finfo(dtype_of(dtype)).eps)
    finite = np.isfinite(reference)
    same = (theirs == reference) | (np.isnan(theirs) & np.isnan(reference))
    if not same[~finite].all() or not np.isfinite(theirs[finite]).all():
        return ["differs from softgate in NaN or infinity"]
    apart = np.abs(theirs[finite] - reference[finite]) / (1 + np.abs(reference[finite])) / eps
    worst = float(apart.max(initial=0.0))
    if worst <= TOLERANCE_EPS:
        return []
    return [f"differs from softgate by {worst:.3g} epsilons of 1 + |result|"]


def pickled(activation: Activation) -> str:
    """Return an activation as text, for a JSON message to a worker."""
    return base64.b64encode(pickle.dumps(activation)).decode("ascii")
