"""Calls of Keras on its backend's tensors, in the way that the backend itself is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import keras

from ..loading import loaded
from ..peer import Peer
from ..timed_call import Contestant, Task


def _backend() -> Any:
    return import_module(f".{keras.backend.backend()}", __package__)


def start(threads: int) -> str:
    """Set the backend's threads."""
    said = _backend().start(threads)
    return "; ".join(filter(None, (f"Keras on {keras.backend.backend()}", said)))


def make(peer: Peer, task: Task) -> Contestant:
    """Return the call of a function of the backend's tensors."""
    made: Contestant = _backend().of_function(loaded(peer), task)
    return made
