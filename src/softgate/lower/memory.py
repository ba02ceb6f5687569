"""Whether there is memory for LLVM, which ends the process if an allocation fails."""

from __future__ import annotations

import mmap

COMPILING = 1 << 26
"""Bytes for compiling a kernel: a kernel of the catalogue needs at most a quarter of them."""
LOADING = 1 << 28
"""Bytes for loading LLVM and compiling a first kernel."""


def check_memory(size: int = COMPILING) -> None:
    """Raise MemoryError if the system does not provide `size` bytes; they are not used."""
    flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
    try:
        (mmap.mmap(-1, size, flags=flags) if flags else mmap.mmap(-1, size)).close()
    except (OSError, MemoryError):
        raise MemoryError(
            f"compiling a kernel needs {size >> 20} MB, which the system does not provide: end "
            "other programs, or raise the limit (ulimit -v)"
        ) from None
