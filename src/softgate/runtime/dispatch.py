"""Calls with operands that are not NumPy arrays: framework adapters.

Tensors are passed to the `Adapter` of their framework as a `Call`. Arrays of other libraries
compute softgate's ufuncs themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

if TYPE_CHECKING:
    from .activation import Activation

NO_PARAMETERS: Mapping[str, Any] = {}


class Call(NamedTuple):
    """One call of a function: the quantity, the operands and the options."""

    function: Activation
    quantity: str
    operands: tuple[Any, ...]
    """x; of a function of two operands both, or the x that is split; then grad for "backward"."""
    out: Any = None
    arithmetic: str | None = None
    parameters: Mapping[str, Any] = NO_PARAMETERS
    """The parameters passed; the others have the function's defaults."""
    axis: int | None = None
    """The axis along which a function of two operands splits a single one."""
    gate: str | None = None
    """Which operand of a gated function is the gate, "first" or "second"; None for its default."""
    compiled: bool = False
    """Whether the call is traced by torch.compile; only `explain` sets it."""
    options: Mapping[str, Any] = NO_PARAMETERS
    """Options of a NumPy ufunc: `where`, `dtype`, `casting`, `order`, `subok`."""

    @property
    def splits(self) -> bool:
        """Whether one operand is split into the two of the function."""
        return self.function.nin == 2 and len(self.operands) == 1 + (self.quantity == "backward")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operands."""
        names = ("x", "grad") if self.splits else self.function.entry.inputs(self.quantity)
        return names[: len(self.operands)]

    def check_axis(self) -> None:
        """Raise if an axis is passed with two operands."""
        if self.axis is not None and not self.splits:
            raise TypeError(
                f"axis = {self.axis!r} with two operands: {self.function.name} splits one array "
                "along an axis; omit it, or pass one array"
            )

    def refuse_options(self) -> None:
        """Raise TypeError if options of a NumPy ufunc are passed with tensors."""
        if self.options:
            name, kind = next(iter(self.options)), type(self.operands[0]).__name__
            raise TypeError(f"{name} is an option for NumPy arrays, and the operand is a {kind}")

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


class Plan(NamedTuple):
    """How a call is computed: what runs, and its description, decided at the same place."""

    run: Callable[[], Any]
    describe: Callable[[], Explanation]


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


class Planner(Protocol):
    """The interface of a framework's adapter, a module in `softgate.frameworks`."""

    def plan(self, call: Call) -> Plan:
        """Return how a call is computed, with tensors of the framework, differentiable, as results.

        Several results are a tuple, in the order of their operands. Raise if an argument is
        invalid.
        """


class Adapter(Protocol):
    """The interface of an adapter that does not plan calls yet."""

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


def _jax() -> Planner:
    from softgate.frameworks import jax

    return jax


def _tensorflow() -> Planner:
    from softgate.frameworks import tensorflow

    return tensorflow


def _keras() -> Planner:
    from softgate.frameworks import keras

    return keras


def _polars() -> Adapter:
    from softgate.frameworks import polars

    return polars


ADAPTERS: dict[tuple[str, str], Callable[[], Planner | Adapter]] = {
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
    ("polars", "Expr"): _polars,
}
"""The classes of tensors that have an adapter, by package and name, and how it is loaded.

Adapters are above this layer; a framework is imported at the first call with one of its tensors."""

_loaded: list[tuple[type, Planner | Adapter]] = []
_others: set[type] = set()


def keras_adapter() -> ModuleType:
    """Return the adapter for Keras, which also serializes functions."""
    return cast(ModuleType, _keras())


def adapter_of(operand: object) -> Planner | Adapter | None:
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


def adapter_for(operands: tuple[Any, ...]) -> Planner | Adapter | None:
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


UFUNC_OPTIONS = ("where", "casting", "order", "dtype", "subok")
