"""Arrays of models: inputs from .npz files, bound to a model's names, and differences of outputs.

Differences are absolute, relative to the size of the first array, and in ulps.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from softgate.formula.formats import format_of
from softgate.records.files import read_arrays
from softgate.records.text import a_type

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = dict[str, Array]
GENERIC = frozenset({"arr_0", "data", "input", "inputs", "x"})
"""Names of the array for a model with one input, whatever its name; numpy.savez writes arr_0."""
MOST_AXES = 5
"""The most axes of arrays whose order is tried."""


def load_arrays(source: Any, name: str = "inputs") -> Arrays:
    """Return the arrays of an .npz file, of a mapping, or one array as `x`.

    Raises ValueError or TypeError, with `name` as the argument, if they are not arrays of numbers.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() != ".npz" or not path.is_file():
            raise ValueError(f"{name} {path}: expected an .npz file that exists")
        arrays = read_arrays(path)
    else:
        items = source if isinstance(source, Mapping) else {"x": source}
        arrays = {str(key): _array(item) for key, item in items.items()}
    if not arrays or any(array.dtype.kind not in "biufV" for array in arrays.values()):
        kind = source if isinstance(source, str | os.PathLike) else a_type(source)
        raise TypeError(f"{name} = {kind}: expected arrays of numbers")
    return arrays


def _array(value: Any) -> Array:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return np.asarray(value)


@contextmanager
def inputs_file(arrays: Arrays) -> Iterator[str]:
    """Yield the path of a temporary .npz file with arrays."""
    with TemporaryDirectory() as folder:
        file = str(Path(folder, "inputs.npz"))
        np.savez(file, **arrays)  # type: ignore[arg-type]
        yield file


def bind(
    arrays: Mapping[str, Array],
    names: Sequence[str],
    model: str,
    *,
    needed: Sequence[str] | None = None,
    spare: bool = False,
) -> Arrays:
    """Return arrays by the names of a model's inputs; with `spare`, without those of other names.

    One array without a name, or with a general one, is the input of a model that has one. `needed`
    are the inputs without a default. Raises ValueError if the names do not fit.
    """
    needed = names if needed is None else needed
    if len(arrays) == 1 and len(needed) <= 1 and names and set(arrays) - set(names) <= GENERIC:
        (array,) = arrays.values()
        return {next(iter((*(set(arrays) & set(names)), *needed, *names))): array}
    matching = {name: array for name, array in arrays.items() if name in names}
    if matching and set(needed) <= set(matching) and (spare or len(matching) == len(arrays)):
        return matching
    raise ValueError(
        f"the inputs are {', '.join(arrays)}: {model} takes {', '.join(names)}; use these names"
    )


@dataclass(frozen=True)
class ArrayDifference:
    """The largest difference of two arrays; NaNs and equal infinities at one place are equal."""

    max_difference: float
    relative: float
    """The largest difference over the largest magnitude of the first array."""
    ulps: float
    """The most numbers of the coarser dtype between two elements; inf beside NaN or infinity."""
    index: tuple[int, ...]
    """Where the largest difference is."""
    first: float
    second: float
    """The elements there."""

    @property
    def equal(self) -> bool:
        """Whether all elements are equal."""
        return self.max_difference == 0


def difference(first: Array, second: Array) -> ArrayDifference:
    """Return the difference of two arrays of one shape."""
    coarse = min((first.dtype, second.dtype), key=_bits)
    if coarse.kind in "biu":
        coarse = np.dtype(np.float64)
    a, b = (np.asarray(array, np.float64) for array in (first, second))
    if not a.size:
        return ArrayDifference(0.0, 0.0, 0.0, (), 0.0, 0.0)
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, apart)
        apart = np.where(np.isnan(apart), inf, apart)
        at = np.unravel_index(int(np.argmax(apart)), apart.shape)
        largest = float(apart[at])
        finite = np.abs(a[np.isfinite(a)])
        size = float(finite.max()) if finite.size else 0.0
    fmt = format_of(coarse)
    if fmt is not None and largest < 2.0**fmt.min_exponent:
        size = max(size, 2.0**fmt.min_exponent)  # the spacing of subnormals is absolute
    relative = 0.0 if largest == 0 else largest / size if size else inf
    return ArrayDifference(
        largest,
        relative,
        _ulps(a, b, apart, coarse),
        tuple(int(i) for i in at),
        float(a[at]),
        float(b[at]),
    )


def _bits(dtype: np.dtype[Any]) -> int:
    return 64 if dtype.kind in "biu" else dtype.itemsize


def _ulps(a: Array, b: Array, apart: Array, dtype: np.dtype[Any]) -> float:
    """Return the most steps between two elements, counted in the numbers of a dtype."""
    if not apart.any():
        return 0.0
    if not np.isfinite(apart).all():
        return inf
    signed = np.dtype(f"i{dtype.itemsize}")
    steps = []
    with np.errstate(over="ignore"):
        for array in (a, b):
            bits = np.ascontiguousarray(array.astype(dtype)).view(signed).astype(np.float64)
            least = float(np.iinfo(signed).min)
            steps.append(np.where(bits < 0, least - bits, bits))
    return float(np.max(np.abs(steps[0] - steps[1])))


def aligned(first: Array, second: Array) -> Array | None:
    """Return the second array with the axes of the first; None if their sizes differ.

    Axes of length 1 may be missing, and the order of axes may be another, as with channels last;
    of several orders with the shape of the first array, the nearest one is returned.
    """
    if first.shape == second.shape:
        return second
    if first.size != second.size:
        return None
    a, b = first.squeeze(), second.squeeze()
    if a.shape == b.shape:
        return b.reshape(first.shape)
    if sorted(a.shape) != sorted(b.shape) or a.ndim > MOST_AXES:
        return None
    orders = [
        b.transpose(order)
        for order in permutations(range(b.ndim))
        if tuple(b.shape[i] for i in order) == a.shape
    ]
    nearest = min(orders, key=lambda array: difference(a, array).max_difference)
    return nearest.reshape(first.shape)
