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
from softgate.catalogue.gated import GatedEntry
from softgate.formula.formats import Format
from softgate.runtime.kernels import BUILDING
from softgate.runtime.routes import Route
from softgate.runtime.threads import ALIGNMENT, MIN_CHUNK_BYTES

Operands = Sequence[Any]
Rule = Callable[..., Any]


class Interface(NamedTuple):
    """The version of XLA's foreign function interface, and whether its metadata have a state."""

    version: tuple[int, int]
    with_state: bool


@cache
def interface() -> Interface | str:
    """Return the interface of the installed jaxlib; a string that tells why it cannot be used."""
    from softgate.lower.xla_handler import API_FUNCTIONS

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
    return support if isinstance(support, str) else ""


@dataclass(frozen=True)
class Computation:
    """What the primitive computes: the parameter of its calls.

    `operators` computes the same in JAX operators, from all operands. With `passed`, two
    operands follow those of the kernel: the parameters as the kernel reads them, and as the
    operators do. Calls that differ in their values only are equal then, and compiled once.
    """

    entry: Entry | GatedEntry
    quantity: str
    storage: Format
    arithmetics: tuple[Format | None, Format]
    """That of the kernel, None if it is determined when the kernel is compiled; the operators'."""
    parameters: tuple[tuple[str, float], ...]
    passed: bool
    route: Route = field(compare=False)
    operators: Rule = field(compare=False)
    jvp: Rule | None = field(compare=False, default=None)
    """The tangent, from primals and tangents; None for what is differentiated by `custom_jvp`."""
    transpose: Rule | None = field(compare=False, default=None)

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


_kernel = Primitive("softgate")
_kernel.multiple_results = True


def _vary_alike(arrays: Operands) -> Operands:
    """Return operands that vary over the same axes of a mesh within `shard_map`."""
    if len(arrays) == 1 or not hasattr(jax, "typeof"):
        return arrays
    axes = [getattr(jax.typeof(array), "vma", frozenset()) for array in arrays]
    every = frozenset().union(*axes)
    return [
        jax.lax.pcast(array, tuple(every - own), to="varying") if every - own else array
        for array, own in zip(arrays, axes, strict=True)
    ]


@_kernel.def_abstract_eval
def _shapes(*operands: Any, computation: Computation) -> list[Any]:
    arrays = operands[: computation.inputs]
    weak = all(array.weak_type for array in arrays)
    return [arrays[0].update(weak_type=weak)] * computation.route.results


@lru_cache(maxsize=1024)
def jitted(computation: Computation) -> Callable[..., Any]:
    """Return the primitive as a jitted function of its operands."""
    return jax.jit(partial(_kernel.bind, computation=computation))


@_kernel.def_impl
def _evaluate(*operands: Any, computation: Computation) -> Any:
    with jax.disable_jit(False):  # within `jax.disable_jit` this would recurse
        return jitted(computation)(*operands)


def _batch(operands: Operands, axes: Sequence[Any], *, computation: Computation) -> Any:
    count = computation.inputs
    arrays, rest = operands[:count], operands[count:]
    axis = axes[0]
    if count > 1:
        size = next(
            array.shape[at] for array, at in zip(arrays, axes, strict=False) if at is not None
        )
        arrays = [
            batching.bdim_at_front(array, at, size)
            for array, at in zip(arrays, axes, strict=False)
        ]
        axis = 0
    results = computation(*arrays, *rest)
    return results, [axis] * len(results)


def _tangents(primals: Operands, tangents: Operands, *, computation: Computation) -> Any:
    assert computation.jvp is not None
    return computation.jvp(primals, tangents)


def _transpose(cotangents: Operands, *operands: Any, computation: Computation) -> Any:
    assert computation.transpose is not None
    return computation.transpose(cotangents, *operands)


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
    count = computation.inputs + computation.passed
    return jax.ffi.ffi_lowering(target(computation))(
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
    from softgate.lower.target import never_free
    from softgate.lower.xla_handler import SLOT_FIELDS, compile_stubs

    if not _free:
        support = interface()
        assert isinstance(support, Interface)
        _free.extend(compile_stubs(*support))
    stub, slot = _free.pop()
    runner, item = route.runner(), route.storage.itemsize
    never_free(runner)
    inputs, results = len(route.inputs), route.results
    step = MIN_CHUNK_BYTES // (item * (inputs + results)) // ALIGNMENT * ALIGNMENT
    fields = {
        "kernel": runner.code,
        "beside": 0 if passed else runner.address,
        "item": item,
        "step": step,
        "inputs": inputs,
        "results": results,
    }
    words = (ctypes.c_int64 * len(SLOT_FIELDS)).from_address(slot)
    words[:] = [fields[field] for field in SLOT_FIELDS]
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(stub), platform="cpu")
    _registered.add(name)


def as_words(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return the bits of numbers as 32-bit integers, which JAX does not convert."""
    return np.ascontiguousarray(numbers).view(np.uint32)
