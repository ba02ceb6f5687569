"""Runs trials in this process, isolated from each other, also of a trainable sent by another one.

An outcome is reproducible ("lasts") if the same trial would end in the same way, as divergence and
most exceptions do. Errors for lack of memory or files are not, and are not saved.

Trials share processes, because starting one takes longer than some trials. They must not affect
each other: random generators are seeded from the trial, there is one thread, and all other global
state is restored.
"""

from __future__ import annotations

import gc
import os
import pickle
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

from softgate.records.packages import require
from softgate.records.text import message_line
from softgate.runtime.machine import cpu_name, installed
from softgate.runtime.registry import importers
from softgate.runtime.threads import get_threads, set_threads

from ..trial import (
    Diverged,
    Outcome,
    ProgressCallback,
    Status,
    Trainable,
    TrainingResult,
    Trial,
    TrialEnvironment,
    TrialFunction,
)

TRANSIENT = (MemoryError, OSError, ImportError)
"""Errors of the machine: the trial may finish when it is run again."""
PACKAGE = Path(__file__).parents[3]
LIBRARIES = ("site-packages", "dist-packages")
MAX_MESSAGE = 300
"""Characters of an error's message."""


class GlobalState(NamedTuple):
    """Getter and setter of global state.

    `generator` marks a random generator: its state always changes and is not compared.
    """

    get: Callable[[], Any]
    put: Callable[[Any], object]
    generator: bool = False


@contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Use one thread and seeded global generators; restore all global state at the end."""
    states = _states()
    before = [state.get() for state in states]
    try:
        with warnings.catch_warnings():
            _prepare(seed)
            yield
    finally:
        for state, value in zip(states, before, strict=True):
            if state.generator or state.get() != value:  # some setters slow down the process
                state.put(value)


def _prepare(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  (a user's script may use it)
    set_threads(1)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)


def _states() -> list[GlobalState]:
    """Return the state to restore; torch's only if it is loaded."""
    states: list[GlobalState] = [
        GlobalState(random.getstate, random.setstate, generator=True),
        GlobalState(np.random.get_state, np.random.set_state, generator=True),
        GlobalState(np.geterr, lambda errors: np.seterr(**errors)),
        GlobalState(get_threads, set_threads),
        GlobalState(_folder, os.chdir),
        GlobalState(lambda: list(sys.path), _set_path),
        GlobalState(os.environ.copy, _set_environment),  # noqa: TID251  (restored, not read)
    ]
    torch = sys.modules.get("torch")
    if torch is not None:
        states += _torch_states(torch)
    return states


def _torch_states(torch: Any) -> list[GlobalState]:
    return [
        GlobalState(torch.get_rng_state, torch.set_rng_state, generator=True),
        GlobalState(torch.get_num_threads, torch.set_num_threads),
        GlobalState(torch.get_default_dtype, torch.set_default_dtype),
        # None for "cpu", which would install a mode that intercepts every call.
        GlobalState(
            torch.get_default_device,
            lambda device: torch.set_default_device(None if device.type == "cpu" else device),
        ),
        GlobalState(torch.is_grad_enabled, torch.set_grad_enabled),
        GlobalState(torch.is_anomaly_enabled, torch.set_anomaly_enabled),
        GlobalState(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        GlobalState(
            lambda: (
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
            ),
            lambda modes: torch.use_deterministic_algorithms(modes[0], warn_only=modes[1]),
        ),
        GlobalState(_flushes, torch.set_flush_denormal),
    ]


def _flushes() -> bool:
    """Return whether this thread flushes subnormal numbers to 0; torch has only a setter."""
    return bool(np.float64(2.0**-1060) * np.float64(1.0) == 0.0)


def _folder() -> str:
    """Return the current folder, or "/" if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109  (Path.cwd() adds nothing here)
    except FileNotFoundError:
        return "/"


def _set_path(entries: list[str]) -> None:
    sys.path[:] = entries


def _set_environment(variables: dict[str, str]) -> None:
    os.environ.clear()  # noqa: TID251
    os.environ.update(variables)  # noqa: TID251


def run_classified(
    trial: Trial, run: TrialFunction, progress: ProgressCallback
) -> tuple[Outcome, bool]:
    """Run a trial; return its outcome, and whether the outcome is reproducible.

    The trial has one thread. Exceptions become outcomes, except for an interrupt.
    """
    start = perf_counter()

    def outcome(
        status: Status, message: str, measured: TrainingResult, times: list[float]
    ) -> Outcome:
        return Outcome(
            trial=trial,
            status=status,
            message=message,
            measured=measured,
            step_ms=1e3 * median(times) if times else None,
            seconds=perf_counter() - start,
            environment=current_environment(),
        )

    with isolated(trial.seed):
        # A user's code may raise anything, SystemExit included; the outcome records it.
        try:
            return _reread(outcome("finished", "", *run(trial, progress))), True
        except Diverged as error:
            diverged = error
        except (Exception, SystemExit) as error:
            lasts = not isinstance(error, TRANSIENT)
            return outcome("raised", describe_error(error), TrainingResult(), []), lasts
        try:
            return _reread(outcome("diverged", str(diverged), diverged.measured, [])), True
        except (TypeError, ValueError) as error:
            return outcome("raised", describe_error(error), TrainingResult(), []), True


def _reread(outcome: Outcome) -> Outcome:
    """Return the outcome after a round trip through JSON; raise if JSON cannot represent it."""
    return Outcome.from_json(outcome.to_json())


def describe_error(error: BaseException) -> str:
    """Return type and message of an exception, and the nearest line of the user's code."""
    text = message_line(error, MAX_MESSAGE)
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    frames = [(file, line) for file, line in frames if PACKAGE not in file.parents]
    if not frames:  # raised by softgate, with a complete message
        return message
    users = [(file, line) for file, line in frames if not set(LIBRARIES) & set(file.parts)]
    file, line = (users or frames)[-1]
    return f"{message} ({file.name}, line {line})"


def current_environment() -> TrialEnvironment:
    """Return machine and versions of this process."""
    torch = sys.modules.get("torch")
    return _environment(1 if torch is None else int(torch.get_num_threads()))


@cache
def _environment(threads: int) -> TrialEnvironment:
    return TrialEnvironment(
        host=platform.node(),
        cpu=cpu_name(),
        threads=threads,
        python=platform.python_version(),
        torch=installed("torch") or "",
        softgate=installed("softgate") or "",
    )


class ExecutionError(Exception):
    """No trial can be run, for a reason that the user can resolve."""


class LoadError(ExecutionError):
    """The model or its data cannot be loaded by the processes that run trials."""


def pack(trainable: Trainable) -> bytes:
    """Return a trainable as bytes, for `unpack` in another process."""
    try:
        require("cloudpickle", purpose="a trial in another process")
    except ImportError as error:
        raise LoadError(str(error)) from error
    import cloudpickle

    for name in importers.keys() & sys.modules.keys():  # other processes cannot import them
        cloudpickle.register_pickle_by_value(sys.modules[name])
    try:
        packed: bytes = cloudpickle.dumps(trainable)
    # Pickling a user's object can raise anything.
    except Exception as error:
        raise LoadError(
            f"{trainable.name!r} cannot be sent to other processes ({type(error).__name__}: "
            f"{error}): open files, locks and the like inside the function that uses them, or "
            'run all trials in this process with on="here"'
        ) from error
    return packed


def unpack(packed: bytes) -> Any:
    """Return the trainable."""
    return pickle.loads(packed)


def load_trainable(trainable: Trainable) -> TrialFunction:
    """Return the function that runs trials, after a warm-up.

    Otherwise the first trial of each process, often of the same activation, would take more time
    and memory than others.
    """
    run = trainable.trial_function()
    current_environment()
    if "torch" in sys.modules:
        with isolated(0):
            _warm_up()
    return run


def freeze_imports() -> None:
    """Exclude all imported objects from later garbage collections, in a worker process."""
    gc.collect()
    gc.freeze()


def _warm_up() -> None:
    """Make an update and a diagnosis, which load compilers, threads and optimizers."""
    import torch
    from torch import nn

    from softgate.torch import diagnose, make

    from .. import training  # noqa: F401  (imports what tasks train with)

    x = torch.zeros(2, 2)
    model = nn.Sequential(nn.Linear(2, 2), make("gelu"))
    adam = torch.optim.Adam(model.parameters(), fused=True)
    torch.autograd.backward(model(x).sum())
    adam.step()
    diagnose(model, [x], loss=lambda output, _: output.sum())
