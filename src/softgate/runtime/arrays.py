"""The NumPy front end: operands of any array type; results of the type that a ufunc would return.

Kernels need aligned contiguous memory in native byte order. Other operands are copied first: a
single one into the result, where it is overwritten. All checks precede the first write.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from softgate.formula.formats import format_of, round_to
from softgate.records.text import a_type

from .dispatch import UfuncView
from .routes import Route, Runner, contiguous_in_memory
from .threads import POOL, share

Array = np.ndarray[Any, Any]

SERIAL = 1 << 14
"""Shorter arrays are always computed on one thread."""

FRAMEWORKS = frozenset({"torch", "jax", "jaxlib", "tensorflow", "keras"})
"""Frameworks with tensors that are not converted to arrays silently."""

KERNEL_DTYPES = "float16, bfloat16, float32 or float64"
ACCEPTED = (
    f"{KERNEL_DTYPES} (integers and booleans become float64), or float8, float6 or float4 of "
    "ml_dtypes, except float8_e8m0fnu"
)


def _interface_address(x: Array) -> int:
    data: int = x.__array_interface__["data"][0]
    return data


def _field_address(x: Array) -> int:
    data: int = _Pointer.from_address(id(x) + _HEAD).value
    return data


_Pointer, _HEAD = ctypes.c_size_t, object.__basicsize__
_probe = np.zeros(3)
# In NumPy's ABI the data pointer is the first field of an array object; reading it takes a fifth of
# the time. If an interpreter or NumPy version differs, the public interface is used.
address = (
    _field_address
    if sys.implementation.name == "cpython" and _field_address(_probe) == _probe.ctypes.data
    else _interface_address
)
"""The address of an array's first element."""


def as_array(x: Any, name: str = "x") -> Array:
    """Return `x` as an array of a format that has kernels; subclasses are preserved.

    Integers and booleans become float64 (NumPy's ufuncs return float16 for int8 and booleans
    and float32 for int16: too few digits for an activation).
    """
    if type(x) is np.ndarray and format_of(x.dtype) is not None:
        return x
    if isinstance(x, int):
        x = _as_float(x, name)
    if type(x).__module__.partition(".")[0] in FRAMEWORKS:
        raise TypeError(
            f"{name} is a {type(x).__module__}.{type(x).__name__}, and an array would lose its "
            "gradients and its device: pass a NumPy array, as x.numpy() or np.asarray(x) gives it"
        )
    if isinstance(x, list | tuple):
        _refuse_tensors(x, name)
    try:
        array: Array = np.asanyarray(x)
    except ValueError as error:
        raise TypeError(f"{name} is not an array: {error}; expected {ACCEPTED}") from None
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if format_of(array.dtype) is None:
        raise TypeError(
            f"{name} has dtype {array.dtype.name or array.dtype} "
            f"({type(x).__name__} given): expected {ACCEPTED}"
        )
    return array


STACK = {
    "torch": "torch.stack",
    "tensorflow": "tf.stack",
    "keras": "keras.ops.stack",
} | dict.fromkeys(("jax", "jaxlib"), "jax.numpy.stack")
"""The function of a framework that joins a list of its tensors, with gradients."""


def _refuse_tensors(x: list[Any] | tuple[Any, ...], name: str) -> None:
    """Raise if a list contains tensors of a framework: an array would lose their gradients."""
    for kind in set(map(type, x)):
        stack = STACK.get(kind.__module__.partition(".")[0])
        if stack is not None:
            raise TypeError(
                f"{name} is a {type(x).__name__} with a {kind.__module__}.{kind.__name__}, and an "
                f"array would lose its gradients: pass {stack}({name})"
            )
        if kind in (list, tuple):
            for part in x:
                if isinstance(part, list | tuple):
                    _refuse_tensors(part, name)


def _as_float(x: int, name: str) -> float:
    """Return an integer as a float, even if it is too large for NumPy's integers."""
    try:
        return float(x)
    except OverflowError:
        raise ValueError(f"{name} is an integer beyond the largest float64") from None


def check_arithmetic(arithmetic: str | None) -> None:
    """Raise ValueError unless `arithmetic` is "float64" or None."""
    if arithmetic is not None and arithmetic != "float64":
        raise ValueError(f'arithmetic = {arithmetic!r}: expected "float64" or None')


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return whether an array of one shape can be broadcast to another."""
    axes = zip(reversed(shape), reversed(to), strict=False)
    return len(shape) <= len(to) and all(length in (1, other) for length, other in axes)


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
    """Return the array to which results are written, None for a new one; raise if it is unsuitable.

    As for a ufunc, results of `shape` must broadcast to it, and it must have their dtype, in any
    byte order. A tuple of one array is accepted.
    """
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"out has {len(out)} arrays: there is one result")
        (out,) = out
    if out is None:
        return None
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is {a_type(out)}: expected a numpy.ndarray")
    if out.shape != shape and not broadcasts(shape, out.shape):
        raise ValueError(
            f"out has shape {out.shape}: the result has shape {shape}, which does not broadcast "
            "to it"
        )
    if out.dtype != dtype and out.dtype.newbyteorder("=") != dtype:
        raise TypeError(f"out has dtype {out.dtype.name}: the result has dtype {dtype.name}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    return out


def quick(runner: Runner, out: Any, *inputs: Array) -> Any:
    """Run a kernel over plain arrays with the least overhead, or return None.

    Plain means C-contiguous, aligned, of one shape and one native dtype, without shared memory,
    and small enough for one thread. `apply` handles all other arrays.
    """
    x = inputs[0]
    flags = x.flags  # `carray` would warn about arrays of np.broadcast_arrays
    if (
        not (flags.c_contiguous and flags.aligned)
        or not x.ndim
        or (x.size >= SERIAL and POOL.size > 1)
    ):
        return None
    if out is None:
        out = np.empty(x.shape, x.dtype)
    elif (
        type(out) is not np.ndarray
        or out.shape != x.shape
        or out.dtype != x.dtype
        or not out.flags.carray
    ):
        return None
    start, size = address(out), x.nbytes
    addresses = [address(operand) for operand in inputs]
    for other in addresses:
        if -size < start - other < size:
            return None
    runner.run(start, *addresses, runner.address, x.size)
    return out


def same_format(operands: Mapping[str, Any]) -> list[Array]:
    """Return operands as arrays of the widest format; Python numbers take that of the others."""
    first, *others = operands.values()
    if type(first) is np.ndarray and first.dtype.isnative and format_of(first.dtype) is not None:
        for x in others:
            if type(x) is not np.ndarray or x.dtype != first.dtype:
                break
        else:
            return [first, *others]
    numbers = {
        name
        for name, x in operands.items()
        if isinstance(x, int | float) and not isinstance(x, np.generic)
    }
    arrays = {name: as_array(x, name) for name, x in operands.items()}
    deciding = [name for name in operands if name not in numbers] or list(operands)
    dtype = arrays[deciding[0]].dtype.newbyteorder("=")
    for name in deciding[1:]:
        other = arrays[name].dtype.newbyteorder("=")
        if other != dtype:
            try:
                dtype = np.promote_types(dtype, other)
            except TypeError:
                raise TypeError(
                    f"{deciding[0]} is {dtype.name} and {name} {other.name}, which have no common "
                    "format: convert one of them"
                ) from None
    # Numbers beyond the format's range become infinite, those below it 0.
    with np.errstate(over="ignore", under="ignore"):
        return [array.astype(dtype, copy=False) for array in arrays.values()]


def broadcast_shape(operands: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the shape to which operands broadcast, or raise."""
    try:
        return np.broadcast_shapes(*(x.shape for x in operands.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in operands.items())
        raise ValueError(f"the shapes do not broadcast: {shapes}") from None


def check_outs(
    out: Any, count: int, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> list[Array | None]:
    """Return an array for each result, None for a new one; raise if one is unsuitable.

    The arrays have one shape, to which results of `shape` must broadcast.
    """
    if out is None:
        return [None] * count
    if count == 1:
        return [check_out(out, shape, dtype)]
    if not isinstance(out, tuple) or len(out) != count:
        raise TypeError(f"out is {a_type(out)}: expected a tuple of {count} arrays")
    targets = [check_out(target, shape, dtype) for target in out]
    known = [target for target in targets if target is not None]
    if len({target.shape for target in known}) > 1:
        shapes = " and ".join(str(target.shape) for target in known)
        raise ValueError(f"the arrays in out have shapes {shapes}: expected the same for all")
    if any(overlaps(target, known[i + 1 :]) for i, target in enumerate(known)):
        raise ValueError("the arrays in out share memory: each result needs its own")
    return targets


def apply(
    function: Any, route: Route, operands: Mapping[str, Array], out: Any, swapped: bool = False
) -> tuple[Any, ...]:
    """Run `route` over operands broadcast against each other; return what a ufunc would.

    With `swapped`, the kernel takes the second operand first and returns results in that order.
    """
    inputs = tuple(operands.values())
    ordered = (inputs[1], inputs[0], *inputs[2:]) if swapped else inputs
    if route.results == 1:
        result = _direct(route, ordered, out)
        if result is not None:
            return (result,)
    dtype = np.dtype(inputs[0].dtype.newbyteorder("="))
    shape = broadcast_shape(operands)
    targets = check_outs(out, route.results, shape, dtype)
    widest = next((target.shape for target in targets if target is not None), shape)
    turn = slice(None, None, -1 if swapped and route.quantity != "curvature" else 1)
    results = _elementwise(route, widened(ordered, route), shape, targets[turn])[turn]
    finished = []
    for computed, target in zip(results, targets, strict=True):
        result = narrowed(computed, dtype)
        if target is None and result.shape != widest:  # the shape of the other result's `out`
            result = np.broadcast_to(result, widest).copy()
        finished.append(_finish(function, inputs, result, target))
    return tuple(finished)


def _direct(route: Route, inputs: Sequence[Array], out: Any) -> Any:
    """Run `route` over plain arrays of one shape and return its result; None if copies are needed.

    The result is a new array or `out`, if it is plain and does not partly overlap an operand.
    """
    first, alias = inputs[0], None
    if first.itemsize != route.storage.itemsize:
        return None
    for x in inputs:
        if x.shape != first.shape or not is_plain(x):
            return None
    if out is None:
        result = np.empty(first.shape, first.dtype)
        run(route.runner(), (result, *inputs))
        return result if result.ndim else result[()]
    if type(out) is not np.ndarray or out.shape != first.shape or out.dtype != first.dtype:
        return None
    flags = out.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        return None
    for name, x in zip(route.inputs, inputs, strict=True):
        if x is out and alias is None:
            alias = name
        elif abs(address(out) - address(x)) < x.nbytes:
            return None
    run(route.runner(alias), (out, *inputs))
    return out


def _elementwise(
    route: Route,
    operands: Sequence[Array],
    shape: tuple[int, ...],
    targets: Sequence[Array | None],
) -> list[Array]:
    """Run a kernel over operands broadcast to `shape`; return plain arrays of results.

    A result is in the memory of its target where a kernel can write there, else in new memory.
    """
    sources = _sources(operands, shape)
    results = _results(sources, targets)
    alias, copied = _plan(sources, results)
    for i in copied:
        if len(sources) == 1:  # copied into the result, and overwritten there
            source = sources[0]
            if targets[0] is not None and np.may_share_memory(source, results[0]):
                source = source.copy()  # np.copyto is wrong where 1-d strides differ
            np.copyto(results[0], source)
            sources[0], alias = results[0], 0
        else:
            dense = np.empty_like(results[0])
            np.copyto(dense, sources[i])
            sources[i] = dense
    run(route.runner(None if alias is None else route.inputs[alias]), (*results, *sources))
    return results


def _sources(operands: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
    plain = [x.view(np.ndarray) for x in operands]
    return [x if x.shape == shape else np.broadcast_to(x, shape) for x in plain]


def _plan(sources: Sequence[Array], results: Sequence[Array]) -> tuple[int | None, list[int]]:
    """Return which operand the result overwrites, if any, and which ones are copied first."""
    alias, copied = None, []
    for i, source in enumerate(sources):
        if len(results) == 1 and alias is None and same_memory(source, results[0]):
            alias = i
        elif not fits(source, results[0]):
            copied.append(i)
    return alias, copied


def _results(sources: Sequence[Array], targets: Sequence[Array | None]) -> list[Array]:
    """Return arrays for results, of one layout; if there are several, none overlaps an operand."""
    results: list[Array] = []
    dtype = sources[0].dtype.newbyteorder("=")
    for target in targets:
        like = results[0] if results else sources[0]
        taken = (*results, *sources) if len(targets) > 1 else ()
        if (
            target is not None
            and target.shape == like.shape
            and target.dtype == dtype
            and is_ready(target)
            and not (results and target.strides != like.strides)
            and not overlaps(target, taken)
        ):
            results.append(target.view(np.ndarray))
        else:
            results.append(np.empty_like(like, dtype=dtype, subok=False))
    return results


def overlaps(x: Array, others: Iterable[Array]) -> bool:
    """Return whether `x` may share memory with one of the others."""
    return any(np.may_share_memory(x, other) for other in others)


def widened(operands: Sequence[Array], route: Route) -> list[Array]:
    """Return operands in the format that the kernel reads: float64 for some 16-bit formats."""
    if operands[0].itemsize == route.storage.itemsize:
        return list(operands)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return [x.astype(route.storage.name) for x in operands]


def narrowed(result: Array, dtype: np.dtype[Any]) -> Array:
    """Return results in the format of the operands."""
    if result.dtype == dtype:
        return result
    fmt = format_of(dtype)
    assert fmt is not None
    with np.errstate(all="ignore"):
        # ml_dtypes converts float64 to bfloat16 through float32, which rounds twice.
        return round_to(result, fmt).astype(dtype)


def memory(operand: Any, x: Array, out: Any = None) -> str:
    """Return a description of the copies for one operand; `x` is `operand` as an array."""
    dtype = x.dtype.newbyteorder("=")
    target = check_out(out, x.shape, dtype)
    end, direct = "", True
    if target is not None and target.shape != x.shape:
        end, direct = f", result broadcast to out, of shape {list(target.shape)}", False
    elif target is not None and not (target.dtype == dtype and is_ready(target)):
        end = ", result copied to out: out is not contiguous native memory"
        direct = False
    if x is not operand and not isinstance(operand, np.ndarray):
        return f"converted to an array first{end}"
    if x is not operand:
        return f"converted to {dtype.name} first{end}"
    for reason, holds in (
        ("not aligned", not x.flags.aligned),
        ("not in native byte order", not x.dtype.isnative),
        ("not contiguous", not contiguous_in_memory(x)),
    ):
        if holds:
            return f"copied first: {reason}{end}"
    if target is None or not direct:
        return f"input not copied{end}"
    if same_memory(x, target):
        return "in place"
    if np.may_share_memory(x, target):
        return "copied first: it overlaps out"
    return "input not copied" if x.strides == target.strides else "copied to out, then in place"


def memory_of_pair(
    operands: Sequence[Array], shape: tuple[int, ...], targets: Sequence[Array | None]
) -> str:
    """Return a description of the copies in a call with two operands."""
    sources = _sources(operands, shape)
    alias, copied = _plan(sources, _results(sources, targets))
    if copied:
        which = "both inputs" if len(copied) == len(sources) else "one input"
        return f"{which} copied first: layout differs from the result's"
    return "input not copied" if alias is None else "in place"


def is_plain(x: Array) -> bool:
    """Return whether `x` is an ndarray, no subclass, C-contiguous, aligned, of native order."""
    if type(x) is not np.ndarray:
        return False
    flags = x.flags
    return flags.c_contiguous and flags.aligned and x.dtype.isnative


def is_ready(x: Array) -> bool:
    """Return whether a kernel can run over `x`: contiguous, aligned, of native byte order."""
    return x.flags.aligned and x.dtype.isnative and contiguous_in_memory(x)


def same_memory(x: Array, result: Array) -> bool:
    """Return whether each element of `x` has the address of the same element of `result`."""
    return address(x) == address(result) and x.strides == result.strides and x.dtype == result.dtype


def fits(x: Array, result: Array) -> bool:
    """Return whether a kernel can read `x` while it writes `result`, element by element."""
    return (
        x.strides == result.strides
        and x.dtype == result.dtype
        and is_ready(x)
        and not np.may_share_memory(x, result)
    )


def run(runner: Runner, operands: tuple[Array, ...]) -> None:
    """Call a kernel over the memory of `operands`, of one size and layout, results first."""
    result = operands[0]
    count, item, addresses = result.size, result.itemsize, tuple(map(address, operands))
    if POOL.size == 1 or count < SERIAL:
        runner.run(*addresses, runner.address, count)
        return
    share(POOL.start, POOL.plan(count, item * len(operands)), runner, count, item, addresses)


def _finish(function: Any, inputs: tuple[Array, ...], result: Array, target: Array | None) -> Any:
    """Return `result` as a ufunc would: a scalar, an array of the operands' subclass, or `out`."""
    context: Any = (UfuncView(function.__name__, len(inputs)), inputs, 0)
    if target is not None:
        if address(target) != address(result):
            np.copyto(target, result)
        if type(target) is np.ndarray:
            return target
        return target.__array_wrap__(target, context, False)
    if all(type(operand) is np.ndarray for operand in inputs):
        return result if result.ndim else result[()]
    wrapping = max(inputs, key=lambda operand: getattr(operand, "__array_priority__", 0.0))
    return wrapping.__array_wrap__(result, context, result.ndim == 0)
