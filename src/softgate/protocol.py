"""Operands that are no arrays: tensors go to their framework's adapter, others are asked.

The latter as NumPy has it, by `__array_ufunc__` and `__array_wrap__`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np


def _torch() -> ModuleType:
    # A statement, which torch.compile can follow.
    from .adapters import torch

    return torch


def _jax() -> ModuleType:
    from .adapters import jax

    return jax


def _tensorflow() -> ModuleType:
    from .adapters import tensorflow

    return tensorflow


def keras_adapter() -> ModuleType:
    """Return the adapter for Keras, which also names functions in its files."""
    from .adapters import keras

    return keras


ADAPTERS: dict[tuple[str, str], Callable[[], ModuleType]] = {
    ("torch", "Tensor"): _torch,
    ("jaxlib", "ArrayImpl"): _jax,
    ("jax", "Tracer"): _jax,
    ("tensorflow", "Tensor"): _tensorflow,
    ("tensorflow", "Variable"): _tensorflow,
    ("tensorflow", "RaggedTensor"): _tensorflow,
    ("tensorflow", "SparseTensor"): _tensorflow,
    ("keras", "KerasTensor"): keras_adapter,
    ("keras", "Variable"): keras_adapter,
}
"""Whose tensors have an adapter: the package and name of their class, and what loads it.

An adapter stands above this layer; no framework is imported before its tensors arrive."""

_loaded: list[tuple[type, ModuleType]] = []
_others: set[type] = set()


def adapter_of(operand: object) -> ModuleType | None:
    """Return the adapter for a framework's tensor, or None for anything else."""
    for kind, adapter in _loaded:
        if isinstance(operand, kind):
            return adapter
    kind = type(operand)
    if kind in _others:
        return None
    for base in kind.__mro__:
        load = ADAPTERS.get((base.__module__.partition(".")[0], base.__name__))
        if load is not None:
            found = load()
            _loaded.append((base, found))
            return found
    _others.add(kind)
    return None


class Call:
    """One of our functions as `__array_ufunc__` and `__array_wrap__` may ask for it: a ufunc."""

    signature = None

    def __init__(
        self, name: str, nin: int, function: Callable[..., Any] | None = None, nout: int = 1
    ) -> None:
        self.__name__, self.nin, self.nout, self._function = name, nin, nout, function
        self.nargs = nin + nout

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Call the function."""
        if self._function is None:
            raise TypeError(f"{self.__name__} is told of, not to be called")
        return self._function(*inputs, **keywords)


_NUMPYS_OWN = np.ndarray.__array_ufunc__


def override(
    name: str,
    function: Callable[..., Any],
    inputs: tuple[Any, ...],
    out: Any,
    keywords: Any,
    nout: int = 1,
) -> tuple[bool, Any]:
    """Let operands whose types take ufuncs over do so, as NumPy's protocol has it.

    Returns whether one did, and its result. Subclasses are asked before their parents.
    """
    operands = (*inputs, *(out if isinstance(out, tuple) else (out,)))
    asked: list[Any] = []
    for operand in operands:
        method = getattr(type(operand), "__array_ufunc__", _NUMPYS_OWN)
        if method is None:
            raise TypeError(f"{type(operand).__name__} does not take part in ufuncs")
        if method is not _NUMPYS_OWN and all(type(other) is not type(operand) for other in asked):
            after = [i for i, other in enumerate(asked) if isinstance(operand, type(other))]
            asked.insert(after[0] if after else len(asked), operand)
    call = Call(name, len(inputs), function, nout)
    for operand in asked:
        result = operand.__array_ufunc__(call, "__call__", *inputs, **keywords)
        if result is not NotImplemented:
            return True, result
    if asked:
        kinds = ", ".join(type(operand).__name__ for operand in asked)
        raise TypeError(f"{name} is not implemented for {kinds}: its __array_ufunc__ declined")
    return False, None
