"""Functions of NumPy arrays, and ours, which have slope and curvature of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softgate.runtime.activation import Activation
from softgate.runtime.threads import get_threads, set_threads

from .backend import Array, Backend, as_array


class Plain(Backend):
    """A function of a NumPy array; nobody knows its derivatives."""

    def __init__(self, function: Callable[..., Any], packages: tuple[str, ...] = ()) -> None:
        self.function = function
        self.packages = tuple(dict.fromkeys((*packages, "numpy")))

    def call(self, quantity: str, x: Array) -> Any:
        """Return the function at `x`."""
        with np.errstate(all="ignore"):
            return as_array(self.function(x))


class Ours(Backend):
    """An activation of softgate's, or of a user's formula."""

    framework = "softgate"
    packages = ("softgate", "llvmlite", "numpy")
    quantities = ("value", "slope", "curvature")

    def __init__(self, activation: Activation) -> None:
        self.activation = activation

    def call(self, quantity: str, x: Array) -> Array:
        """Return a quantity at `x`."""
        method = self.activation if quantity == "value" else getattr(self.activation, quantity)
        result: Array = method(x)
        return result

    def set_threads(self, count: int) -> bool:
        """Set softgate's threads."""
        set_threads(count)
        return get_threads() == count
