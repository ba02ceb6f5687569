"""Sending trainables to other processes, functions of a notebook included, and loading them."""

from __future__ import annotations

import gc
import pickle
import sys
from typing import Any

from softgate.runtime.packages import require
from softgate.runtime.resolve import PRIVATE

from ..trial import Trainable, TrialFunction
from .run_trial import current_place, isolated


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

    for name, module in list(sys.modules.items()):
        if name.startswith(PRIVATE):  # other processes cannot import it
            cloudpickle.register_pickle_by_value(module)
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
    current_place()
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
