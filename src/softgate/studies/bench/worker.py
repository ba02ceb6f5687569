"""A worker process that times the calls of one framework with one thread count.

Frameworks have spinning threads, allocators and global settings, and would disturb each other in
one process. A worker that is not timing blocks on a read of its standard input.
"""

from __future__ import annotations

import base64
import gc
import os
import pickle
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from time import perf_counter, perf_counter_ns, process_time
from typing import Any

import numpy as np

from softgate.records.text import first_line

from ..subjects.backends import NumPyBackend
from ..subjects.description import from_message
from ..subjects.loading import load as load_subject
from ..subjects.peers import Peer
from ..subjects.peers.timed_call import BenchTask, TimedCall, UnsupportedCall, load
from ..subjects.worker import ParentConnection, c_function
from .inputs import arrays

SAMPLE_S = 1e-4
"""Shorter calls are timed in groups, since reading the clock takes a tenth of a microsecond."""

TURN_S = 2e-3
MOST_SAMPLES = 10
MIDDLE_S, LONG_S = 1e-3, 2e-2
"""From the first length on, the call that warms the caches is timed too: on a busy machine the time
slice may end after it. From the second length on, there is no call to warm the caches."""

COMPARED = 64
"""Number of results, spread over the output, that are compared with softgate's."""

SAVED_COUNT = 4096
"""Elements of the array for which saved bytes are counted: enough that scalars do not matter."""

M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD = -4, -1, -2


class RequestHandler:
    """The prepared calls of one cell; the public methods handle the requests of the parent."""

    def __init__(self, framework: str, threads: int, reused: bool, seed: int) -> None:
        self.reused, self.seed = reused, seed
        if reused:
            keep_freed_memory()
        self.framework = import_module(f"..subjects.peers.{framework}_calls", __package__)
        pin(threads)
        self.remark = self.framework.start(threads)
        self._arrays: tuple[Any, Any] = (None, None)
        self._clocks: dict[int, CallClock] = {}
        gc.disable()
        gc.freeze()  # `release` would otherwise traverse all objects of the framework

    def prepare(
        self,
        number: int,
        *,
        peer: Mapping[str, Any] | None = None,
        activation: str | None = None,
        passed: Mapping[str, Any] | None = None,
        **task: Any,
    ) -> dict[str, Any]:
        """Prepare a call and run it once; return the time of that run and a sample of results."""
        x, grad, out = self._data(task)
        code = None if passed is None else loaded(passed)
        if peer is not None and peer["subject"]:
            import_module(peer["subject"].partition(":")[0])  # not part of the first call
        start = perf_counter()
        what = BenchTask(task["quantity"], x, grad, out, self.reused)
        timed = self._make(peer, activation, what) if code is None else self._passed(code, what)
        result = timed.call()
        first_s = perf_counter() - start
        if timed.operand is not None and result is timed.operand:
            raise UnsupportedCall("returns its input unchanged: there is nothing to time")
        values = np.asarray(timed.read(result)).ravel()
        step = max(1, values.size // COMPARED)
        self._clocks[number] = CallClock(timed)
        return {
            "first_call_ms": 1e3 * first_s,
            "sample": [float(value) for value in values[::step][:COMPARED]],
            "notes": list(timed.notes),
        }

    def _data(self, task: Mapping[str, Any]) -> Any:
        key = (task["inputs"], task["dtype"], task["count"])
        if self._arrays[0] != key:
            self._arrays = (None, None)  # frees memory before the next arrays are allocated
            self._arrays = (key, arrays(*key, self.seed))
        return self._arrays[1]

    def _make(
        self, peer: Mapping[str, Any] | None, activation: str | None, task: BenchTask
    ) -> TimedCall:
        timed: TimedCall
        if activation is not None:
            timed = self.framework.ours(pickle.loads(base64.b64decode(activation)), task)
        elif peer is not None:
            timed = self.framework.make(Peer.of(peer), task)
        else:
            timed = self.framework.copy(task)
        return timed

    def _passed(self, function: Callable[[Any], Any], task: BenchTask) -> TimedCall:
        make = getattr(self.framework, "as_passed", self.framework.of_function)
        timed: TimedCall = make(function, task)
        return timed

    def turn(self, number: int) -> dict[str, Any]:
        """Return the times of one turn of a prepared call."""
        return self._clocks[number].turn()

    def release(self) -> dict[str, Any]:
        """Drop the prepared calls and the memory that they hold."""
        self._clocks.clear()
        gc.collect()
        return {}

    def saved_bytes(self, peers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the bytes per element that peers save for backward, None for one that raises."""
        saved: dict[str, float | None] = {}
        for peer in map(Peer.of, peers):
            try:
                total = self.framework.saved_bytes(load(peer), SAVED_COUNT)
            except Exception:  # a peer may raise anything
                saved[peer.implementation] = None
            else:
                saved[peer.implementation] = total / SAVED_COUNT
        return saved


def loaded(passed: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return the function that a message describes."""
    backend = load_subject(from_message(passed)).value
    assert isinstance(backend, NumPyBackend), "formulas are activations"
    return backend.function


class CallClock:
    """Times a call; chooses the number of calls per time and of times per turn."""

    def __init__(self, timed: TimedCall) -> None:
        self.call = timed.call
        once_s = self._once_s()
        if once_s < 5 * LONG_S:  # the caches are warm now; the first may have been interrupted
            once_s = min(once_s, self._once_s())
        self.calls = max(1, round(SAMPLE_S / max(once_s, 1e-8)))
        warm = min(MOST_SAMPLES, max(1, round(TURN_S / (once_s * self.calls))))
        self.warms = once_s < MIDDLE_S
        self.samples = warm + 1 if MIDDLE_S <= once_s < LONG_S else warm

    def _once_s(self) -> float:
        start = perf_counter()
        self.call()
        return perf_counter() - start

    def turn(self) -> dict[str, Any]:
        """Warm the caches, time the calls, and return the times."""
        call, calls = self.call, range(self.calls)
        times = []
        begun = perf_counter()
        if self.warms:
            call()
        for _ in range(self.samples):
            start = perf_counter_ns()
            for _ in calls:
                call()
            times.append((perf_counter_ns() - start) / self.calls)
        return {"times_ns": times, "spent_s": perf_counter() - begun}


def pin(threads: int) -> None:
    """Bind this process to `threads` cores; some libraries use a thread for each core."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-threads:])  # the first cores serve most interrupts


def keep_freed_memory() -> None:
    """Make glibc keep freed memory, so that calls without `out` do not cause page faults."""
    mallopt = c_function("mallopt")
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(M_TOP_PAD, 1 << 26)


def error_text(error: BaseException) -> str:
    """Return the type and the first line of an error."""
    first = first_line(error)
    return first if isinstance(error, UnsupportedCall) else f"{type(error).__name__}: {first}"


def main() -> None:
    """Reply to the parent's requests until end of file."""
    parent = ParentConnection()
    calls: RequestHandler | None = None
    for request in parent.messages():
        action = request.pop("do")
        idle_s = process_time()
        try:
            if action == "open":
                calls = RequestHandler(**request)
                answer: dict[str, Any] = {"remark": calls.remark}
            else:
                answer = getattr(calls, action)(**request)
        except Exception as error:  # a peer may raise anything; its cell shows the error
            answer = {"error": error_text(error)}
        parent.send(answer | {"cpu_s": process_time(), "cpu_before_s": idle_s})
