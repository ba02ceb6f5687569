"""C functions void(const T*, T*, size_t), called through ctypes.

The output lies between two margins that must stay as they are, and is filled with NaN before the
call: what was not written is seen, and what was written beyond it too.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..failure import WROTE_BEYOND, Failure, Mistake
from .backend import Array, Backend

GUARD = 64
"""Elements before and after the output."""


class C(Backend):
    """A symbol of a shared library; its T is what the caller says."""

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
            raise Failure(WROTE_BEYOND, f"of {x.size} elements")
        return out.view(x.dtype)
