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
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from softgate.runtime import threads
from softgate.runtime.routes import Runner
from softgate.runtime.threads import POOL, SERIAL, Start

WORTH = 1 << 16
"""Least bytes read and written per thread: a spinning thread takes work in 2 µs."""


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


def start() -> Start:
    """Return what calls a function on threads: OpenMP, or softgate's pool."""
    openmp = _openmp() if os.getpid() == _WITH_THREADS else None
    return POOL.start if openmp is None else openmp


def plan(count: int, item_bytes: int) -> int:
    """Return the number of threads for `count` elements of `item_bytes` read and written each."""
    if count < SERIAL:
        return 1
    size = torch.get_num_threads()
    if start() == POOL.start:
        return POOL.plan(count, item_bytes, size)
    return max(1, min(size, count * item_bytes // WORTH))


def run(runner: Runner, count: int, item: int, addresses: Sequence[int]) -> None:
    """Call a kernel over operands of `count` elements of `item` bytes, on torch's threads."""
    size = plan(count, item * len(addresses))
    if size == 1:
        runner.run(*addresses, runner.address, count)
    else:
        threads.share(start(), size, runner.kernel, count, item, addresses)
