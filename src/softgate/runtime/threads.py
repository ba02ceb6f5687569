"""A pool of threads that divide the chunks of one array.

Kernels run without the GIL, so plain Python threads are enough. The caller also processes chunks
until none is left, and then waits only for chunks that a thread has begun: if the pool is busy, was
lost in a fork or is shutting down, a call is slower, but neither wrong nor deadlocked.
"""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

Chunk = Callable[[int, int], None]

MIN_CHUNK_BYTES = 1 << 18
"""A chunk of fewer bytes takes less time than waking a thread."""

ALIGNMENT = 64
"""Chunks begin on multiples of this many elements, so that no two threads share a cache line."""


class Job:
    """One array divided into chunks, which the caller and pool threads take in turn."""

    def __init__(self, chunk: Chunk, count: int, step: int) -> None:
        self.chunk, self.count, self.step = chunk, count, step
        self.chunks = -(-count // step)
        self._finished: SimpleQueue[int | BaseException] = SimpleQueue()
        self._next, self._joined, self._left, self._lock = 0, 0, 0, threading.Lock()

    def run(self) -> None:
        """Process chunks until none is left, then wait for those of other threads.

        Raises the exception of a chunk that failed.
        """
        done = self._process()
        while done < self.chunks:
            report = self._finished.get()
            if isinstance(report, BaseException):
                raise report
            done += report

    def help(self) -> None:
        """Process chunks on a pool thread, unless none is left."""
        with self._lock:
            if self._next >= self.chunks:
                return
            self._joined += 1
        try:
            report: int | BaseException = self._process()
        except BaseException as error:
            report = error
        with self._lock:
            self._left += 1
        self._finished.put(report)

    def _process(self) -> int:
        """Process chunks until none is left and return their number."""
        done = 0
        while (index := self._take()) < self.chunks:
            start = index * self.step
            self.chunk(start, min(start + self.step, self.count))
            done += 1
        return done

    def _take(self) -> int:
        with self._lock:
            index = self._next
            self._next += 1
        return index

    def stop(self) -> None:
        """Wait until no pool thread processes a chunk; a further interrupt does not end the wait.

        Polled: an interrupt in `SimpleQueue.get` can lose the item that it would return.
        """
        while True:
            try:
                self._next = self.chunks
                with self._lock:
                    running = self._joined - self._left
                if not running:
                    return
                time.sleep(1e-4)
            except KeyboardInterrupt:
                continue


class ThreadPool:
    """Daemon threads that wait for jobs; started when needed, discarded after a fork."""

    def __init__(self) -> None:
        self.size = available()
        self._start()
        if hasattr(os, "register_at_fork"):  # Windows has no fork
            os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._workers, self._lock = 0, threading.Lock()

    def run(self, chunk: Chunk, count: int, item_bytes: int, size: int | None = None) -> None:
        """Call `chunk(start, stop)` over range(count), on several threads if that is faster.

        Uses at most `size` threads, by default the size of the pool.
        """
        threads = self.plan(count, item_bytes, size)
        if threads == 1:
            chunk(0, count)
            return
        share = -(-count // (threads * 4))
        step = max(-(-share // ALIGNMENT) * ALIGNMENT, MIN_CHUNK_BYTES // item_bytes)
        job = Job(chunk, count, step)
        self._grow(threads - 1)
        try:
            for _ in range(threads - 1):
                self._jobs.put(job)
            job.run()
        except BaseException:  # an interrupt too: nothing is written after the call has ended
            job.stop()
            raise

    def plan(self, count: int, item_bytes: int, size: int | None = None) -> int:
        """Return how many threads `run` would use."""
        return max(1, min(size or self.size, count * item_bytes // (2 * MIN_CHUNK_BYTES)))

    def _grow(self, workers: int) -> None:
        with self._lock:
            while self._workers < workers:
                thread = threading.Thread(
                    target=_serve, args=(self._jobs,), name="softgate", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is shutting down: the caller works alone
                    return
                self._workers += 1


def _serve(jobs: SimpleQueue[Job]) -> None:
    while True:
        jobs.get().help()


def available() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


POOL = ThreadPool()


def set_threads(n: int) -> None:
    """Use `n` threads for large arrays from now on, in this process.

    Parameters
    ----------
    n : int
        At least 1. The default is the number of cores this process may use.

    Examples
    --------
    >>> import softgate as sg
    >>> before = sg.get_threads()
    >>> sg.set_threads(1)
    >>> sg.get_threads()
    1
    >>> sg.set_threads(before)
    """
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"threads = {n!r}: expected a whole number of at least 1")
    if (size := operator.index(n)) < 1:
        raise ValueError(f"threads = {n}: expected a whole number of at least 1")
    POOL.size = size


def get_threads() -> int:
    """Return how many threads large arrays use: all cores this process may use, unless set.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.get_threads() >= 1
    True
    """
    return POOL.size
