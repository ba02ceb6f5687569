"""The NumPy front end: any array in, the caller's kind of array out, as a ufunc would do it.

Kernels want one piece of aligned native memory. An operand that is none is copied into the
result first and overwritten there; operands that overlap the result in part are copied whole.
Everything is checked before anything is written.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from softgate.formula.rounding import format_of

from .dispatch import Call
from .routes import Route, Runner, contiguous_in_memory
from .threads import POOL

Array = np.ndarray[Any, Any]

SERIAL = 1 << 14
"""Arrays shorter than this are never shared out: no need to ask."""

FRAMEWORKS = frozenset({"torch", "jax", "jaxlib", "tensorflow", "keras"})
"""Whose tensors are not taken for arrays in silence."""

ACCEPTED = "float16, bfloat16, float32 and float64 (integers and booleans become float64)"


def _interface_address(x: Array) -> int:
    data: int = x.__array_interface__["data"][0]
    return data


def _field_address(x: Array) -> int:
    data: int = _Pointer.from_address(id(x) + _HEAD).value
    return data


_Pointer, _HEAD = ctypes.c_size_t, object.__basicsize__
_probe = np.zeros(3)
# NumPy's ABI has the data pointer first in an array object; reading it there takes a fifth of the
# time. Where an interpreter or a NumPy has it elsewhere, the public way is taken.
address = (
    _field_address
    if sys.implementation.name == "cpython" and _field_address(_probe) == _probe.ctypes.data
    else _interface_address
)
"""The address of an array's first element."""


def as_array(x: Any, name: str = "x") -> Array:
    """Return `x` as an array of a format there are kernels for, subclasses kept.

    Integers and booleans become float64 (NumPy's own ufuncs give float16 for int8 and booleans
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
    try:
        array: Array = np.asanyarray(x)
    except ValueError as error:
        raise TypeError(f"{name} is no array: {error}; accepted are {ACCEPTED}") from None
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if format_of(array.dtype) is None:
        raise TypeError(
            f"{name} has dtype {array.dtype.name or array.dtype} "
            f"({type(x).__name__} given): accepted are {ACCEPTED}"
        )
    return array


def _as_float(x: int, name: str) -> float:
    """Return an integer as a float, also one that no NumPy integer holds."""
    try:
        return float(x)
    except OverflowError:
        raise ValueError(f"{name} is an integer beyond the largest float64") from None


def check_arithmetic(arithmetic: str | None) -> None:
    """Raise where `arithmetic` is not one there is."""
    if arithmetic is not None and arithmetic != "float64":
        raise ValueError(f'arithmetic = {arithmetic!r}: accepted are "float64" and None')


def spreads(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Tell whether an array of one shape can be broadcast to another."""
    ends = zip(reversed(shape), reversed(to), strict=False)
    return len(shape) <= len(to) and all(length in (1, other) for length, other in ends)


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
    """Return the array that results go to, or raise before anything is written.

    Results of `shape` have to broadcast to it, as those of a ufunc do; it has their dtype, in any
    byte order. None, alone or in a tuple, means a new array.
    """
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"out has {len(out)} arrays: there is one result")
        (out,) = out
    if out is None:
        return None
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}: expected a numpy.ndarray")
    if out.shape != shape and not spreads(shape, out.shape):
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
    """Run a kernel over plain arrays with as little ado as possible, or return None.

    Plain are writeable C arrays of one shape and one native dtype that share no memory and are
    short or alone on one thread: what most calls have. The rest goes the long way.
    """
    x = inputs[0]
    if not x.flags.carray or not x.ndim or (x.size >= SERIAL and POOL.size > 1):
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


def unary(activation: Any, route: Route, x: Array, out: Any = None) -> Any:
    """Run `route` over `x` and return what a ufunc would."""
    if out is None and is_plain(x):  # the usual cases, without detours
        result = np.empty(x.shape, x.dtype)
        run(route.runner(), (result, x))
        return result if result.ndim else result[()]
    if _alike(out, x) and (out is x or _apart(out, x)):
        run(route.runner("x" if out is x else None), (out, x))
        return out
    dtype = x.dtype.newbyteorder("=")
    given = check_out(out, x.shape, dtype)
    plain = x.view(np.ndarray) if type(x) is not np.ndarray else x
    result = _target(plain, given, dtype)
    in_place = same_memory(plain, result)
    if not in_place and not fits(plain, result):
        if given is not None and np.may_share_memory(plain, result):
            plain = plain.copy()  # NumPy's own copy goes wrong where strides differ in 1-d
        np.copyto(result, plain)
        in_place = True
    run(route.runner("x" if in_place else None), (result, result if in_place else plain))
    return finish(activation, (x,), result, given)


def binary(activation: Any, route: Route, x: Array, grad: Array, out: Any = None) -> Any:
    """Run `route` over `x` and `grad`, broadcast against each other."""
    if is_plain(x) and is_plain(grad) and grad.shape == x.shape:
        if out is None:
            result = np.empty(x.shape, x.dtype)
            run(route.runner(), (result, x, grad))
            return result if result.ndim else result[()]
        if _alike(out, x) and _apart(out, x) and _apart(out, grad):
            run(route.runner(), (out, x, grad))
            return out
    dtype = np.dtype(x.dtype.newbyteorder("="))
    shape = np.broadcast_shapes(x.shape, grad.shape)
    given = check_out(out, shape, dtype)
    arrays = [np.broadcast_to(operand, shape) for operand in (x, grad)]
    result = _target(arrays[0], given, dtype)
    alias = None
    for i, name in enumerate(("x", "grad")):
        if alias is None and same_memory(arrays[i], result):
            alias = name
        elif not fits(arrays[i], result):
            dense = np.empty_like(result)
            np.copyto(dense, arrays[i])
            arrays[i] = dense
    run(route.runner(alias), (result, *arrays))
    return finish(activation, (x, grad), result, given)


def memory(given: Any, x: Array, out: Any = None) -> str:
    """Say what `unary` does with memory; `x` is `given` as an array."""
    dtype = x.dtype.newbyteorder("=")
    target = check_out(out, x.shape, dtype)
    end, direct = "", True
    if target is not None and target.shape != x.shape:
        end, direct = f", and broadcast to out, of shape {list(target.shape)}, at last", False
    elif target is not None and not (target.dtype == dtype and is_ready(target)):
        end = ", and copied to out at last: that is not one piece of native memory"
        direct = False
    if x is not given and not isinstance(given, np.ndarray):
        return f"made an array first{end}"
    if x is not given:
        return f"converted to {dtype.name} first{end}"
    for reason, holds in (
        ("not aligned", not x.flags.aligned),
        ("not in native byte order", not x.dtype.isnative),
        ("not one piece of memory", not contiguous_in_memory(x)),
    ):
        if holds:
            return f"copied first: {reason}{end}"
    if target is None or not direct:
        return f"read where it lies{end}"
    if same_memory(x, target):
        return "in place"
    if np.may_share_memory(x, target):
        return "copied first: it overlaps out"
    return "read where it lies" if x.strides == target.strides else "copied to out, then in place"


def _target(x: Array, given: Array | None, dtype: np.dtype[Any]) -> Array:
    """Return memory for results of the shape of `x`: `given` where a kernel can write there."""
    if given is not None and given.shape == x.shape and given.dtype == dtype and is_ready(given):
        return given.view(np.ndarray)
    return np.empty_like(x, dtype=dtype, subok=False)


def is_plain(x: Array) -> bool:
    """Tell whether `x` is what most arrays are: no subclass, in C order, aligned, native."""
    if type(x) is not np.ndarray:
        return False
    flags = x.flags
    return flags.c_contiguous and flags.aligned and x.dtype.isnative


def _alike(out: Any, x: Array) -> bool:
    """Tell whether `out` is as plain as `x`, of the same shape and dtype, and writeable."""
    if type(out) is not np.ndarray or out.shape != x.shape or out.dtype != x.dtype:
        return False
    flags = out.flags
    return flags.c_contiguous and flags.aligned and flags.writeable and is_plain(x)


def _apart(out: Array, x: Array) -> bool:
    """Tell whether two plain arrays of the same size share no memory."""
    return abs(address(out) - address(x)) >= x.nbytes


def is_ready(x: Array) -> bool:
    """Tell whether a kernel can run over the memory of `x`: one aligned native piece."""
    return x.flags.aligned and x.dtype.isnative and contiguous_in_memory(x)


def same_memory(x: Array, result: Array) -> bool:
    """Tell whether each element of `x` lies where that of `result` does."""
    return address(x) == address(result) and x.strides == result.strides and x.dtype == result.dtype


def fits(x: Array, result: Array) -> bool:
    """Tell whether a kernel can read `x` while it writes `result`, element by element."""
    return (
        x.strides == result.strides
        and x.dtype == result.dtype
        and is_ready(x)
        and not np.may_share_memory(x, result)
    )


def run(runner: Runner, operands: tuple[Array, ...]) -> None:
    """Call a kernel over the memory of `operands`, of one size and layout, results first."""
    result = operands[0]
    count, item, kernel, beside = result.size, result.itemsize, runner.run, runner.address
    if POOL.size == 1 or count < SERIAL:
        kernel(*map(address, operands), beside, count)
        return
    addresses = tuple(map(address, operands))

    def chunk(start: int, stop: int, _keep: tuple[Array, ...] = operands) -> None:
        # The memory lives as long as this function, however the caller's frame ends.
        offset = start * item
        kernel(*(a + offset for a in addresses), beside, stop - start)

    POOL.run(chunk, count, item * len(operands))


def finish(activation: Any, inputs: tuple[Array, ...], result: Array, given: Array | None) -> Any:
    """Return `result` as the caller's kind of array: a scalar, a subclass, `out` itself."""
    context: Any = (Call(activation.__name__, len(inputs)), inputs, 0)
    if given is not None:
        if address(given) != address(result):
            np.copyto(given, result)
        if type(given) is np.ndarray:
            return given
        return given.__array_wrap__(given, context, False)
    if all(type(operand) is np.ndarray for operand in inputs):
        return result if result.ndim else result[()]
    wrapping = max(inputs, key=lambda operand: getattr(operand, "__array_priority__", 0.0))
    return wrapping.__array_wrap__(result, context, result.ndim == 0)


def promote(x: Array, grad: Any) -> tuple[Array, Array]:
    """Return `x` and `grad` in one format: a Python number takes x's, arrays take the wider."""
    if type(grad) is np.ndarray and grad.dtype == x.dtype and x.dtype.isnative:
        return x, grad
    if isinstance(grad, int | float) and not isinstance(grad, np.generic):
        number = _as_float(grad, "grad") if isinstance(grad, int) else grad
        return x, np.asarray(number, dtype=x.dtype.newbyteorder("="))
    other = as_array(grad, "grad")
    dtype = x.dtype.newbyteorder("=")
    if other.dtype.newbyteorder("=") != dtype:
        try:
            dtype = np.promote_types(x.dtype, other.dtype)
        except TypeError:
            raise TypeError(
                f"x is {x.dtype.name} and grad {other.dtype.name}, which have no common format: "
                "convert one of them"
            ) from None
    return x.astype(dtype, copy=False), other.astype(dtype, copy=False)
