"""The NumPy front end: any array in, the caller's kind of array out, as a ufunc would do it.

Kernels want one piece of aligned native memory. An operand that is none is copied into the
result first and overwritten there; operands that overlap the result in part are copied whole.
Everything is checked before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .rounding import format_of
from .routes import Route, contiguous_in_memory
from .threads import POOL

Array = np.ndarray[Any, Any]

ACCEPTED = "float16, bfloat16, float32 and float64 (integers and booleans become float64)"


class Call:
    """What a subclass is told of the call it wraps: as much of a ufunc as it may ask for."""

    nout = 1

    def __init__(self, name: str, nin: int) -> None:
        self.__name__, self.nin = name, nin


def as_array(x: Any, name: str = "x") -> Array:
    """Return `x` as an array of a format there are kernels for, subclasses kept.

    Integers and booleans become float64 (NumPy's own ufuncs give float16 for int8 and booleans
    and float32 for int16: too few digits for an activation).
    """
    if isinstance(x, int):
        x = float(x)  # also one that no NumPy integer holds
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


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return the array that results go to, or raise before anything is written."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"out has {len(out)} arrays: there is one result")
        (out,) = out
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}: expected a numpy.ndarray")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}: the result has shape {shape}")
    if out.dtype != dtype and out.dtype.newbyteorder("=") != dtype:
        raise TypeError(f"out has dtype {out.dtype.name}: the result has dtype {dtype.name}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    return out


def unary(activation: Any, route: Route, x: Array, out: Any = None) -> Any:
    """Run `route` over `x` and return what a ufunc would."""
    if out is None and type(x) is np.ndarray and _plain_c(x):  # the usual case, without detours
        result = np.empty(x.shape, x.dtype)
        _run(route, (result, x), None)
        return result if result.ndim else result[()]
    dtype = x.dtype.newbyteorder("=")
    given = None if out is None else check_out(out, x.shape, dtype)
    plain = x.view(np.ndarray) if type(x) is not np.ndarray else x
    result = _target(plain, given, dtype)
    in_place = _same_memory(plain, result)
    if not in_place and not _fits(plain, result):
        if given is not None and np.may_share_memory(plain, result):
            plain = plain.copy()  # NumPy's own copy goes wrong where strides differ in 1-d
        np.copyto(result, plain)
        in_place = True
    operands = [result] if in_place else [result, plain]
    _run(route, operands, "x" if in_place else None)
    return _finish(activation, (x,), result, given)


def binary(activation: Any, route: Route, x: Array, grad: Array, out: Any = None) -> Any:
    """Run `route` over `x` and `grad`, broadcast against each other."""
    dtype = np.dtype(x.dtype.newbyteorder("="))
    shape = np.broadcast_shapes(x.shape, grad.shape)
    given = None if out is None else check_out(out, shape, dtype)
    arrays = [np.broadcast_to(operand, shape) for operand in (x, grad)]
    result = _target(arrays[0], given, dtype)
    alias = None
    for i, name in enumerate(("x", "grad")):
        if alias is None and _same_memory(arrays[i], result):
            alias = name
        elif not _fits(arrays[i], result):
            dense = np.empty_like(result)
            np.copyto(dense, arrays[i])
            arrays[i] = dense
    _run(route, [result, *arrays], alias)
    return _finish(activation, (x, grad), result, given)


def _target(x: Array, given: Array | None, dtype: np.dtype[Any]) -> Array:
    """Return memory a kernel can write: `given` where that will do, else a new array."""
    if given is not None and given.dtype == dtype and _ready(given):
        return given.view(np.ndarray)
    return np.empty_like(x, dtype=dtype, subok=False)


def _plain_c(x: Array) -> bool:
    flags = x.flags
    return flags.c_contiguous and flags.aligned and x.dtype.isnative


def _ready(x: Array) -> bool:
    return x.flags.aligned and x.dtype.isnative and contiguous_in_memory(x)


def _same_memory(x: Array, result: Array) -> bool:
    return (
        x.__array_interface__["data"][0] == result.__array_interface__["data"][0]
        and x.strides == result.strides
        and x.dtype == result.dtype
    )


def _fits(x: Array, result: Array) -> bool:
    return (
        x.strides == result.strides
        and x.dtype == result.dtype
        and _ready(x)
        and not np.may_share_memory(x, result)
    )


def _run(route: Route, operands: Sequence[Array], alias: str | None) -> None:
    """Call the kernel over the memory of `operands`, the result's first."""
    runner = route.runner(alias)
    result = operands[0]
    if len(operands) == 1:
        operands = [result, result]
    item, run, beside = result.itemsize, runner.run, runner.address
    addresses = [operand.__array_interface__["data"][0] for operand in operands]
    if POOL.plan(result.size, item * len(operands)) == 1:
        run(*addresses, beside, result.size)
        return

    def chunk(start: int, stop: int) -> None:
        offset = start * item
        run(*(address + offset for address in addresses), beside, stop - start)

    POOL.run(chunk, result.size, item * len(operands))


def _finish(activation: Any, inputs: tuple[Array, ...], result: Array, given: Array | None) -> Any:
    """Return `result` as the caller's kind of array: a scalar, a subclass, `out` itself."""
    context: Any = (Call(activation.__name__, len(inputs)), inputs, 0)
    if given is not None:
        if given.__array_interface__["data"] != result.__array_interface__["data"]:
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
    if isinstance(grad, int | float) and not isinstance(grad, np.generic):
        return x, np.asarray(grad, dtype=x.dtype.newbyteorder("="))
    other = as_array(grad, "grad")
    dtype = x.dtype.newbyteorder("=")
    if other.dtype.newbyteorder("=") != dtype:
        dtype = np.promote_types(x.dtype, other.dtype)
    return x.astype(dtype, copy=False), other.astype(dtype, copy=False)
