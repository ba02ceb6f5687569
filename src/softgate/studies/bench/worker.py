"""A process of its own for one framework and one number of threads: what runs on its far side.

Frameworks bring threads that spin, allocators and switches of their own; in one process they would
disturb each other. So each has a room, and whoever is not having a turn waits for a line on its
standard input. Lines are JSON; what libraries print goes to standard error.
"""

from __future__ import annotations

import base64
import gc
import os
import pickle
from collections.abc import Mapping
from importlib import import_module
from time import perf_counter, perf_counter_ns, process_time
from typing import Any

import numpy as np

from ..peers import Peer
from ..peers.timed_call import Absent, Task, TimedCall
from ..worker import Parent, c_function
from .inputs import arrays

SAMPLE_S = 1e-4
"""Calls shorter than this are timed several at once: a clock costs a tenth of a microsecond."""

TURN_S = 2e-3
MOST_SAMPLES = 10
MIDDLE_S, LONG_S = 1e-3, 2e-2
"""From the first on, the call that warms the caches counts too: when it is over, so is the slice of
time that a busy machine gives, and the next one is interrupted. A long call warms its own caches.
"""

COMPARED = 64
"""So many results, spread over the output, are compared with ours."""

M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD = -4, -1, -2


class Calls:
    """The contestants of one cell, and how they are called."""

    def __init__(self, home: str, threads: int, reused: bool, seed: int) -> None:
        self.reused, self.seed = reused, seed
        if reused:
            keep_freed_memory()
        self.calls = import_module(f"..peers.calls.{home}", __package__)
        pin(threads)
        self.remark = self.calls.start(threads)
        self._arrays: tuple[Any, Any] = (None, None)
        self._playing: dict[int, Playing] = {}
        gc.disable()
        gc.freeze()  # else each collection looks through all that a framework has imported

    def enter(
        self, number: int, peer: Mapping[str, Any] | None, activation: str | None, **task: Any
    ) -> dict[str, Any]:
        """Make a contestant, call it once, and tell what that took and what came out."""
        x, grad, out = self._data(task)
        given = Task(task["quantity"], x, grad, out, self.reused)
        if peer is not None and peer["subject"]:
            import_module(peer["subject"].partition(":")[0])  # an import is no part of a call
        start = perf_counter()
        contestant = self._make(peer, activation, given)
        result = contestant.call()
        first_s = perf_counter() - start
        if contestant.operand is not None and result is contestant.operand:
            raise Absent("hands back its input: there is nothing to time")
        values = np.asarray(contestant.read(result)).ravel()
        step = max(1, values.size // COMPARED)
        self._playing[number] = Playing(contestant)
        return {
            "first_call_ms": 1e3 * first_s,
            "sample": [float(value) for value in values[::step][:COMPARED]],
            "notes": list(contestant.notes),
        }

    def _data(self, task: Mapping[str, Any]) -> Any:
        key = (task["inputs"], task["dtype"], task["count"])
        if self._arrays[0] != key:
            self._arrays = (None, None)
            self._arrays = (key, arrays(*key, self.seed))
        return self._arrays[1]

    def _make(
        self, peer: Mapping[str, Any] | None, activation: str | None, task: Task
    ) -> TimedCall:
        if activation is not None:
            made: TimedCall = self.calls.ours(pickle.loads(base64.b64decode(activation)), task)
        elif peer is not None:
            made = self.calls.make(Peer.of(peer), task)
        else:
            made = self.calls.copy(task)
        return made

    def turn(self, number: int) -> dict[str, Any]:
        """Let a contestant take a turn."""
        return self._playing[number].turn()

    def leave(self) -> dict[str, Any]:
        """Forget the contestants and what they hold."""
        self._playing.clear()
        gc.collect()
        return {}


class Playing:
    """A contestant, how many calls make one time, and how many times one turn."""

    def __init__(self, contestant: TimedCall) -> None:
        self.call = contestant.call
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
        """Warm up, then call and time."""
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
    """Bind this process to so many cores: some libraries count cores when they first run."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-threads:])  # the first cores serve most interrupts


def keep_freed_memory() -> None:
    """Let who has no output argument get back the memory it freed, not fresh pages (glibc)."""
    mallopt = c_function("mallopt")
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(M_TOP_PAD, 1 << 26)


def error_text(error: BaseException) -> str:
    """Return what a contestant threw, in one line."""
    first = (str(error).strip() or "no message").splitlines()[0]
    return first if isinstance(error, Absent) else f"{type(error).__name__}: {first}"


def main() -> None:
    """Answer the parent's requests until it closes the connection."""
    parent = Parent()
    calls: Calls | None = None
    for request in parent.messages():
        action = request.pop("do")
        idle_s = process_time()
        try:
            if action == "open":
                calls = Calls(**request)
                answer: dict[str, Any] = {"remark": calls.remark}
            else:
                answer = getattr(calls, action)(**request)
        except Exception as error:  # any error of a peer belongs in its cell
            answer = {"error": error_text(error)}
        parent.send(answer | {"cpu_s": process_time(), "cpu_before_s": idle_s})
