"""Small plain tensors: operators of libtorch's stable C ABI, whose kernels run without Python.

A call from Python of an operator with compiled code takes a third of the time that the same checks,
the allocation and the call of a kernel take in Python. The dispatcher makes the checks: a mode, a
tracer, functorch, autocast, a tensor that is negated when read or is on another device selects a
kernel that declines. The operators take addresses, so they never appear in a graph.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from softgate.lower import torch_c_abi
from softgate.lower.fork_lock import BUILDING
from softgate.lower.target import address_of, never_free
from softgate.runtime.threads import SERIAL

from .registration import define, has_kernel, implement

if TYPE_CHECKING:
    from softgate.runtime.routes import Runner

VERSION = 2 << 56 | 10 << 48
"""PyTorch 2.10, the first version with the registration function below."""
REGISTER = ("aoti_torch_library_init_impl", "torch_library_impl")

DECLINED = (
    "AutocastCPU", "Autograd", "AutogradNestedTensor", "Batched", "BatchedNestedTensor",
    "CompositeExplicitAutograd", "Conjugate", "FuncTorchBatched", "FuncTorchDynamicLayerBackMode",
    "FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchVmapMode", "Functionalize",
    "Negative", "NestedTensorCPU", "PreDispatch", "Python", "PythonDispatcher",
    "PythonTLSSnapshot", "Tracer", "VmapMode", "ZeroTensor",
)  # fmt: skip
"""The dispatch keys of tensors and modes for which the operators decline. CPU tensors also have the
keys AutogradCPU and ADInplaceOrView, which fall through."""

Operator = Callable[..., torch.Tensor | None]


def decline(*_: Any) -> None:
    """Decline every call: libtorch lacks a part of the C ABI."""


class Operators(NamedTuple):
    """The operators: they return None where they decline."""

    unary: Operator = decline
    """Of a tensor and the address of a table."""
    binary: Operator = decline
    """Of two tensors and the address of a table."""
    reason: str = ""
    """Why they decline every call."""


SCHEMAS = (
    ("small_unary(Tensor x0, int table) -> Tensor", 1),
    ("small_binary(Tensor x0, Tensor x1, int table) -> Tensor", 2),
)
"""The operators, and how many tensors each takes."""


class Table:
    """The loops of one quantity by dtype, at an address that operators take.

    Each new loop makes a new table: operators in other threads may still read the old one.
    """

    __slots__ = ("_old", "_runners", "_words", "address")

    def __init__(self) -> None:
        self._runners: dict[int, Runner] = {}
        self._old: list[Any] = []
        self._fill()

    def add(self, dtype: torch.dtype, runner: Runner) -> None:
        """Add the loop for tensors of `dtype`."""
        number = _number(dtype)
        if number is not None and number not in self._runners:
            self._runners[number] = runner
            self._old.append(self._words)
            self._fill()

    def _fill(self) -> None:
        words = torch_c_abi.table({n: (r.code, r.address) for n, r in self._runners.items()})
        self._words = (ctypes.c_int64 * len(words))(*words)
        self.address: int = ctypes.addressof(self._words)


@cache
def _number(dtype: torch.dtype) -> int | None:
    """Return the number of a dtype in libtorch; None if it has none there."""
    name = "aoti_torch_dtype_" + str(dtype).removeprefix("torch.")
    library = _library()
    number: int | None = getattr(library, name)() if hasattr(library, name) else None
    return number if number is not None and number < torch_c_abi.MOST_DTYPES else None


@cache
def _library() -> Any:
    """Return libtorch, or None where it is not a file next to torch."""
    names = {"win32": "torch_cpu.dll", "darwin": "libtorch_cpu.dylib"}
    file = Path(torch.__file__).parent / "lib" / names.get(sys.platform, "libtorch_cpu.so")
    try:
        return ctypes.CDLL(str(file))
    except OSError:
        return None


@cache
def operators() -> Operators:
    """Register both operators, once, and return them; they decline where that is impossible."""
    with BUILDING:
        return _registered()


@cache
def _registered() -> Operators:
    library = _library()
    if not all(hasattr(library, name) for name in (*torch_c_abi.FUNCTIONS, *REGISTER)):
        return Operators(reason="libtorch lacks a part of its C ABI")
    symbols = {name: address_of(getattr(library, name)) for name in torch_c_abi.FUNCTIONS}
    calls = []
    try:
        for schema, inputs in SCHEMAS:
            name = define(schema)
            kernels = {"CPU": torch_c_abi.compile_small(symbols, inputs, SERIAL)}
            kernels |= dict.fromkeys(DECLINED, torch_c_abi.compile_decline(symbols, inputs))
            for key, kernel in kernels.items():
                never_free(kernel)
                if not has_kernel(name, key):
                    _implement(library, name, key, kernel)
            for key in ("AutogradCPU", "ADInplaceOrView"):
                implement(name, torch.library.fallthrough_kernel, key)
            overload = getattr(torch.ops.softgate, name).default
            calls.append(getattr(overload, "_op", overload))  # without a layer of Python
    except Exception as error:
        return Operators(reason=str(error))
    return Operators(*calls)


def describe(quantity: str, x: torch.Tensor) -> str:
    """Return how the kernel of a plain tensor is called, to be appended to its description."""
    if quantity != "value" or x.numel() >= SERIAL or not x.is_contiguous():
        return ""
    reason = operators().reason
    return f", called by Python: {reason}" if reason else ", called by libtorch"


def _implement(library: Any, name: str, key: str, kernel: Callable[..., None]) -> None:
    """Register a compiled kernel of an operator for a dispatch key."""
    handle = ctypes.c_void_p()
    start, register = (getattr(library, part) for part in REGISTER)
    failed = start(b"softgate", key.encode(), b"softgate", ctypes.c_uint32(0), ctypes.byref(handle))
    address = ctypes.c_void_p(address_of(kernel))
    failed = failed or register(handle, name.encode(), address, ctypes.c_uint64(VERSION))
    if failed:
        raise RuntimeError(f"libtorch refuses the kernel of softgate::{name} for the key {key}")
