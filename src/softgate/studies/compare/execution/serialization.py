"""A subject on its way to another process, functions from a notebook included."""

from __future__ import annotations

import gc
import pickle
import sys
from typing import Any

from ..trial import Subject, Work
from .run_trial import place, settled


class ExecutionError(Exception):
    """No trial can be run, for a reason that the user can see to."""


class SubjectError(ExecutionError):
    """What is to be trained cannot be loaded where trials run: no trial can be run."""


def pack(subject: Subject) -> bytes:
    """Return a subject as bytes that `unpack` makes a subject of elsewhere."""
    try:
        import cloudpickle
    except ModuleNotFoundError as error:
        raise SubjectError(
            'trials in other processes need cloudpickle: pip install "softgate[compare]"'
        ) from error
    try:
        packed: bytes = cloudpickle.dumps(subject)
    # What an object of a user's does when it is pickled is its own business.
    except Exception as error:
        raise SubjectError(
            f"{subject.name!r} cannot be sent to other processes ({type(error).__name__}: "
            f"{error}): open files, locks and the like inside the function that uses them, or "
            'run all trials in this process with on="here"'
        ) from error
    return packed


def unpack(packed: bytes) -> Any:
    """Return the subject."""
    return pickle.loads(packed)


def ready(subject: Subject) -> Work:
    """Return the function that runs trials, with all loaded that the first one would load.

    Else the first trial of each process, mostly one of the same arm, would seem to take more time
    and memory than others.
    """
    work = subject.work()
    place()
    if "torch" in sys.modules:
        with settled(0):
            _train()
    return work


def settle_down() -> None:
    """Spare every later collection all that was imported; for a process that only runs trials."""
    gc.collect()
    gc.freeze()


def _train() -> None:
    """Make an update and a diagnosis: compilers, threads and optimizers come with the first."""
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
