"""Calls with operands that are not NumPy arrays: framework adapters and NumPy's override protocols.

Tensors are passed to the `Adapter` of their framework as a `Call`. Arrays of other libraries are
supported through `__array_ufunc__`, `__array_function__` and `__array_wrap__`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

if TYPE_CHECKING:
    from .activation import Function

NO_PARAMETERS: Mapping[str, Any] = {}


class Call(NamedTuple):
    """One call of a function: the quantity, the operands and the options."""

    function: Function
    quantity: str
    operands: tuple[Any, ...]
    """x; for a gated function a and b, or the x that is split; then grad for "backward"."""
    out: Any = None
    arithmetic: str | None = None
    parameters: Mapping[str, Any] = NO_PARAMETERS
    """The parameters passed; the others have the function's defaults."""
    axis: int | None = None
    """The axis along which a gated function splits its single operand."""
    gate: str | None = None
    """Which operand is the gate, "first" or "second"; None for the function's default."""
    compiled: bool = False
    """Whether the call is traced by torch.compile; only `explain` sets it."""

    @property
    def method(self) -> Callable[..., Any]:
        """The public function or method that computes the quantity."""
        function: Any = self.function
        method: Callable[..., Any] = (
            function if self.quantity == "value" else getattr(function, self.quantity)
        )
        return method

    @property
    def keywords(self) -> dict[str, Any]:
        """The options of the call, except `out`, as keywords of `method`."""
        options = {"arithmetic": self.arithmetic, "axis": self.axis, "gate": self.gate}
        options_set = {name: option for name, option in options.items() if option is not None}
        return {**self.parameters, **options_set}


@dataclass(frozen=True)
class Explanation:
    """How one call is computed; its string is one line."""

    activation: str
    quantity: str
    shape: tuple[int, ...]
    dtype: str
    computed_by: str
    memory: str
    threads: int

    def __str__(self) -> str:
        call = self.activation if self.quantity == "value" else f"{self.activation}.{self.quantity}"
        threads = "1 thread" if self.threads == 1 else f"up to {self.threads} threads"
        what = f"{call} of {self.dtype}{list(self.shape)}"
        return f"{what}: {self.computed_by}; {self.memory}; {threads}"


class Adapter(Protocol):
    """The interface of a framework's adapter, a module in `softgate.frameworks`."""

    def compute(self, call: Call) -> Any:
        """Return the results of a call as tensors of the framework, differentiable.

        Several results are a tuple, in the order of their operands.
        """

    def explain(self, call: Call) -> Explanation:
        """Return how `compute` would compute a call."""


def _torch() -> Adapter:
    # An import statement, which torch.compile can trace.
    from softgate.frameworks import torch

    return torch


def _torch_proxies() -> Adapter:
    from softgate.frameworks import torch

    return torch.proxies


def _jax() -> Adapter:
    from softgate.frameworks import jax

    return jax


def _tensorflow() -> Adapter:
    from softgate.frameworks import tensorflow

    return tensorflow


def _keras() -> Adapter:
    from softgate.frameworks import keras

    return keras


def _polars() -> Adapter:
    from softgate.frameworks import polars

    return polars


ADAPTERS: dict[tuple[str, str], Callable[[], Adapter]] = {
    ("torch", "Tensor"): _torch,
    ("torch", "Proxy"): _torch_proxies,
    ("jaxlib", "ArrayImpl"): _jax,
    ("jax", "Tracer"): _jax,
    ("tensorflow", "Tensor"): _tensorflow,
    ("tensorflow", "Variable"): _tensorflow,
    ("tensorflow", "RaggedTensor"): _tensorflow,
    ("tensorflow", "SparseTensor"): _tensorflow,
    ("keras", "KerasTensor"): _keras,
    ("keras", "Variable"): _keras,
    ("polars", "Series"): _polars,
}
"""The classes of tensors that have an adapter, by package and name, and how it is loaded.

Adapters are above this layer; a framework is imported at the first call with one of its tensors."""

_loaded: list[tuple[type, Adapter]] = []
_others: set[type] = set()


def keras_adapter() -> ModuleType:
    """Return the adapter for Keras, which also serializes functions."""
    return cast(ModuleType, _keras())


def adapter_of(operand: object) -> Adapter | None:
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
            adapter = load()
            _loaded.append((base, adapter))
            return adapter
    _others.add(kind)
    return None


def adapter_for(operands: tuple[Any, ...]) -> Adapter | None:
    """Return the adapter for a call with these operands, or None if NumPy computes it.

    The adapter for `torch.fx.Proxy` takes precedence: a Proxy has no elements, and the call is
    recorded whatever the other operands are.
    """
    if len(operands) == 1:
        return None if type(operands[0]) is np.ndarray else adapter_of(operands[0])
    first = None
    for operand in operands:
        if not isinstance(operand, int | float | np.ndarray):
            adapter = adapter_of(operand)
            if adapter is not None and getattr(adapter, "RECORDS_CALLS", False):
                return adapter
            if first is None:
                first = adapter
    return first


class UfuncView:
    """A function with its parameters as `__array_ufunc__` and `__array_wrap__` receive it.

    It has the attributes of a ufunc that array types use.
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


_NUMPY_UFUNC = np.ndarray.__array_ufunc__


def is_duck_array(x: object) -> bool:
    """Return whether `x` is an array of another library that implements NEP 13 and NEP 18."""
    kind = type(x)
    return (
        not isinstance(x, np.ndarray)
        and getattr(kind, "__array_ufunc__", None) is not None
        and hasattr(kind, "__array_function__")
    )


def override(call: Call, nout: int = 1) -> tuple[bool, Any]:
    """Pass a call to the operands with types that override ufuncs, as in NumPy's protocol.

    Returns whether one of them computed it, and its result. Subclasses precede their parents.
    Options are bound to the function that those types receive: a ufunc has no parameters, and
    dask raises for keywords that ufuncs do not have.
    """
    inputs, out, name = call.operands, call.out, call.function.name
    outs = out if isinstance(out, tuple) else (out,)
    overriding: list[Any] = []
    for operand in (*inputs, *outs):
        method = getattr(type(operand), "__array_ufunc__", _NUMPY_UFUNC)
        if method is None:
            raise TypeError(f"{type(operand).__name__} does not take part in ufuncs")
        if method is not _NUMPY_UFUNC and all(type(x) is not type(operand) for x in overriding):
            after = [i for i, x in enumerate(overriding) if isinstance(operand, type(x))]
            overriding.insert(after[0] if after else len(overriding), operand)
    if not overriding:
        return False, None
    passed = {} if out is None else {"out": outs}
    keywords = call.keywords
    bound = partial(call.method, **keywords) if keywords else call.method
    view = UfuncView(name, len(inputs), bound, nout)
    for operand in overriding:
        result = operand.__array_ufunc__(view, "__call__", *inputs, **passed)
        if result is not NotImplemented:
            if nout > 1 and not isinstance(result, tuple):
                kind = type(operand).__name__
                raise TypeError(f"{name} has {nout} results here, and {kind} allows for one")
            return True, result
    if nout > 1 and out is None:
        packed = UfuncView(name, len(inputs), partial(_packed, bound))
        for operand in overriding:
            result = operand.__array_ufunc__(packed, "__call__", *inputs)
            if result is not NotImplemented:
                return True, tuple(result[f"f{i}"] for i in range(nout))
    kinds = ", ".join(type(operand).__name__ for operand in overriding)
    raise TypeError(f"{name} is not implemented for {kinds}: its __array_ufunc__ declined")


def _packed(function: Callable[..., Any], *inputs: Any) -> Any:
    """Return several results as the fields of one array.

    dask overrides ufuncs only with one result; packed, the results of a chunk are computed in one
    pass and stay lazy.
    """
    results = [np.asarray(result) for result in function(*inputs)]
    fields = [(f"f{i}", result.dtype) for i, result in enumerate(results)]
    packed = np.empty(results[0].shape, fields)
    for (name, _), result in zip(fields, results, strict=True):
        packed[name] = result
    return packed
