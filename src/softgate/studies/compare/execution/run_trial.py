"""A trial, run in this process: whatever it does, there is an outcome.

That an outcome lasts means that the same trial would end in the same way: training that diverges or
raises does, a machine that had no memory or no file left does not, and is not kept.
"""

from __future__ import annotations

import gc
import platform
import sys
import traceback
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter

from softgate.runtime.machine import cpu_name, installed

from ...worker_protocol import in_process
from ..outcome import Measured, Outcome, Place, Status
from ..trainable import Diverged, Told, Work
from ..trial import Trial
from .isolation import settled

PASSING = (MemoryError, OSError, ImportError)
"""What the machine is to blame for: run again, the trial may end otherwise."""

CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
RESET_PEAK = "5"
HERE = Path(__file__).parents[3]
LIBRARIES = ("site-packages", "dist-packages")
LONGEST = 300
"""Characters of an error's message."""


def run_trial(trial: Trial, work: Work, told: Told) -> Outcome:
    """Run a trial here and now, with one thread; only an interrupt gets through."""
    return attempt(trial, work, told)[0]


def attempt(trial: Trial, work: Work, told: Told) -> tuple[Outcome, bool]:
    """Run a trial; return its outcome, and whether it would be the same another time."""
    start, before_bytes = perf_counter(), _fresh_peak()

    def outcome(status: Status, said: str, measured: Measured, times: list[float]) -> Outcome:
        return Outcome(
            trial=trial,
            status=status,
            said=said,
            measured=measured,
            step_ms=1e3 * median(times) if times else None,
            seconds=perf_counter() - start,
            peak_bytes=_rise(before_bytes),
            place=place(),
        )

    with settled(trial.seed):
        # The subject is somebody else's code: whatever it throws, or ends Python with, is a result.
        try:
            return _as_read(outcome("finished", "", *work(trial, told))), True
        except Diverged as error:
            ended = error
        except (Exception, SystemExit) as error:
            lasts = not isinstance(error, PASSING)
            return outcome("raised", words(error), Measured(), []), lasts
        try:
            return _as_read(outcome("diverged", str(ended), ended.measured, [])), True
        except (TypeError, ValueError) as error:
            return outcome("raised", words(error), Measured(), []), True


def _as_read(outcome: Outcome) -> Outcome:
    """Return the outcome as a store gives it back; what JSON cannot hold raises here."""
    return Outcome.from_json(outcome.to_json())


def words(error: BaseException) -> str:
    """Return what was thrown and where: the line of the user's own that is nearest to it."""
    text = " ".join(str(error).split())
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    frames = [(file, line) for file, line in frames if HERE not in file.parents]
    if not frames:  # ours: what we say needs no line
        return said
    own = [(file, line) for file, line in frames if not set(LIBRARIES) & set(file.parts)]
    file, line = (own or frames)[-1]
    return f"{said} ({file.name}, line {line})"


def _fresh_peak() -> int | None:
    """Give free memory back, forget how much there was at most, return how much there is."""
    gc.collect()
    trim = in_process("malloc_trim")
    if trim is not None:  # glibc
        trim(0)
    if not CLEAR.exists():  # only Linux has it
        return None
    try:
        CLEAR.write_text(RESET_PEAK, encoding="ascii")
    except OSError:  # not every container allows it
        return None
    return _memory("VmRSS")


def _rise(before_bytes: int | None) -> int | None:
    peak = None if before_bytes is None else _memory("VmHWM")
    return None if peak is None or before_bytes is None else max(0, peak - before_bytes)


def _memory(name: str) -> int | None:
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def place() -> Place:
    """Return where a trial runs."""
    torch = sys.modules.get("torch")
    return _place(1 if torch is None else int(torch.get_num_threads()))


@cache
def _place(threads: int) -> Place:
    return Place(
        host=platform.node(),
        cpu=cpu_name(),
        threads=threads,
        python=platform.python_version(),
        torch=installed("torch") or "",
        softgate=installed("softgate") or "",
    )
