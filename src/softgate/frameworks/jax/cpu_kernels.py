"""softgate's kernels inside programs that XLA compiles for a CPU: one primitive of JAX.

On CPUs it is lowered to a call of the kernel that NumPy arrays use, through XLA's foreign function
interface: the same bits, subnormal numbers included. It is lowered to JAX operators for other
platforms, in exported programs, which must run without softgate, and where XLA partitions a program
over several devices, because it would gather the operands of a foreign call on each of them.

A kernel that was registered with XLA is never freed: XLA cannot unregister it, and a compiled
program may call it at any time. The name of a target contains a digest of the kernel's operations
and numbers, so a program from JAX's persistent cache calls the kernel it was compiled for.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from softgate.catalogue import Entry
from softgate.formula.formats import Format
from softgate.runtime.kernels import BUILDING
from softgate.runtime.routes import Route
from softgate.runtime.threads import ALIGNMENT, MIN_CHUNK_BYTES, chunk_loop

Operands = Sequence[Any]
Rule = Callable[..., Any]


class Interface(NamedTuple):
    """The version of XLA's foreign function interface, and whether its metadata have a state."""

    version: tuple[int, int]
    with_state: bool


@cache
def interface() -> Interface | str:
    """Return the interface of the installed jaxlib, or a string: why it cannot be used."""
    from softgate.lower.native import API_FUNCTIONS

    if not hasattr(jax, "ffi"):
        return f"JAX {jax.__version__} has no jax.ffi"
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        return "jaxlib was installed without its headers"
    numbers = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    major, minor = (int(number[1]) if number else -1 for number in numbers)
    functions = re.findall(r"_XLA_FFI_API_STRUCT_FIELD\(XLA_FFI_(\w+)\)", text)
    places = {name: 48 + 8 * place for place, name in enumerate(functions)}
    known = all(places.get(name) == offset for name, offset in API_FUNCTIONS.items())
    if major != 0 or minor < 1 or not known:
        return f"jaxlib's foreign function interface {major}.{minor} is not supported"
    return Interface((major, minor), "state_type_id" in text)


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
    support = interface()
    if isinstance(support, str):
        return support
    return _failures[0] if _failures else ""


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

    def __call__(self, *operands: Any) -> list[Any]:
        """Return the results for operands of one shape and dtype."""
        arrays, rest = operands[: self.inputs], operands[self.inputs :]
        results: list[Any] = _kernel.bind(*_vary_alike(arrays), *rest, computation=self)
        return results


_kernel: Any = Primitive("softgate")
_kernel.multiple_results = True


def _vary_alike(arrays: Operands) -> Operands:
    """Return operands that vary over the same axes of a mesh within `shard_map`."""
    if len(arrays) == 1 or not hasattr(jax, "typeof"):
        return arrays
    axes = [_varying_axes(jax.typeof(array)) for array in arrays]
    union = frozenset().union(*axes)
    return [
        _vary(array, tuple(union - varying)) if union - varying else array
        for array, varying in zip(arrays, axes, strict=True)
    ]


def _varying_axes(kind: Any) -> frozenset[Any]:
    """Return the axes of a mesh over which arrays of a type vary."""
    axes = getattr(kind, "manual_axis_type", None)
    varying: frozenset[Any] = (
        axes.varying if axes is not None else getattr(kind, "vma", frozenset())  # older versions
    )
    return varying


def _vary(array: Any, axes: tuple[Any, ...]) -> Any:
    lax: Any = jax.lax
    if hasattr(lax, "pcast"):
        return lax.pcast(array, axes, to="varying")
    return lax.pvary(array, axes)


def _shapes(*operands: Any, computation: Computation) -> list[Any]:
    return [operands[0].update(weak_type=False)] * computation.route.results


@lru_cache(maxsize=1024)
def jitted(computation: Computation) -> Callable[..., Any]:
    """Return the primitive as a jitted function of its operands."""
    return jax.jit(partial(_kernel.bind, computation=computation))


def _evaluate(*operands: Any, computation: Computation) -> Any:
    with jax.disable_jit(False):  # within `jax.disable_jit` this would recurse
        return jitted(computation)(*operands)


def _batch(operands: Operands, axes: Sequence[Any], *, computation: Computation) -> Any:
    count = computation.inputs
    arrays, rest = operands[:count], operands[count:]
    axis = axes[0]
    if count > 1:
        front: Any = batching.bdim_at_front
        pairs = list(zip(arrays, axes[:count], strict=True))
        size = next(array.shape[at] for array, at in pairs if at is not None)
        arrays = [front(array, at, size) for array, at in pairs]
        axis = 0
    results = computation(*arrays, *rest)
    return results, [axis] * len(results)


def _tangents(primals: Operands, tangents: Operands, *, computation: Computation) -> Any:
    """Return the results of "backward", and their tangents."""
    assert computation.quantity == "backward"
    count = computation.inputs - 1
    (*arrays, grad), rest = primals[: count + 1], primals[count + 1 :]
    results = computation(*primals)
    *array_tangents, grad_tangent = tangents[: count + 1]
    totals = None
    if not isinstance(grad_tangent, ad.Zero):  # it is linear in grad
        totals = computation(*arrays, grad_tangent, *rest)
    if not all(isinstance(tangent, ad.Zero) for tangent in array_tangents):
        instantiate: Any = ad.instantiate_zeros
        array_tangents = [instantiate(tangent) for tangent in array_tangents]
        parts = computation.operand_tangents(arrays, grad, array_tangents)
        totals = parts if totals is None else list(map(operator.add, totals, parts))
    return results, totals


def _transpose(cotangents: Operands, *operands: Any, computation: Computation) -> Any:
    """Return the cotangents of the operands of "backward", which is linear in `grad`.

    The i-th result is grad times the i-th slope, so its transpose is a cotangent times that slope.
    """
    assert computation.quantity == "backward"
    count = computation.inputs - 1
    (*arrays, grad), rest = operands[: count + 1], operands[count + 1 :]
    total: Any = ad.Zero(grad.aval)
    for place, cotangent in enumerate(cotangents):
        if not isinstance(cotangent, ad.Zero):
            part = computation(*arrays, cotangent, *rest)[place]
            total = ad.add_tangents(total, part)  # type: ignore[no-untyped-call]
    return [*(None for _ in arrays), total, *(None for _ in rest)]


_kernel.def_abstract_eval(_shapes)
_kernel.def_impl(_evaluate)
batching.primitive_batchers[_kernel] = _batch
ad.primitive_jvps[_kernel] = _tangents
ad.primitive_transposes[_kernel] = _transpose


def _lower(context: Any, *operands: Any, computation: Computation) -> Any:
    """Lower to operators."""
    rule = mlir.lower_fun(computation.operators, multiple_results=True)
    return rule(context, *operands)


def _lower_on_cpu(context: Any, *operands: Any, computation: Computation) -> Any:
    """Lower to a call of the kernel, unless the program is exported or partitioned."""
    module = context.module_context
    if module.lowering_parameters.for_export or _is_partitioned(module.axis_context):
        return _lower(context, *operands, computation=computation)
    try:
        name = target(computation)
    except Exception as error:
        _failures.append(f"a kernel is not registered with XLA: {error}")
        return _lower(context, *operands, computation=computation)
    count = computation.inputs + computation.passed
    return jax.ffi.ffi_lowering(name)(
        context.replace(avals_in=context.avals_in[:count]), *operands[:count]
    )


def _is_partitioned(axes: Any) -> bool:
    """Return whether XLA partitions a program over several devices.

    Within `pmap` and within `shard_map` over all axes of its mesh, a program is that of one device.
    """
    mesh = getattr(axes, "mesh", None)
    if mesh is None:
        return (getattr(axes, "num_devices", 1) or 1) > 1
    return mesh.size > 1 and set(axes.manual_axes) != set(mesh.axis_names)


mlir.register_lowering(_kernel, _lower)
mlir.register_lowering(_kernel, _lower_on_cpu, platform="cpu")

_targets: dict[Computation, str] = {}
_registered: set[str] = set()
_failures: list[str] = []
"""Why kernels are not registered, from the first failure on: JAX operators compute then."""
_free: list[tuple[int, int]] = []
"""Stubs that are not in use, with their slots."""


def target(computation: Computation) -> str:
    """Return the name under which XLA calls a kernel, compiled and registered the first time."""
    name = _targets.get(computation)
    if name is None:
        with BUILDING:
            route, passed = computation.route, computation.passed
            names = computation.entry.name, computation.quantity, computation.storage.name
            name = ".".join(("softgate", *names, route.digest(parameters=not passed)))
            if name not in _registered:
                _register(name, route, passed)
            _targets[computation] = name
    return name


def _register(name: str, route: Route, passed: bool) -> None:
    from softgate.lower.native import SLOT_FIELDS, compile_stubs
    from softgate.lower.target import address_of, never_free

    if not _free:
        support = interface()
        assert isinstance(support, Interface)
        _free.extend(compile_stubs(*support))
    stub, slot = _free.pop()
    runner = route.runner()
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
    capsule = jax.ffi.pycapsule(stub)  # type: ignore[no-untyped-call]
    jax.ffi.register_ffi_target(name, capsule, platform="cpu")
    _registered.add(name)


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
