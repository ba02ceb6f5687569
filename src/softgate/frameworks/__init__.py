"""Adapters for tensors of PyTorch, JAX, TensorFlow, Keras and polars, imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from softgate.lower.fork_lock import BUILDING


def __getattr__(name: str) -> ModuleType:
    """Import an adapter; a fork waits for the end of the import.

    In modules that are themselves being imported write `from softgate.frameworks.torch import …`:
    a thread that waits for this lock must not hold an import that another thread waits for.
    """
    if name.startswith("_") or find_spec(f".{name}", __name__) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with BUILDING:
        return import_module(f".{name}", __name__)
