"""How many elements: from the nearest cache to DRAM, by this machine's caches, or as given.

A level's size is the largest power of two whose three arrays (x, gradient, output) fill at most
half of that cache: the rest is for whatever else runs. DRAM is four to eight times the last cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from softgate.runtime.machine import Machine, free_bytes, in_bytes

ARRAYS = 3
FILLED = 2
BEYOND = 4
DRAM = "DRAM"
UNKNOWN = "?"
NUMBER = re.compile(r"(\d+)([KMG]?)", re.IGNORECASE)
FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
HELD = 8
"""So many arrays a process may hold at once: inputs, output, what a backward keeps, copies."""


@dataclass(frozen=True)
class Size:
    """A number of elements, and where they lie."""

    count: int
    label: str


def size(text: str, item_bytes: int, machine: Machine) -> Size:
    """Return the number of elements that `text` asks for: L1, L2, L3, DRAM, 4096, 64K or 1M."""
    wanted = text.strip()
    levels = _levels(item_bytes, machine)
    if wanted.upper() in levels:
        return Size(levels[wanted.upper()], wanted.upper())
    found = NUMBER.fullmatch(wanted)
    if not found:
        known = ", ".join(levels) or "no cache, for this machine does not tell its caches"
        raise ValueError(f"size {text!r}: expected {known}, or a number such as 4096, 64K or 1M")
    count = int(found[1]) * FACTORS[found[2].upper()]
    if count < 1:
        raise ValueError(f"size {text!r}: expected at least 1 element")
    return Size(count, where(count, item_bytes, machine))


def where(count: int, item_bytes: int, machine: Machine) -> str:
    """Return the cache that three arrays of so many elements fit into, or DRAM."""
    for level, held in machine.caches.items():
        if count * item_bytes * ARRAYS <= held:
            return level
    return DRAM if machine.caches else UNKNOWN


def usual(machine: Machine) -> str:
    """Return the size that is timed unless another is asked for: the last cache's, else 1M."""
    return list(machine.caches)[-1] if machine.caches else "1M"


def check_memory(counts: Iterable[tuple[int, int]], processes: int) -> None:
    """Refuse what would not fit into memory: pairs of a count and an element's bytes."""
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
    found = {level: _power(held // FILLED, item_bytes) for level, held in machine.caches.items()}
    if machine.caches:
        last = list(machine.caches.values())[-1]
        found[DRAM] = _power(last * BEYOND * 2 - 1, item_bytes)
    return found


def _power(held: int, item_bytes: int) -> int:
    """Return the largest power of two of which three arrays fit into so many bytes."""
    return 1 << max(0, (held // (ARRAYS * item_bytes)).bit_length() - 1)
