"""A model of the user's with data: read and tried before any study, so that mistakes show first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

BUDGET_S = 20.0
"""Seconds that a model may take; batches beyond are left out, and that is said."""
PASSES = 4
"""What a batch costs in all, in diagnoses of it: looked at once, and exchanged twice at most."""
MISSING = "a model of your own needs torch: pip install 'softgate[torch]'"


@dataclass(frozen=True)
class Own:
    """A model and what it is run on."""

    name: str
    data: str
    model: Any
    batches: list[Any]
    loss: Callable[[Any, Any], Any] | None
    limit: int
    """Batches that fit into the time."""
    seconds: float = 0.0
    """What all would take, about."""

    def told(self) -> AbstractContextManager[None]:
        """Return a context in which the model may raise anything: it becomes a ValueError."""
        from softgate.studies.diagnose.loading import told

        return told(self.name, self.data)


def own_model(model: Any, data: Any, budget_s: float = BUDGET_S) -> Own | None:
    """Return a model and its data, tried on the first batch; None where there is no model.

    Parameters
    ----------
    model : str or torch.nn.Module or None
        A module, or what `softgate diagnose` takes: a folder, or module:function.
    data : path or iterable
        A file that `softgate diagnose` takes, or batches.
    budget_s : float
        Seconds in which all batches should have been run.
    """
    if model is None and data is None:
        return None
    if model is None or data is None:
        given, other = ("data", "model") if model is None else ("model", "data")
        raise ValueError(f"{given} was given without {other}: a model is run on data, give both")
    try:
        from torch import nn
    except ModuleNotFoundError as error:
        raise ImportError(MISSING) from error
    from softgate.studies.diagnose.loading import load_batches, load_model

    made = load_model(model) if isinstance(model, str) else model
    if not isinstance(made, nn.Module):
        raise TypeError(
            f"model is a {type(model).__name__}: expected a torch.nn.Module, a folder or "
            "module:function"
        )
    name = model if isinstance(model, str) else type(made).__name__
    if isinstance(data, str | os.PathLike):
        batches, loss = load_batches(os.fspath(data), made, name)
        own = Own(name, os.path.basename(data), made, batches, loss, 0)  # noqa: PTH119 a label
    elif isinstance(data, Iterable):
        own = Own(name, "its data", made, list(data), None, 0)
    else:
        raise TypeError(f"data is a {type(data).__name__}: expected a file or batches")
    return _tried(own, budget_s)


def _tried(own: Own, budget_s: float) -> Own:
    """Run the first batch, and count how many fit into the time."""
    from softgate.torch import diagnose

    if not own.batches:
        raise ValueError("data has no batches: expected at least one")
    seconds = 0.0
    for _ in range(2):  # the first time is longer: functions are recognised
        start = time.perf_counter()
        with own.told():
            diagnose(own.model, own.batches[:1], loss=own.loss)
        seconds = time.perf_counter() - start
        if PASSES * seconds * len(own.batches) < budget_s:
            break
    whole = PASSES * seconds * len(own.batches)
    limit = min(len(own.batches), int(len(own.batches) * budget_s / max(whole, 1e-9)))
    return replace(own, limit=max(1, limit), seconds=whole)
