"""softgate's kernels inside programs that XLA compiles for a CPU: calls of one primitive of JAX.

XLA calls the kernel that NumPy arrays use: the same bits, subnormal numbers included. Where it
cannot, the primitive is lowered to JAX operators (`private`): for other platforms, in exported
programs, which must run without softgate, and where XLA partitions a program.

A kernel that was registered with XLA is never freed: XLA cannot unregister it, and a compiled
program may call it at any time. The name of a target contains a digest of the kernel's operations
and numbers, so a program from JAX's persistent cache calls the kernel it was compiled for.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from softgate.catalogue import Entry
from softgate.formula.formats import Format, dtype_of
from softgate.runtime.kernels import BUILDING
from softgate.runtime.routes import Route, Runner
from softgate.runtime.threads import ALIGNMENT, MIN_CHUNK_BYTES, chunk_loop

from . import private

Rule = Callable[..., Any]

_operators_preferred: ContextVar[bool] = ContextVar("softgate.jax.prefer_operators")


@contextmanager
def prefer_operators() -> Iterator[None]:
    """Compute with JAX operators in place of softgate's kernels on CPUs.

    Functions that are traced within this context consist of JAX operators, as they do on other
    platforms and in exported programs: XLA fuses them with their neighbours and flushes subnormal
    numbers to 0, and the last bits differ from those of NumPy arrays. A function that `jax.jit` has
    traced before does not change.

    Examples
    --------
    >>> import jax, softgate as sg, softgate.jax
    >>> x = jax.numpy.float32(1e-39)
    >>> with softgate.jax.prefer_operators():
    ...     print(sg.gelu(x))
    0.0
    >>> print(sg.gelu(x))
    5e-40
    """
    token = _operators_preferred.set(True)
    try:
        yield
    finally:
        _operators_preferred.reset(token)


def obstacle() -> str:
    """Return why kernels are not used in traces, or an empty string."""
    if _operators_preferred.get(False):
        return "prefer_operators is active"
    return private.failures[0] if private.failures else private.unusable()


@dataclass(frozen=True)
class Computation:
    """What the primitive computes: the parameter of its calls.

    `operators` computes the same in JAX operators, from all operands. With `passed`, two
    operands follow those of the kernel: the parameters as the kernel reads them, and as the
    operators do. Calls that differ in their values only are equal then, and compiled once.
    """

    entry: Entry
    quantity: str
    storage: Format
    arithmetics: tuple[Format | None, Format]
    """That of the kernel, None if it is determined when the kernel is compiled; the operators'."""
    parameters: tuple[tuple[str, float], ...]
    passed: bool
    route: Route = field(compare=False)
    operators: Rule = field(compare=False)
    operand_tangents: Rule = field(compare=False)
    """Of "backward": returns the tangents of the results from the operands and from the tangents of
    all operands but `grad`. Other quantities are differentiated by `custom_jvp`."""

    def __repr__(self) -> str:
        return f"{self.entry.name}.{self.quantity}"

    @property
    def inputs(self) -> int:
        """The number of array operands of the kernel."""
        return len(self.route.inputs)

    @property
    def results(self) -> int:
        """The number of arrays that the kernel writes."""
        return self.route.results

    def __call__(self, *operands: Any) -> list[Any]:
        """Return the results for operands of one shape and dtype."""
        bind = private.primitive.get()
        if self.inputs > 1:
            arrays = private.vary_alike.get()(operands[: self.inputs])
            operands = (*arrays, *operands[self.inputs :])
        results: list[Any] = bind(*operands, computation=self)
        return results

    def target(self) -> str | None:
        """Return the name under which XLA calls the kernel, registered the first time.

        None if calls have failed before.
        """
        if private.failures:
            return None
        name = _targets.get(self)
        if name is None:
            with BUILDING:
                names = self.entry.name, self.quantity, self.storage.name
                digest = self.route.digest(parameters=not self.passed)
                name = ".".join(("softgate", *names, digest))
                runner = self.route.runner()
                if name not in _registered:
                    _register(name, self.route, runner, self.passed)
                if not _compared:
                    _compare(name, self.route, runner, self.passed)
                _targets[self] = name
        return name


_targets: dict[Computation, str] = {}
_registered: set[str] = set()
_compared: set[str] = set()
"""The kernel whose calls by XLA were compared: the first that is registered."""
_free: list[tuple[int, int]] = []
"""Stubs that are not in use, with their slots."""


def _register(name: str, route: Route, runner: Runner, passed: bool) -> None:
    from softgate.lower.native import SLOT_FIELDS, compile_stubs
    from softgate.lower.target import address_of, never_free

    calls = private.foreign_calls.get()
    if not _free:
        _free.extend(compile_stubs(calls.version, calls.with_state))
    stub, slot = _free.pop()
    never_free(runner)
    fields = {
        "chunks": address_of(chunk_loop(len(route.inputs) + route.results)),
        "kernel": runner.code,
        "constants": 0 if passed else runner.address,
        "item": route.storage.itemsize,
        "step": _step(route),
        "inputs": len(route.inputs),
        "results": route.results,
    }
    words = (ctypes.c_int64 * len(SLOT_FIELDS)).from_address(slot)
    words[:] = [fields[field] for field in SLOT_FIELDS]
    calls.register(name, stub)
    _registered.add(name)


def _compare(name: str, route: Route, runner: Runner, passed: bool) -> None:
    """Raise unless a call by XLA has the bits of the kernel, for special values and in chunks."""
    if np.float32(2.0**-149) * np.float32(1) == 0:
        return  # this thread flushes subnormal numbers, so the kernel has to be called in another
    calls = private.foreign_calls.get()
    storage, bits = route.storage, route.storage.bits
    # JAX has no integers of 64 bits unless they are enabled.
    words: Any = {16: np.uint16, 32: np.uint32, 64: np.complex64}[bits]
    normal, infinity = 1 << storage.mantissa_bits, (1 << bits - 1) - (1 << storage.mantissa_bits)
    special = [0, 1, normal - 1, normal, infinity - 1, infinity, infinity + normal // 2]
    patterns = np.array([*special, *(pattern | 1 << bits - 1 for pattern in special)])
    values = [patterns.astype(f"u{bits // 8}"), np.linspace(-20, 20, 601).astype(dtype_of(storage))]
    probe = np.concatenate([part.view(words) for part in values])
    count = 2 * _step(route) + 3
    inputs = [np.resize(np.roll(probe, place), count) for place in range(len(route.inputs))]
    expected = [np.empty(count, words) for _ in range(route.results)]
    runner.run(*(array.ctypes.data for array in (*expected, *inputs)), runner.address, count)
    rest = [as_words(runner.constants)] if passed else []
    shapes = [jax.ShapeDtypeStruct((count,), words)] * route.results  # type: ignore[no-untyped-call]
    called: Any = private.alone(lambda: jax.jit(calls.call(name, shapes))(*inputs, *rest))
    for result, wanted in zip(called, expected, strict=True):
        if np.asarray(result).tobytes() != wanted.tobytes():
            raise RuntimeError(f"{name} called by XLA has other results than the kernel")
    _compared.add(name)


def _step(route: Route) -> int:
    """Return the number of elements that one thread computes at a time."""
    moved = route.storage.itemsize * (len(route.inputs) + route.results)
    return MIN_CHUNK_BYTES // moved // ALIGNMENT * ALIGNMENT


def threads(route: Route, x: jax.Array) -> int:
    """Return the number of threads for arrays of the size of x, at most."""
    most = os.cpu_count() or 1
    if not all(isinstance(length, int) for length in x.shape):  # symbolic
        return most
    return max(1, min(most, -(-math.prod(x.shape) // _step(route))))


def as_words(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return the bits of numbers as 32-bit integers, which JAX does not convert."""
    return np.ascontiguousarray(numbers).view(np.uint32)
