"""A model inside what distributes or compiles it, and compiled code that runs as it was written."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import torch
from torch import nn

Stance = AbstractContextManager[Any]


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model inside what distributes or compiles it."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is a {type(model).__name__}: expected a torch.nn.Module")
    inner: Any = model
    while True:
        if isinstance(inner, nn.DataParallel | nn.parallel.DistributedDataParallel):
            inner = inner.module
        elif isinstance(getattr(inner, "_orig_mod", None), nn.Module):
            inner = inner._orig_mod
        elif getattr(inner, "_compiled_call_impl", None) is not None and _stance() is None:
            raise ValueError(
                "the model is compiled, and before torch 2.6 nobody sees what runs inside: watch "
                "a model that is not compiled"
            )
        else:
            return cast("nn.Module", inner)


def eager() -> Stance:
    """Let compiled models and functions run as they were written: compiled, nobody sees them."""
    stance = _stance()
    return nullcontext() if stance is None else cast("Stance", stance("force_eager"))


def _stance() -> Any:
    return getattr(torch.compiler, "set_stance", None)
