"""Arrays with which models are run: read from .npz files, and bound to the inputs of a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from softgate.runtime.files import read_arrays
from softgate.runtime.printable_text import a_type

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = dict[str, Array]


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


def bind(arrays: Mapping[str, Array], names: Sequence[str], model: str) -> Arrays:
    """Return arrays by the names of a model's inputs: by name or, if no name is known, by order.

    Raises ValueError if they do not fit.
    """
    if set(arrays) <= set(names):
        return dict(arrays)
    if len(arrays) == len(names) and not set(arrays) & set(names):
        return dict(zip(names, arrays.values(), strict=True))
    raise ValueError(f"the inputs are {', '.join(arrays)}: {model} takes {', '.join(names)}")
