"""A subject made ready to run trials in this process, so that the first one is like all others."""

from __future__ import annotations

import gc
import sys

from ..trainable import Subject, Work
from .isolation import settled
from .run_trial import place


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
