"""A trial, run in this process: whatever it does, there is an outcome.

That an outcome lasts means that the same trial would end in the same way: training that diverges or
raises does, a machine that had no memory or no file left does not, and is not kept.
"""

from __future__ import annotations

import gc
import os
import platform
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from softgate.runtime.machine import cpu_name, installed
from softgate.runtime.threads import get_threads, set_threads

from ...worker import c_function
from ..trial import Diverged, Measured, Outcome, Place, Status, Told, Trial, Work


class State(NamedTuple):
    """How to ask for something that a whole process shares, and how to set it."""

    get: Callable[[], Any]
    put: Callable[[Any], object]
    draws: bool = False
    """Whether it is a generator's: those have moved on, and are not compared."""


@contextmanager
def settled(seed: int) -> Iterator[None]:
    """Run what is inside with one thread and global generators seeded; put everything back."""
    states = _states()
    before = [state.get() for state in states]
    try:
        with warnings.catch_warnings():
            _prepare(seed)
            yield
    finally:
        for state, value in zip(states, before, strict=True):
            if state.draws or state.get() != value:  # to set it may cost something for ever
                state.put(value)


def _prepare(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  (a user's script may draw from it)
    set_threads(1)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)


def _states() -> list[State]:
    """Return what is put back; torch's only where somebody has loaded it."""
    states: list[State] = [
        State(random.getstate, random.setstate, draws=True),
        State(np.random.get_state, np.random.set_state, draws=True),
        State(np.geterr, lambda given: np.seterr(**given)),
        State(get_threads, set_threads),
        State(_folder, os.chdir),
        State(lambda: list(sys.path), _set_path),
        State(_environment, _set_environment),
    ]
    torch = sys.modules.get("torch")
    if torch is not None:
        states += _torch_states(torch)
    return states


def _torch_states(torch: Any) -> list[State]:
    return [
        State(torch.get_rng_state, torch.set_rng_state, draws=True),
        State(torch.get_num_threads, torch.set_num_threads),
        State(torch.get_default_dtype, torch.set_default_dtype),
        # "cpu" would be right too, and slow: a mode that sees every call.
        State(
            torch.get_default_device,
            lambda given: torch.set_default_device(None if given.type == "cpu" else given),
        ),
        State(torch.is_grad_enabled, torch.set_grad_enabled),
        State(torch.is_anomaly_enabled, torch.set_anomaly_enabled),
        State(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        State(
            lambda: (
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
            ),
            lambda given: torch.use_deterministic_algorithms(given[0], warn_only=given[1]),
        ),
        State(_flushes, torch.set_flush_denormal),
    ]


def _flushes() -> bool:
    """Tell whether this thread takes subnormal numbers for 0; torch can set that, but not tell."""
    return bool(np.float64(2.0**-1060) * np.float64(1.0) == 0.0)


def _folder() -> str:
    """Return the current folder, or nothing where it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109  (Path.cwd() adds nothing here)
    except FileNotFoundError:
        return "/"


def _set_path(entries: list[str]) -> None:
    sys.path[:] = entries


def _environment() -> dict[str, str]:
    return dict(os.environ)  # noqa: TID251  (put back, not read)


def _set_environment(given: dict[str, str]) -> None:
    os.environ.clear()  # noqa: TID251
    os.environ.update(given)  # noqa: TID251


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
    trim = c_function("malloc_trim")
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
