"""The arrays that all contestants share: randn, a mix of special values, gradients, one output."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

INPUTS = ("randn", "mix")
DTYPES = ("float32", "float64", "float16", "bfloat16")

Array = np.ndarray[Any, Any]

ALIGNMENT = 64
"""jax reads NumPy's memory without a copy only when it begins on such a boundary."""

TAIL = (3.0, 15.0)
TINY = 1e-30


def dtype_of(name: str) -> np.dtype[Any]:
    """Return a format by name; bfloat16 is not one of NumPy's own."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def finfo(dtype: np.dtype[Any]) -> Any:
    """Return a format's limits; NumPy's own finfo does not know bfloat16."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def empty(count: int, dtype: np.dtype[Any]) -> Array:
    """Return aligned memory whose pages have all been touched."""
    size = count * dtype.itemsize
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    memory[:] = 1
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype)


def arrays(inputs: str, name: str, count: int, seed: int) -> tuple[Array, Array, Array]:
    """Return x, a gradient and memory for the output; the same for the same seed."""
    dtype = dtype_of(name)
    rng = np.random.default_rng(seed)
    randn, grad = (_filled(rng.standard_normal(count), dtype) for _ in range(2))
    x = randn if inputs == "randn" else special(rng, count, dtype)
    return x, grad, empty(count, dtype)


def _filled(values: Array, dtype: np.dtype[Any]) -> Array:
    array = empty(values.size, dtype)
    array[:] = values
    return array


def special(rng: np.random.Generator, count: int, dtype: np.dtype[Any]) -> Array:
    """Return tails, tiny and subnormal numbers, infinities, NaN, zeros, of both signs."""
    parts = [count * share // 100 for share in (40, 15, 15, 10, 10)]
    tails, tiny, subnormal, infinite, nan = parts
    array = empty(count, dtype)
    values: list[Array] = [
        rng.uniform(*TAIL, tails).astype(dtype),
        (rng.uniform(1.0, 2.0, tiny) * _tiny(dtype)).astype(dtype),
        _subnormals(rng, subnormal, dtype),
        np.full(infinite, np.inf).astype(dtype),
        np.full(nan, np.nan).astype(dtype),
        np.zeros(count - sum(parts)).astype(dtype),
    ]
    bits = np.concatenate([part.view(f"u{dtype.itemsize}") for part in values])
    signs = rng.integers(0, 2, count, dtype=bits.dtype) << np.asarray(
        8 * dtype.itemsize - 1, dtype=bits.dtype
    )
    array.view(bits.dtype)[:] = rng.permutation(bits | signs)
    return array


def _tiny(dtype: np.dtype[Any]) -> float:
    """Return 1e-30, or the smallest normal number of a format that has none so small."""
    return max(TINY, float(finfo(dtype).smallest_normal))


def _subnormals(rng: np.random.Generator, count: int, dtype: np.dtype[Any]) -> Array:
    """Return numbers whose exponent field is 0 and whose mantissa is not."""
    top = 1 << int(finfo(dtype).nmant)
    return rng.integers(1, top, count, dtype=f"u{dtype.itemsize}").view(dtype)
