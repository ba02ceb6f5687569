"""Huge pages for large results.

The first write to each page of fresh memory is a page fault. For results of 32 MB or more, which
the allocator returns to the system when they are freed, these faults take over half of a kernel's
time with pages of 4 KB. NumPy advises huge pages for its arrays, torch does not for its tensors.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

LEAST_BYTES = 1 << 22
"""Least size of a tensor for which huge pages are advised, as in NumPy."""

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""Linux's setting, for example "always [madvise] never"."""


def empty_like(x: torch.Tensor, **options: Any) -> torch.Tensor:
    """Return `torch.empty_like(x, **options)`, in huge pages if it is large."""
    result = torch.empty_like(x, **options)
    if result.nbytes >= LEAST_BYTES:
        advise(result)
    return result


def advise(x: torch.Tensor) -> torch.Tensor:
    """Advise huge pages for the memory of a new tensor, and return the tensor."""
    if used_for(x.nbytes) and x.device.type == "cpu":
        # Only pages that lie entirely inside: the rest of the first and last may be in use.
        start = -(-x.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
        stop = (x.data_ptr() + x.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        madvise = _madvise()
        assert madvise is not None
        madvise(start, stop - start, mmap.MADV_HUGEPAGE)  # advice: an error changes no result
    return x


def used_for(size_bytes: int) -> bool:
    """Return whether huge pages are advised for a tensor of this size."""
    return size_bytes >= LEAST_BYTES and _madvise() is not None


@cache
def _madvise() -> Callable[[int, int, int], int] | None:
    """Return the C function, or None if the system has no huge pages or they are disabled."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # only Linux has it
        return None
    try:
        enabled = "[never]" not in SETTING.read_text(encoding="ascii")
    except OSError:  # a kernel without them
        return None
    madvise = getattr(ctypes.CDLL(None), "madvise", None) if enabled else None
    if madvise is not None:
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return madvise
