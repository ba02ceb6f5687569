"""A pool of threads that divide one array, and how its elements or rows are divided.

Kernels run without the GIL, so plain Python threads are enough. The caller also takes chunks until
none is left, and then waits only for chunks that a thread has begun: if the pool is busy, was lost
in a fork or is shutting down, a call is slower, but neither wrong nor deadlocked.

The caller takes chunks and waits in one call of compiled code. Python raises an interrupt when that
has returned, so nothing is written after a call has ended, however it ends.
"""

from __future__ import annotations

import ctypes
import operator
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from queue import SimpleQueue

Start = Callable[[int, int, int, int], None]
"""start(function, job, threads, 0) calls function(job) on threads, the calling one included.

It returns when all calls have ended. OpenMP's GOMP_parallel is one; addresses are integers."""
Plan = Callable[[int, int], int]
"""plan(count, item) returns the number of threads for `count` elements of `item` bytes."""

MIN_CHUNK_BYTES = 1 << 18
"""Fewer bytes are computed in less time than waking a thread takes."""

ALIGNMENT = 64
"""Chunks begin on multiples of this many elements, so that no two threads share a cache line."""

SERIAL = 1 << 14
"""Shorter arrays are always computed on one thread."""

CHUNKS = 4
"""Chunks per thread, so that a slow thread delays the others little."""


THREADS = ctypes.c_int64(1)
"""The number of threads for large arrays, which compiled code reads."""


class ThreadPool:
    """Daemon threads that wait for jobs; started when needed, discarded after a fork."""

    def __init__(self) -> None:
        self.size = available()
        self._reset()
        if hasattr(os, "register_at_fork"):  # Windows has no fork
            os.register_at_fork(after_in_child=self._reset)

    @property
    def size(self) -> int:
        """The number of threads for large arrays."""
        return THREADS.value

    @size.setter
    def size(self, size: int) -> None:
        THREADS.value = size

    def _reset(self) -> None:
        self._jobs: SimpleQueue[tuple[ctypes.c_int64, int, int]] = SimpleQueue()
        self._workers, self._lock = 0, threading.Lock()

    def start(self, function: int, job: int, threads: int, flags: int = 0) -> None:
        """Call function(job) on threads as `Start` describes."""
        state = ctypes.c_int64(0)
        run = _on_thread()
        self._grow(threads - 1)
        for _ in range(threads - 1):
            self._jobs.put((state, function, job))
        # Until here an interrupt leaves a job that no thread begins.
        run(ctypes.addressof(state), function, job, True)

    def plan(self, count: int, item_bytes: int, size: int | None = None) -> int:
        """Return how many threads `count` elements of `item_bytes` read and written are worth."""
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


def _serve(jobs: SimpleQueue[tuple[ctypes.c_int64, int, int]]) -> None:
    run = _on_thread()
    while True:
        state, function, job = jobs.get()
        run(ctypes.addressof(state), function, job, False)


@cache
def _on_thread() -> Callable[..., None]:
    from softgate.lower.native import compile_on_thread

    from . import kernels

    if sys.platform == "win32":
        sleep, duration = ctypes.WinDLL("kernel32").Sleep, 1  # ms
    else:
        sleep, duration = ctypes.CDLL(None).usleep, 50
    return kernels.once("on_thread", lambda: compile_on_thread(address_of(sleep), duration))


def share(
    start: Start,
    threads: int,
    kernel: tuple[int, int],
    count: int,
    item: int,
    addresses: Sequence[int],
) -> None:
    """Run a kernel over operands of `count` elements of `item` bytes on threads.

    `kernel` has the addresses of its code and of what it reads besides its operands.
    """
    step = -(-count // (threads * CHUNKS * ALIGNMENT)) * ALIGNMENT
    words = (0, count, step, item, *kernel, *addresses)
    job = (ctypes.c_int64 * len(words))(*words)
    start(address_of(chunk_loop(len(addresses))), ctypes.addressof(job), threads, 0)


def run_rows(
    start: Start,
    plan: Plan,
    kernel: tuple[int, int],
    shape: tuple[int, int],
    item: int,
    distances: Sequence[int],
    addresses: Sequence[int],
) -> None:
    """Run a kernel over rows of adjacent elements; each operand has a row stride in elements."""
    (rows, columns), operands = shape, len(addresses)
    moved = item * operands
    threads = plan(rows * columns, moved)
    if threads > 1 and rows < threads * CHUNKS and plan(columns, moved) == threads:
        for row in range(rows):
            moved_by = (a + row * d * item for a, d in zip(addresses, distances, strict=True))
            share(start, threads, kernel, columns, item, tuple(moved_by))
        return
    share_rows(start, threads, kernel, shape, item, distances, addresses)


def share_rows(
    start: Start,
    threads: int,
    kernel: tuple[int, int],
    shape: tuple[int, int],
    item: int,
    distances: Sequence[int],
    addresses: Sequence[int],
) -> None:
    """Divide rows among threads; of 0 columns, a kernel is called once for many rows."""
    (rows, columns), operands = shape, len(addresses)
    step = -(-rows // (threads * CHUNKS))
    words = (0, rows, step, item, *kernel, columns, *distances, *addresses)
    job = (ctypes.c_int64 * len(words))(*words)
    if threads == 1:
        chunk_loop(operands, True)(ctypes.addressof(job))
    else:
        start(address_of(chunk_loop(operands, True)), ctypes.addressof(job), threads, 0)


LONG_ROW = 64
"""Elements of rows for each of which a kernel is called: the call takes as long as 50 elements."""


def run_blocks(
    kernel: tuple[int, int],
    shape: tuple[int, int],
    results: int,
    layouts: Sequence[int],
    addresses: Sequence[int],
) -> None:
    """Run a kernel over rows of adjacent elements; short ones are copied to dense blocks.

    `layouts` has for each operand, results first, the distance of rows and the size of an element
    in bytes.
    """
    (rows, columns), operands, item = shape, len(addresses), layouts[1]
    threads = 1
    if POOL.size > 1 and rows * columns >= SERIAL:
        distances, sizes = layouts[::2], layouts[1::2]
        equal = set(sizes) == {item} and not any(distance % item for distance in distances)
        if columns >= LONG_ROW and equal:
            moved_by = [distance // item for distance in distances]
            run_rows(POOL.start, POOL.plan, kernel, shape, item, moved_by, addresses)
            return
        threads = min(rows, POOL.plan(rows * columns, sum(sizes)))
    step = rows if threads == 1 else -(-rows // (threads * CHUNKS))
    words = (0, rows, step, item, *kernel, columns, *layouts, *addresses)
    job, run = (ctypes.c_int64 * len(words))(*words), block_loop(results, operands)
    if threads == 1:
        run(ctypes.addressof(job))
    else:
        POOL.start(address_of(run), ctypes.addressof(job), threads, 0)


@cache
def block_loop(results: int, operands: int) -> Callable[..., None]:
    """Return the loop over rows in blocks for kernels with `operands` operands."""
    from softgate.lower.native import compile_block_loop

    from . import kernels

    key = "blocks", results, operands
    return kernels.once(key, lambda: compile_block_loop(results, operands))


@cache
def chunk_loop(operands: int, rows: bool = False) -> Callable[..., None]:
    """Return the loop that threads run for kernels with `operands` operands."""
    from softgate.lower.native import compile_chunk_loop

    from . import kernels

    return kernels.once(("share", operands, rows), lambda: compile_chunk_loop(operands, rows))


def address_of(function: Callable[..., None]) -> int:
    """Return the address of a compiled function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


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
