"""Calls of Keras on its backend's tensors, timed as the backend's functions are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import keras

from .registry import Peer
from .timed_call import BenchTask, TimedCall, load


def _backend() -> Any:
    return import_module(f".{keras.backend.backend()}_calls", __package__)


def start(threads: int) -> str:
    """Set the backend's threads; return a remark that names the backend."""
    remark = _backend().start(threads)
    return "; ".join(filter(None, (f"Keras on {keras.backend.backend()}", remark)))


def make(peer: Peer, task: BenchTask) -> TimedCall:
    """Return the call of a function of the backend's tensors."""
    call: TimedCall = _backend().of_function(load(peer), task)
    return call
