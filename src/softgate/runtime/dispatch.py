"""Operands that are no arrays: tensors go to their framework's adapter, others are asked.

The latter as NumPy has it, by `__array_ufunc__`, `__array_function__` and `__array_wrap__`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np


def _torch() -> ModuleType:
    # A statement, which torch.compile can follow.
    from softgate.frameworks import torch

    return torch


def _torch_proxies() -> ModuleType:
    proxies: ModuleType = _torch().proxies
    return proxies


def _jax() -> ModuleType:
    from softgate.frameworks import jax

    return jax


def _tensorflow() -> ModuleType:
    from softgate.frameworks import tensorflow

    return tensorflow


def keras_adapter() -> ModuleType:
    """Return the adapter for Keras, which also names functions in its files."""
    from softgate.frameworks import keras

    return keras


def _polars() -> ModuleType:
    from softgate.frameworks import polars

    return polars


ADAPTERS: dict[tuple[str, str], Callable[[], ModuleType]] = {
    ("torch", "Tensor"): _torch,
    ("torch", "Proxy"): _torch_proxies,
    ("jaxlib", "ArrayImpl"): _jax,
    ("jax", "Tracer"): _jax,
    ("tensorflow", "Tensor"): _tensorflow,
    ("tensorflow", "Variable"): _tensorflow,
    ("tensorflow", "RaggedTensor"): _tensorflow,
    ("tensorflow", "SparseTensor"): _tensorflow,
    ("keras", "KerasTensor"): keras_adapter,
    ("keras", "Variable"): keras_adapter,
    ("polars", "Series"): _polars,
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


def recorder_of(*operands: object) -> ModuleType | None:
    """Return the adapter that records calls instead of computing, if an operand has one.

    A `torch.fx.Proxy` has no elements: the call is recorded whatever the other operands are.
    """
    for operand in operands:
        adapter = adapter_of(operand)
        if adapter is not None and getattr(adapter, "RECORDS_CALLS", False):
            return adapter
    return None


class Call:
    """One of our functions with its parameters, as `__array_ufunc__` and `__array_wrap__` see it.

    It has those attributes of a ufunc that array types read.
    """

    signature = None

    def __init__(
        self, name: str, nin: int, function: Callable[..., Any] | None = None, nout: int = 1
    ) -> None:
        self.__name__, self.nin, self.nout, self._function = name, nin, nout, function
        self.nargs = nin + nout

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Call the function; another keyword raises TypeError, which polars relies on."""
        if self._function is None:
            raise TypeError(f"{self.__name__} describes a call and cannot be called")
        return self._function(*inputs) if out is None else self._function(*inputs, out=out)


_NUMPYS_OWN = np.ndarray.__array_ufunc__


def is_duck_array(x: object) -> bool:
    """Tell whether `x` is an array of another library that implements NEP 13 and NEP 18."""
    kind = type(x)
    return (
        not isinstance(x, np.ndarray)
        and getattr(kind, "__array_ufunc__", None) is not None
        and hasattr(kind, "__array_function__")
    )


def override(
    name: str,
    function: Callable[..., Any],
    inputs: tuple[Any, ...],
    out: Any,
    keywords: Mapping[str, Any],
    nout: int = 1,
) -> tuple[bool, Any]:
    """Let operands whose types take ufuncs over do so, as NumPy's protocol has it.

    Returns whether one did, and its result. Subclasses come before their parents. `keywords`
    are part of the function that those types receive: a ufunc has no parameters, and dask raises
    where it finds a keyword that ufuncs do not have.
    """
    operands = (*inputs, *(out if isinstance(out, tuple) else (out,)))
    overriding: list[Any] = []
    for operand in operands:
        method = getattr(type(operand), "__array_ufunc__", _NUMPYS_OWN)
        if method is None:
            raise TypeError(f"{type(operand).__name__} does not take part in ufuncs")
        if method is not _NUMPYS_OWN and all(type(x) is not type(operand) for x in overriding):
            after = [i for i, x in enumerate(overriding) if isinstance(operand, type(x))]
            overriding.insert(after[0] if after else len(overriding), operand)
    if not overriding:
        return False, None
    passed = {} if out is None else {"out": out if isinstance(out, tuple) else (out,)}
    bound = partial(function, **keywords) if keywords else function
    call = Call(name, len(inputs), bound, nout)
    for operand in overriding:
        result = operand.__array_ufunc__(call, "__call__", *inputs, **passed)
        if result is not NotImplemented:
            if nout > 1 and not isinstance(result, tuple):
                kind = type(operand).__name__
                raise TypeError(f"{name} has {nout} results here, and {kind} allows for one")
            return True, result
    if nout > 1 and out is None:
        packed = Call(name, len(inputs), partial(_packed, bound))
        for operand in overriding:
            result = operand.__array_ufunc__(packed, "__call__", *inputs)
            if result is not NotImplemented:
                return True, tuple(result[f"f{i}"] for i in range(nout))
    kinds = ", ".join(type(operand).__name__ for operand in overriding)
    raise TypeError(f"{name} is not implemented for {kinds}: its __array_ufunc__ declined")


def _packed(function: Callable[..., Any], *inputs: Any) -> Any:
    """Return several results as the fields of one array.

    dask's arrays take ufuncs over only where there is one result; this way the results of a chunk
    come from one pass, and stay lazy.
    """
    results = [np.asarray(result) for result in function(*inputs)]
    fields = [(f"f{i}", result.dtype) for i, result in enumerate(results)]
    packed = np.empty(results[0].shape, fields)
    for (name, _), result in zip(fields, results, strict=True):
        packed[name] = result
    return packed
