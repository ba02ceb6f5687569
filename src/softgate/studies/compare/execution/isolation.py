"""A process as it should be for a trial, and as it was before when the trial is over.

Trials share processes, because starting one takes longer than some trials. So what a trial seeds,
sets or changes must not reach the next one, and what a trial gets must not depend on which ones ran
before it: seeds come from the trial, threads are one, all else is put back.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from softgate.runtime.threads import get_threads, set_threads


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
