"""Operands as NumPy arrays of a format that has kernels, and how NumPy reads them in a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from softgate.formula.formats import format_of
from softgate.records.text import a_type

Array = np.ndarray[Any, Any]

FRAMEWORKS = frozenset({"torch", "jax", "jaxlib", "tensorflow", "keras"})
"""Frameworks with tensors that are not converted to arrays silently."""

KERNEL_DTYPES = "float16, bfloat16, float32 or float64"
ACCEPTED = (
    f"{KERNEL_DTYPES} (integers, booleans and float8_e8m0fnu become float64), or float8, float6 "
    "or float4 of ml_dtypes"
)


def as_array(x: Any, name: str = "x") -> Array:
    """Return `x` as an array of a format that has kernels; subclasses are preserved.

    Integers, booleans and float8_e8m0fnu become float64 (NumPy's ufuncs return float16 for int8
    and booleans and float32 for int16: too few digits for an activation).
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
    if format_of(array.dtype) is None and np.can_cast(array.dtype, np.float64, "safe"):
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


def check_call(operands: Mapping[str, Any], out: Any, results: int) -> None:
    """Raise, with what was given and what is expected, if a ufunc rejects operands or `out`."""
    shapes = {name: np.shape(x) for name, x in operands.items() if np.shape(x)}
    try:
        shape = np.broadcast_shapes(*shapes.values())
    except ValueError:
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"the shapes do not broadcast: {text}") from None
    dtype = next(iter(operands.values())).dtype
    outs = out if isinstance(out, tuple) else (out,)
    if out is not None and len(outs) != results:
        if results == 1:
            raise ValueError(f"out has {len(outs)} arrays: there is one result")
        raise TypeError(f"out is {a_type(out)}: expected a tuple of {results} arrays")
    for array in outs:
        if array is None:
            continue
        if not isinstance(array, np.ndarray):
            raise TypeError(f"out is {a_type(array)}: expected a numpy.ndarray")
        axes = zip(reversed(shape), reversed(array.shape), strict=False)
        if len(shape) > array.ndim or any(length not in (1, other) for length, other in axes):
            raise ValueError(
                f"out has shape {array.shape}: the result has shape {shape}, which does not "
                "broadcast to it"
            )
        if not np.can_cast(dtype, array.dtype, "same_kind"):
            raise TypeError(f"out has dtype {array.dtype.name}: the result has dtype {dtype.name}")
        if not array.flags.writeable:
            raise ValueError("out is read-only")


_NUMPY_UFUNC = np.ndarray.__array_ufunc__


def overrides(x: object) -> bool:
    """Return whether the type of `x` computes ufuncs itself, as NumPy's protocol has it."""
    return getattr(type(x), "__array_ufunc__", _NUMPY_UFUNC) is not _NUMPY_UFUNC


def is_duck_array(x: object) -> bool:
    """Return whether `x` is an array of another library that implements NEP 13 and NEP 18."""
    kind = type(x)
    return (
        not isinstance(x, np.ndarray)
        and getattr(kind, "__array_ufunc__", None) is not None
        and hasattr(kind, "__array_function__")
    )


def beside_others(operands: Sequence[Any]) -> list[Any]:
    """Return operands of a call that another library's array type computes.

    Its integers become float64, and numbers have the dtype of the others.
    """
    dtypes = [x.dtype for x in operands if isinstance(getattr(x, "dtype", None), np.dtype)]
    floats = [dtype for dtype in dtypes if dtype.kind not in "iub"]

    def converted(x: Any) -> Any:
        dtype = getattr(x, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.kind in "iub":
            return x.astype(np.float64)
        if isinstance(x, int | float) and not isinstance(x, np.generic) and floats:
            with np.errstate(over="ignore", under="ignore"):
                return np.asarray(_as_float(x, "a number") if isinstance(x, int) else x, floats[0])
        return x

    return list(map(converted, operands))


def iterated(inputs: Sequence[Array], outs: Sequence[Array | None]) -> Any:
    """Return an iterator whose `itviews` are the operands, then results, as NumPy runs over them.

    Axes are merged and in the order of memory. Results that are None are new arrays. Raises
    ValueError if shapes do not broadcast.
    """
    reading = [["readonly"]] * len(inputs)
    writing = [["writeonly", "allocate", "no_broadcast"]] * len(outs)
    operands: Any = [*inputs, *outs]
    access: Any = [*reading, *writing]
    dtypes = [x.dtype for x in inputs] + [inputs[0].dtype] * len(outs)
    return np.nditer(operands, ["external_loop", "zerosize_ok"], access, dtypes)


def memory(operands: Sequence[Any], inputs: Sequence[Array], outs: Sequence[Array | None]) -> str:
    """Return how the memory of operands is read; `inputs` are the operands as arrays."""
    for operand, x in zip(operands, inputs, strict=True):
        if x is not operand and not isinstance(operand, np.ndarray):
            return "converted to an array first"
        if x is not operand:
            return f"converted to {x.dtype.name} first"
    for reason, holds in (
        ("not aligned", [x.flags.aligned for x in inputs]),
        ("not in native byte order", [x.dtype.isnative for x in inputs]),
    ):
        if not all(holds):
            return f"copied in blocks: {reason}"
    targets = [out for out in outs if out is not None]
    if any(not (out.flags.aligned and out.dtype == inputs[0].dtype) for out in targets):
        return "input not copied, result converted to out in blocks"
    if overlap(inputs, targets):
        return "copied first: it overlaps out"
    views = iterated(inputs, outs).itviews
    read = views[: len(inputs)]
    if any(view.strides[-1] not in (0, view.itemsize) for view in views if view.shape[-1] > 1):
        return "copied in blocks: not contiguous"
    if any(same_memory(x, out) for x in inputs for out in targets):
        return "in place"
    broadcast = any(view.strides[-1] == 0 for view in read if view.shape[-1] > 1)
    rows = ", row by row" if views[0].ndim > 1 else ""
    return f"copied in blocks: broadcast{rows}" if broadcast else f"input not copied{rows}"


def overlap(inputs: Sequence[Array], outs: Sequence[Array]) -> bool:
    """Return whether an operand has the memory of a result at another place of the array."""
    pairs = ((x, out) for x in inputs for out in outs)
    return any(np.may_share_memory(x, out) and not same_memory(x, out) for x, out in pairs)


def same_memory(x: Array, out: Array) -> bool:
    """Return whether each element of `x` has the address of the same element of `out`."""
    return x.ctypes.data == out.ctypes.data and x.strides == out.strides and x.shape == out.shape
