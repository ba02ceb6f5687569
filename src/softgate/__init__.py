"""softgate: activation functions, exact and fast, written once and lowered everywhere.

Examples
--------
>>> import softgate as sg
>>> sg.relu([-1.0, 2.0])
array([0., 2.])
"""

from __future__ import annotations

from .activation import Activation
from .explain import explain
from .registry import activations
from .threads import get_threads, set_threads

__version__ = "0.1.0"

__all__ = ["Activation", "activations", "explain", "get_threads", "set_threads", *activations()]

globals().update(activations())


def __getattr__(name: str) -> Activation:
    """Say which activations there are; the ones that exist are found before this is asked."""
    raise AttributeError(f"softgate has no {name!r}; activations: {', '.join(activations())}")
