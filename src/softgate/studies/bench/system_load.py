"""How much of the machine others took while something was timed.

The least of many times forgives short disturbances on one thread. It forgives nothing where all
threads wait for each other and one has no core: there such a figure must not be believed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

STAT = Path("/proc/stat")
BUSY = (0, 1, 2, 5, 6, 7)
"""user, nice, system, irq, softirq, steal: not idle, not waiting for a disk."""


class Bystanders:
    """Counts from when it is made; `own_s` tells the seconds that the measured processes used."""

    def __init__(self, own_s: Callable[[], float] = process_time) -> None:
        self._own_s = own_s
        self._start = self._read()

    def share(self) -> float | None:
        """Return the share of all cores that others used since then; None where nobody can say."""
        now = self._read()
        if self._start is None or now is None:
            return None
        busy, own, wall = (b - a for a, b in zip(self._start, now, strict=True))
        return max(0.0, busy - own) / (wall * (os.cpu_count() or 1)) if wall > 0 else None

    def _read(self) -> tuple[float, float, float] | None:
        """Return the seconds all cores were busy, the seconds we were, and the time."""
        try:
            fields = STAT.read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
            ticks = sum(int(fields[i]) for i in BUSY)
        except (OSError, IndexError, ValueError):
            return None
        return ticks / os.sysconf("SC_CLK_TCK"), self._own_s(), perf_counter()
