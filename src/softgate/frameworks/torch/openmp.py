"""Chunks of an array on torch's threads.

Between operators torch's OpenMP threads spin. A second pool would compete with them for the cores:
on two cores an activation of 256 K elements took twice the time. So chunks are passed to the OpenMP
runtime that torch is linked with. If there is none (torch built without OpenMP, or with another
runtime), softgate's pool is used; also in a forked child, where OpenMP's threads no longer exist
and a call would deadlock, even if the fork preceded the import of softgate but not that of torch.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch

from softgate.runtime import kernels
from softgate.runtime.arrays import SERIAL
from softgate.runtime.routes import Route, Runner
from softgate.runtime.threads import ALIGNMENT, POOL

WORTH = 1 << 16
"""Least bytes read and written per thread: a spinning thread takes work in 2 µs."""

CHUNKS = 4
"""Chunks per thread, so that a slow thread delays the others little."""

Start = Callable[[int, int, int, int], None]


@cache
def _openmp() -> Start | None:
    """Return GOMP_parallel(function, argument, threads, flags) of torch's OpenMP, or None."""
    folder = Path(torch.__file__).parent / "lib"
    for library in sorted(folder.glob("libtorch_cpu.so*")):
        start = getattr(ctypes.CDLL(str(library)), "GOMP_parallel", None)
        if start is not None:
            start.restype = None
            start.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
            return start
    return None


FORKED_WITHOUT_EXEC = 0x40
"""Linux's flag of a process that forked and did not exec."""
STATUS = Path("/proc/self/stat")


def _born_by_fork() -> bool:
    """Return whether this process was forked without exec; False if that is unknown."""
    try:
        after_name = STATUS.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return bool(int(after_name[6]) & FORKED_WITHOUT_EXEC)


_WITH_THREADS = None if _born_by_fork() else os.getpid()
"""The process that may have live OpenMP threads; its forked children have none."""


def _start() -> Start | None:
    return _openmp() if os.getpid() == _WITH_THREADS else None


def plan(count: int, item_bytes: int) -> int:
    """Return the number of threads for `count` elements of `item_bytes` read and written each."""
    if count < SERIAL:
        return 1
    size = torch.get_num_threads()
    if _start() is None:
        return POOL.plan(count, item_bytes, size)
    return max(1, min(size, count * item_bytes // WORTH))


def run(runner: Runner, count: int, item: int, addresses: tuple[int, ...]) -> None:
    """Call a kernel over operands of `count` elements of `item` bytes, on torch's threads."""
    threads = plan(count, item * len(addresses))
    if threads == 1:
        runner.run(*addresses, runner.address, count)
        return
    start = _start()
    if start is None:

        def chunk(first: int, stop: int) -> None:
            offset = first * item
            runner.run(*(a + offset for a in addresses), runner.address, stop - first)

        POOL.run(chunk, count, item * len(addresses), threads)
        return
    share = -(-count // (threads * CHUNKS))
    step = -(-share // ALIGNMENT) * ALIGNMENT
    words = (0, count, step, item, runner.code, runner.address, *addresses)
    job = (ctypes.c_int64 * len(words))(*words)
    start(_share(len(addresses)), ctypes.addressof(job), threads, 0)


def run_rows(
    route: Route,
    shape: tuple[int, int],
    item: int,
    distances: Sequence[int],
    addresses: Sequence[int],
) -> None:
    """Call a kernel over rows and columns; each operand has a row stride."""
    (rows, columns), operands = shape, len(addresses)
    threads = plan(rows * columns, item * operands)
    if threads > 1 and rows < threads * CHUNKS:  # too few to be divided among the threads
        for row in range(rows):
            moved = (a + row * d * item for a, d in zip(addresses, distances, strict=True))
            run(route.runner(), columns, item, tuple(moved))
        return
    share_rows(route.runner(rows=True), threads, shape, item, distances, addresses)


def share_rows(
    runner: Runner,
    threads: int,
    shape: tuple[int, int],
    item: int,
    distances: Sequence[int],
    addresses: Sequence[int],
) -> None:
    """Divide the rows among threads; for a kernel that runs over rows."""
    (rows, columns), operands = shape, len(addresses)
    start = _start() if threads > 1 else None
    if start is not None:
        step = -(-rows // (threads * CHUNKS))
        head = (0, rows, step, item, runner.code, runner.address)
        words = (*head, columns, *distances, *addresses)
        job = (ctypes.c_int64 * len(words))(*words)
        start(_share(operands, True), ctypes.addressof(job), threads, 0)
        return
    steps = (ctypes.c_int64 * operands)(*distances)
    place = ctypes.addressof(steps)
    if threads == 1:
        runner.run(*addresses, runner.address, place, columns, rows)
        return

    def chunk(first: int, stop: int) -> None:
        moved = (a + first * d * item for a, d in zip(addresses, distances, strict=True))
        runner.run(*moved, runner.address, place, columns, stop - first)

    POOL.run(chunk, rows, columns * item * operands, threads)


@cache
def _share(operands: int, rows: bool = False) -> int:
    from softgate.lower.llvm import compile_chunk_loop
    from softgate.lower.target import address_of

    made = kernels.once(("share", operands, rows), lambda: compile_chunk_loop(operands, rows))
    return address_of(made)
