"""The arrays that are timed: their values, and their sizes by this machine's caches.

A level's size is the largest power of two whose three arrays (x, gradient, output) fill at most
half of that cache: the rest is for other processes. DRAM is four to eight times the last cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from softgate.runtime.machine import Machine, free_bytes, in_bytes

INPUTS = ("randn", "mix")
DTYPES = ("float32", "float64", "float16", "bfloat16")

Array = np.ndarray[Any, Any]

ALIGNMENT = 64
"""jax reads NumPy's memory without a copy only if it starts on such a boundary."""

TAIL = (3.0, 15.0)
TINY = 1e-30

ARRAYS = 3
FILLED = 2
BEYOND = 4
DRAM = "DRAM"
UNKNOWN = "?"
NUMBER = re.compile(r"(\d+)([KMG]?)", re.IGNORECASE)
FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
HELD = 8
"""Arrays that a process may hold at once: inputs, output, saved tensors, copies."""


def dtype_of(name: str) -> np.dtype[Any]:
    """Return a dtype by name, bfloat16 included, which NumPy lacks."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def finfo(dtype: np.dtype[Any]) -> Any:
    """Return the limits of a dtype, bfloat16 included, which NumPy lacks."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def empty(count: int, dtype: np.dtype[Any]) -> Array:
    """Return an aligned array; all its pages have been written, so that none faults later."""
    size = count * dtype.itemsize
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    memory[:] = 1
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype)


def arrays(inputs: str, name: str, count: int, seed: int) -> tuple[Array, Array, Array]:
    """Return x, a gradient and memory for the output; the same for the same seed."""
    dtype = dtype_of(name)
    rng = np.random.default_rng(seed)
    randn, grad = (_filled(rng.standard_normal(count), dtype) for _ in range(2))
    x = randn if inputs == "randn" else special(rng, count, dtype)
    return x, grad, empty(count, dtype)


def _filled(values: Array, dtype: np.dtype[Any]) -> Array:
    array = empty(values.size, dtype)
    array[:] = values
    return array


def special(rng: np.random.Generator, count: int, dtype: np.dtype[Any]) -> Array:
    """Return tails, tiny and subnormal numbers, infinities, NaN and zeros, of both signs."""
    parts = [count * share // 100 for share in (40, 15, 15, 10, 10)]
    tails, tiny, subnormal, infinite, nan = parts
    array = empty(count, dtype)
    values: list[Array] = [
        rng.uniform(*TAIL, tails).astype(dtype),
        (rng.uniform(1.0, 2.0, tiny) * _tiny(dtype)).astype(dtype),
        _subnormals(rng, subnormal, dtype),
        np.full(infinite, np.inf).astype(dtype),
        np.full(nan, np.nan).astype(dtype),
        np.zeros(count - sum(parts)).astype(dtype),
    ]
    bits = np.concatenate([part.view(f"u{dtype.itemsize}") for part in values])
    signs = rng.integers(0, 2, count, dtype=bits.dtype) << np.asarray(
        8 * dtype.itemsize - 1, dtype=bits.dtype
    )
    array.view(bits.dtype)[:] = rng.permutation(bits | signs)
    return array


def _tiny(dtype: np.dtype[Any]) -> float:
    """Return 1e-30, or the smallest normal number of the format if that is larger."""
    return max(TINY, float(finfo(dtype).smallest_normal))


def _subnormals(rng: np.random.Generator, count: int, dtype: np.dtype[Any]) -> Array:
    """Return positive subnormal numbers: random mantissas other than 0, exponent field 0."""
    top = 1 << int(finfo(dtype).nmant)
    return rng.integers(1, top, count, dtype=f"u{dtype.itemsize}").view(dtype)


@dataclass(frozen=True)
class ArraySize:
    """A number of elements, and the cache that their arrays fit into."""

    count: int
    label: str


def size(text: str, item_bytes: int, machine: Machine) -> ArraySize:
    """Return the size that `text` means: L1, L2, L3, DRAM, 4096, 64K or 1M."""
    wanted = text.strip()
    levels = _levels(item_bytes, machine)
    if wanted.upper() in levels:
        return ArraySize(levels[wanted.upper()], wanted.upper())
    number = NUMBER.fullmatch(wanted)
    if not number:
        known = ", ".join(levels) or "no cache name, since this machine's caches are unknown"
        raise ValueError(f"size {text!r}: expected {known}, or a number such as 4096, 64K or 1M")
    count = int(number[1]) * FACTORS[number[2].upper()]
    if count < 1:
        raise ValueError(f"size {text!r}: expected at least 1 element")
    return ArraySize(count, where(count, item_bytes, machine))


def where(count: int, item_bytes: int, machine: Machine) -> str:
    """Return the cache that three arrays of `count` elements fit into, or DRAM."""
    for level, cache_bytes in machine.caches.items():
        if count * item_bytes * ARRAYS <= cache_bytes:
            return level
    return DRAM if machine.caches else UNKNOWN


def default_size(machine: Machine) -> str:
    """Return the size that is timed by default: the last cache's, or 1M."""
    return list(machine.caches)[-1] if machine.caches else "1M"


def check_memory(counts: Iterable[tuple[int, int]], processes: int) -> None:
    """Raise ValueError if arrays do not fit; `counts` are pairs of a count and an item's bytes."""
    available = free_bytes()
    if available is None:
        return
    for count, item_bytes in counts:
        needed = count * item_bytes * HELD * processes
        if needed > available:
            raise ValueError(
                f"{count:,} elements of {item_bytes} bytes need up to {in_bytes(needed)} in "
                f"{processes} processes, and {in_bytes(available)} are free: give a smaller size, "
                "or fewer peers"
            )


def _levels(item_bytes: int, machine: Machine) -> dict[str, int]:
    levels = {level: _power(size // FILLED, item_bytes) for level, size in machine.caches.items()}
    if machine.caches:
        last = list(machine.caches.values())[-1]
        levels[DRAM] = _power(last * BEYOND * 2 - 1, item_bytes)
    return levels


def _power(total_bytes: int, item_bytes: int) -> int:
    """Return the largest power of two of which three arrays fit into `total_bytes`."""
    return 1 << max(0, (total_bytes // (ARRAYS * item_bytes)).bit_length() - 1)
