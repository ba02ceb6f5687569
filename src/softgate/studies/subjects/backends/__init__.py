"""Backends, which call a subject of any framework with NumPy arrays and return NumPy arrays.

Each framework has a separate module, so that only the framework in use is imported.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.runtime.activation import Activation
from softgate.runtime.machine import installed
from softgate.runtime.threads import get_threads, set_threads

from ..description import WROTE_BEYOND, Mistake, SubjectFailure

Array = npt.NDArray[Any]
version_of = cache(installed)
"""Cached because it is called for every subject, and `identify` takes milliseconds in all."""

GUARD = 64
"""Elements before and after the output of a C function."""


class SubjectBackend(ABC):
    """A callable and the framework that it belongs to."""

    framework = "numpy"
    packages: tuple[str, ...] = ("numpy",)
    strides = True
    """Whether the subject receives strided arrays, not contiguous copies."""
    addresses = True
    """Whether the subject receives the memory of an array, not a copy at another address."""
    lengths = True
    """Whether the subject accepts arrays of any length, empty ones included."""
    quantities: tuple[str, ...] = ("value",)
    dtypes: tuple[str, ...] | None = None
    """The dtypes that it accepts; None if unknown, so that each is tried."""

    @abstractmethod
    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`: a NumPy array, or another object if the subject returned it."""

    def set_threads(self, count: int) -> bool:
        """Set the number of threads; return False if the framework cannot change it."""
        return False

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that run."""
        return {
            name: version for name in self.packages if (version := version_of(name)) is not None
        }


def as_array(result: Any) -> Any:
    """Return a NumPy result or scalar as an array, and other objects unchanged."""
    return np.asarray(result) if isinstance(result, np.ndarray | np.generic) else result


class Plain(SubjectBackend):
    """A function of a NumPy array, without derivatives; the base of other frameworks' backends."""

    def __init__(self, function: Callable[..., Any], packages: tuple[str, ...] = ()) -> None:
        self.function = function
        self.packages = tuple(dict.fromkeys((*packages, *self.packages)))

    def call(self, quantity: str, x: Array) -> Any:
        """Return the function at `x`."""
        with np.errstate(all="ignore"):
            return as_array(self.function(x))


class Ours(SubjectBackend):
    """An activation of softgate or of a user's formula."""

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


class C(SubjectBackend):
    """A C function void(const T*, T*, size_t) of a shared library, called through ctypes.

    The output is filled with NaN before the call and has guard elements on both sides, which detect
    unwritten elements and out-of-bounds writes.
    """

    framework = "c"
    packages = ("numpy",)
    strides = False

    def __init__(self, file: str, symbol: str) -> None:
        try:
            library = ctypes.CDLL(file)
        except OSError as error:
            raise Mistake(f"{file} cannot be loaded: {error}") from None
        try:
            self.function = library[symbol]
        except AttributeError:
            raise Mistake(f"{file} has no symbol {symbol!r}") from None
        self.function.restype = None
        self.function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def call(self, quantity: str, x: Array) -> Array:
        """Return what the function wrote for `x`."""
        unsigned = np.dtype(f"u{x.itemsize}")
        padded = np.full(x.size + 2 * GUARD, np.iinfo(unsigned).max, unsigned)
        out = padded[GUARD : GUARD + x.size]
        self.function(x.ctypes.data, out.ctypes.data, x.size)
        margins = np.concatenate([padded[:GUARD], padded[GUARD + x.size :]])
        if (margins != np.iinfo(unsigned).max).any():
            raise SubjectFailure(WROTE_BEYOND, f"of {x.size} elements")
        return out.view(x.dtype)
