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

from ..capability import Changed, capability
from . import private
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


@capability(
    "torch",
    "libtorch's stable C ABI",
    imported=False,
    cost="kernels of small tensors are called by Python",
    otherwise=Operators(),
)
def operators() -> Operators:
    """Return both operators, registered once; they decline where that is impossible."""
    with BUILDING:
        registered = _registered()
    private.in_new_thread(_check, registered)
    return registered


@cache
def _registered() -> Operators:
    library = _library()
    for name in (*torch_c_abi.FUNCTIONS, *REGISTER):
        if not hasattr(library, name):
            raise Changed(f"there is no {name}")
    symbols = {name: address_of(getattr(library, name)) for name in torch_c_abi.FUNCTIONS}
    calls = []
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
        calls.append(private.without_python.get()(overload))
    return Operators(*calls)


def _check(operators: Operators) -> None:
    """Raise unless the operators call a loop with the operands, in order, and return its result.

    They read their operands from a stack whose layout libtorch defines.
    """

    @ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_float)] * 2, ctypes.c_void_p, ctypes.c_int64)
    def negate(result: Any, x: Any, _: Any, count: int) -> None:
        for i in range(count):
            result[i] = -x[i]

    @ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_float)] * 3, ctypes.c_void_p, ctypes.c_int64)
    def subtract(result: Any, x: Any, y: Any, _: Any, count: int) -> None:
        for i in range(count):
            result[i] = x[i] - y[i]

    number = _number(torch.float32)
    if number is None:
        raise Changed("libtorch does not number float32")
    x = torch.tensor([[1.0, 2.0, 4.0]])
    y = x.new_ones(1, 3)
    negated = torch.ones(1, dtype=torch.complex64).conj().imag
    for operator, loop, operands, expected in (
        (operators.unary, negate, (x,), -x),
        (operators.binary, subtract, (x, y), x - y),
    ):
        words = torch_c_abi.table({number: (ctypes.cast(loop, ctypes.c_void_p).value or 0, 0)})
        table = (ctypes.c_int64 * len(words))(*words)
        result = operator(*operands, ctypes.addressof(table))
        if result is None or result.shape != x.shape or not torch.equal(result, expected):
            raise Changed("the result of a loop is not returned")
        others = {"float64": x.double(), "a meta tensor": x.to("meta"), "a negated view": negated}
        for kind, other in others.items():
            if operator(*[other] * len(operands), ctypes.addressof(table)) is not None:
                raise Changed(f"{kind} is not declined")


def describe(quantity: str, *tensors: torch.Tensor) -> str:
    """Return how the kernel of plain tensors is called, to be appended to its description."""
    small = all(x.numel() < SERIAL and x.is_contiguous() for x in tensors)
    if quantity != "value" or not small:
        return ""
    if operators.reason:
        return f", called by Python ({operators})"
    return f", called by libtorch{private.costs(private.without_python)}"


def _implement(library: Any, name: str, key: str, kernel: Callable[..., None]) -> None:
    """Register a compiled kernel of an operator for a dispatch key."""
    handle = ctypes.c_void_p()
    start, register = (getattr(library, part) for part in REGISTER)
    failed = start(b"softgate", key.encode(), b"softgate", ctypes.c_uint32(0), ctypes.byref(handle))
    address = ctypes.c_void_p(address_of(kernel))
    failed = failed or register(handle, name.encode(), address, ctypes.c_uint64(VERSION))
    if failed:
        raise RuntimeError(f"libtorch refuses the kernel of softgate::{name} for the key {key}")
