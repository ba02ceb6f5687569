"""What is built on names that JAX may change: a primitive, calls by XLA, axes of meshes.

Each is a capability, checked at its first use. Without the primitive or the calls, functions
consist of JAX operators, as they do on other platforms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ..capability import Changed, capability

T = TypeVar("T")
Operands = Sequence[Any]

OPERATORS = "JAX operators run in place of kernels"
NOTHING: Any = None
"""What replaces a capability without which no kernel is called."""


def alone(work: Callable[[], T]) -> T:
    """Return what a program returns, run on a CPU if there is one, outside of traces and modes.

    JAX's traces, meshes and context managers belong to a thread, so it runs in one of its own.
    """

    def run() -> T:
        with ExitStack() as modes:
            modes.enter_context(jax.disable_jit(False))
            modes.enter_context(jax.debug_nans(False))
            modes.enter_context(jax.debug_infs(False))
            modes.enter_context(jax.transfer_guard("allow"))
            try:
                device = jax.local_devices(backend="cpu")[0]
            except RuntimeError:
                device = jax.local_devices()[0]
            modes.enter_context(jax.default_device(device))
            return work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


# ---- the primitive ----------------------------------------------------------------------------

failures: list[str] = []
"""Why XLA does not call kernels, from the first failure on: JAX operators compute then."""


@capability(
    "jax",
    "jax.extend.core.Primitive",
    "jax.interpreters.ad.Zero",
    "jax.interpreters.ad.primitive_jvps",
    "jax.interpreters.ad.primitive_transposes",
    "jax.interpreters.batching.primitive_batchers",
    "jax.interpreters.mlir.lower_fun",
    "jax.interpreters.mlir.register_lowering",
    cost=OPERATORS,
    otherwise=NOTHING,
)
def primitive(
    new: Any,
    zero: Any,
    jvps: Any,
    transposes: Any,
    batchers: Any,
    lower_fun: Any,
    register_lowering: Any,
) -> Callable[..., list[Any]]:
    """Return a function that adds a call of a `Computation` to a trace, or runs it.

    For a CPU the primitive is lowered to a call of the kernel, else, in exported programs and in
    programs that XLA partitions, to operators.
    """
    kernel = new("softgate")
    kernel.multiple_results = True
    bind: Callable[..., list[Any]] = kernel.bind

    @lru_cache(maxsize=1024)
    def jitted(computation: Any) -> Callable[..., Any]:
        return jax.jit(partial(bind, computation=computation))

    def evaluate(*operands: Any, computation: Any) -> Any:
        with jax.disable_jit(False):  # within `jax.disable_jit` this would recurse
            return jitted(computation)(*operands)

    def shapes(*operands: Any, computation: Any) -> list[Any]:
        return [operands[0].update(weak_type=False)] * computation.results

    def batch(operands: Operands, axes: Sequence[Any], *, computation: Any) -> Any:
        count = computation.inputs
        arrays, rest = operands[:count], operands[count:]
        axis = axes[0]
        if count > 1:
            pairs = list(zip(arrays, axes[:count], strict=True))
            size = next(array.shape[at] for array, at in pairs if at is not None)
            arrays = [
                jnp.broadcast_to(array, (size, *array.shape))
                if at is None
                else jnp.moveaxis(array, at, 0)
                for array, at in pairs
            ]
            axis = 0
        results = computation(*arrays, *rest)
        return results, [axis] * len(results)

    def tangents(primals: Operands, tangents: Operands, *, computation: Any) -> Any:
        """Return the results of "backward", which is linear in grad, and their tangents."""
        assert computation.quantity == "backward"
        count = computation.inputs - 1
        (*arrays, grad), rest = primals[: count + 1], primals[count + 1 :]
        results = computation(*primals)
        *array_tangents, grad_tangent = tangents[: count + 1]
        totals = None
        if not isinstance(grad_tangent, zero):
            totals = computation(*arrays, grad_tangent, *rest)
        if not all(isinstance(tangent, zero) for tangent in array_tangents):
            array_tangents = [
                jnp.zeros_like(array) if isinstance(tangent, zero) else tangent
                for array, tangent in zip(arrays, array_tangents, strict=True)
            ]
            parts = computation.operand_tangents(arrays, grad, array_tangents)
            totals = (
                parts if totals is None else [x + y for x, y in zip(totals, parts, strict=True)]
            )
        return results, totals

    def transpose(cotangents: Operands, *operands: Any, computation: Any) -> Any:
        """Return the cotangents of the operands of "backward": None but for grad.

        The i-th result is grad times the i-th slope, so its transpose is a cotangent times that
        slope.
        """
        assert computation.quantity == "backward"
        count = computation.inputs - 1
        arrays, rest = operands[:count], operands[count + 1 :]
        parts = [
            computation(*arrays, cotangent, *rest)[place]
            for place, cotangent in enumerate(cotangents)
            if not isinstance(cotangent, zero)
        ]
        total = sum(parts[1:], parts[0]) if parts else None
        return [*(None for _ in arrays), total, *(None for _ in rest)]

    def lower(context: Any, *operands: Any, computation: Any) -> Any:
        rule = lower_fun(computation.operators, multiple_results=True)
        return rule(context, *operands)

    def lower_on_cpu(context: Any, *operands: Any, computation: Any) -> Any:
        try:
            name = computation.target() if runs_here(context.module_context) else None
            if name is not None:
                count = computation.inputs + computation.passed
                context = context.replace(avals_in=context.avals_in[:count])
                return foreign_calls.get().lowering(name)(context, *operands[:count])
        except Exception as error:
            failures.append(f"XLA does not call a kernel: {error}")
        return lower(context, *operands, computation=computation)

    kernel.def_abstract_eval(shapes)
    kernel.def_impl(evaluate)
    batchers[kernel] = batch
    jvps[kernel] = tangents
    transposes[kernel] = transpose
    register_lowering(kernel, lower)
    register_lowering(kernel, lower_on_cpu, platform="cpu")
    alone(lambda: check_rules(bind))
    return bind


def runs_here(module: Any) -> bool:
    """Return whether a program that is lowered runs in this process, and on one device.

    XLA would gather the operands of a call on each device of a program that it partitions. Within
    `pmap` and within `shard_map` over all axes of its mesh, a program is that of one device.
    """
    axes = module.axis_context
    if module.lowering_parameters.for_export:
        return False
    if hasattr(axes, "num_devices"):
        return bool(axes.num_devices == 1)
    if hasattr(axes, "mesh"):
        return axes.mesh.size == 1 or set(axes.manual_axes) == set(axes.mesh.axis_names)
    return hasattr(axes, "axis_env")  # of pmap in older versions


def check_rules(bind: Callable[..., list[Any]]) -> None:
    """Raise unless the primitive is evaluated, transformed and lowered as its rules say."""
    lowered_for_calls = []

    class Product:
        """The computation x·grad, the backward of x²/2, with no kernel."""

        quantity, inputs, results, passed = "backward", 2, 1, False

        def __call__(self, *operands: Any) -> list[Any]:
            return bind(*operands, computation=self)

        def operators(self, x: Any, grad: Any) -> list[Any]:
            return [x * grad]

        def operand_tangents(self, arrays: Operands, grad: Any, tangents: Operands) -> list[Any]:
            return [grad * tangents[0]]

        def target(self) -> None:
            lowered_for_calls.append(True)

    computation = Product()

    def product(x: Any, grad: Any) -> Any:
        return computation(x, grad)[0]

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    grad, by_x, by_grad = x + 1, x + 3, x * x

    class Transformed(Product):
        """Products under transformations; of constants, so that XLA has no code to generate."""

        inputs, results = 1, 4

        def operators(self, *_: Any) -> list[Any]:
            return [
                jax.vmap(product, (1, None), 1)(x, grad[:, 0]),
                jax.jvp(product, (x, grad), (by_x, by_grad))[1],
                jax.jvp(lambda x: product(x, grad), (x,), (by_x,))[1],
                jax.vjp(lambda grad: product(x, grad), grad)[1](by_grad)[0],
            ]

    results = Transformed()(jax.device_put(x))
    expected = {
        "vmap": x * grad[:, :1],
        "jvp": by_x * grad + x * by_grad,
        "jvp by one operand": by_x * grad,
        "vjp": x * by_grad,
    }
    for (name, wanted), result in zip(expected.items(), results, strict=True):
        if not np.array_equal(result, wanted):
            raise Changed(f"a primitive has a wrong {name}")
    on_cpu = all(device.platform == "cpu" for device in results[0].devices())
    if on_cpu and not lowered_for_calls:
        raise Changed(failures[-1] if failures else "a program of this process is not recognised")
    lowered_for_calls.clear()
    jax.export.export(jax.jit(product))(x, grad)
    if lowered_for_calls:
        raise Changed("the export of a program is not recognised")


# ---- calls by XLA -----------------------------------------------------------------------------


class ForeignCalls(NamedTuple):
    """XLA's foreign function interface, and JAX's functions for it."""

    version: tuple[int, int]
    with_state: bool
    """Whether the metadata of a handler have a state."""
    register: Callable[[str, int], None]
    """Registers the address of a handler by name."""
    lowering: Callable[[str], Any]
    call: Callable[..., Any]


@capability(
    "jax",
    "jax.ffi.include_dir",
    "jax.ffi.pycapsule",
    "jax.ffi.register_ffi_target",
    "jax.ffi.ffi_lowering",
    "jax.ffi.ffi_call",
    cost=OPERATORS,
    otherwise=NOTHING,
)
def foreign_calls(
    include_dir: Any, pycapsule: Any, register: Any, lowering: Any, call: Any
) -> ForeignCalls:
    """Return the interface of the installed jaxlib, if its structures are those of our handler."""
    from softgate.lower.native import API_FUNCTIONS

    header = Path(include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        raise Changed("jaxlib was installed without its headers") from None
    numbers = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    major, minor = (int(number[1]) if number else -1 for number in numbers)
    functions = re.findall(r"_XLA_FFI_API_STRUCT_FIELD\(XLA_FFI_(\w+)\)", text)
    places = {name: 48 + 8 * place for place, name in enumerate(functions)}
    known = all(places.get(name) == offset for name, offset in API_FUNCTIONS.items())
    if major != 0 or minor < 1 or not known:
        raise Changed(f"jaxlib's foreign function interface {major}.{minor} is not supported")
    return ForeignCalls(
        (major, minor),
        "state_type_id" in text,
        lambda name, address: register(name, pycapsule(address), platform="cpu"),
        lowering,
        call,
    )


# ---- axes of meshes ---------------------------------------------------------------------------


@capability(
    "jax",
    *(
        ("jax.typeof", "jax.lax.pcast" if hasattr(jax.lax, "pcast") else "jax.lax.pvary")
        if jax.__version_info__ >= (0, 6)  # the types of older versions have no axes
        else ()
    ),
    cost=OPERATORS,
    otherwise=NOTHING,
)
def vary_alike(typeof: Any = None, cast: Any = None) -> Callable[[Operands], Operands]:
    """Return a function that makes arrays vary over the same axes of a mesh within `shard_map`."""
    if typeof is None:
        return lambda arrays: arrays

    def varying_axes(array: Any) -> frozenset[str]:
        kind = typeof(array)
        axes: frozenset[str] = (
            kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else kind.vma
        )
        return axes

    vary = partial(cast, to="varying") if hasattr(jax.lax, "pcast") else cast

    def alike(arrays: Operands) -> Operands:
        axes = [varying_axes(array) for array in arrays]
        union = frozenset().union(*axes)
        return [
            vary(array, tuple(union - varying)) if union - varying else array
            for array, varying in zip(arrays, axes, strict=True)
        ]

    def check() -> None:
        seen: list[frozenset[str]] = []

        def record(x: Any, y: Any) -> Any:
            seen.extend(map(varying_axes, (x, y, *alike([x, y]))))
            return x

        spec: Any = jax.sharding.PartitionSpec
        mesh: Any = jax.sharding.Mesh(np.array(jax.local_devices()[:1]), ("i",))
        shard_map: Any = jax.shard_map
        mapped = shard_map(record, mesh=mesh, in_specs=(spec("i"), spec()), out_specs=spec("i"))
        jax.eval_shape(mapped, np.ones(1, np.float32), np.ones(1, np.float32))
        if seen != [{"i"}, set(), {"i"}, {"i"}]:
            raise Changed(f"the axes {seen} of an array are not those over which it varies")

    alone(check)
    return alike


@cache
def unusable() -> str:
    """Return why kernels cannot be called, from one of the capabilities, or an empty string."""
    reasons = (each.reason for each in (primitive, foreign_calls, vary_alike))
    return next(filter(None, reasons), "")
