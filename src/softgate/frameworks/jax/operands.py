"""Operands and parameters of a call with JAX arrays, in one format, and the bound function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from softgate.formula.formats import FLOAT32, FLOAT64, FORMATS
from softgate.runtime.arrays import check_arithmetic

from . import cpu_kernels
from .derivatives import BoundFunction, bound_function

if TYPE_CHECKING:
    from softgate.catalogue import Entry
    from softgate.runtime.activation import Activation

ACCEPTED = (
    "float16, bfloat16, float32 or float64 "
    "(integers and booleans become float32, or float64 with jax_enable_x64); "
    "for functions of one operand also float8 and float4, except float8_e8m0fnu"
)


def as_float(x: Any, name: str = "x") -> jax.Array:
    """Return an array of a float format; integers and booleans take JAX's widest float."""
    array = x if isinstance(x, jax.Array) else jnp.asarray(x)
    if array.dtype.name in FORMATS:
        return array
    if array.dtype.kind not in "iub":
        raise TypeError(f"{name} has dtype {array.dtype}: expected {ACCEPTED}")
    return array.astype(np.float64 if wide() else np.float32)


def together(operands: Mapping[str, Any]) -> list[jax.Array]:
    """Return named operands in one format and shape, as JAX's operators would combine them."""
    if len(operands) == 1:
        return [as_float(x, name) for name, x in operands.items()]
    kind = jnp.result_type(*operands.values())
    if kind.kind == "c":
        for name, x in operands.items():
            as_float(x, name)  # raises
    arrays = {name: as_float(jnp.asarray(x, kind), name) for name, x in operands.items()}
    try:
        return jnp.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise ValueError(f"the shapes do not broadcast: {shapes}") from None


def bind_operands(
    function: Activation,
    x: jax.Array,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> tuple[BoundFunction, list[jax.Array]]:
    """Return the `BoundFunction` for operands like `x`, and the parameters that are arrays."""
    entry = function.entry
    arrays = {
        name: value
        for name, value in parameters.items()
        if isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and value.ndim > 0)
    }
    numbers = {name: value for name, value in parameters.items() if name not in arrays}
    key = function.check_parameters({**numbers, **_placeholders(entry, arrays, numbers)})
    fmt = FLOAT64 if x.dtype == np.float64 else FLOAT32
    if arithmetic is not None:
        check_arithmetic(arithmetic)
        if not wide():
            raise ValueError(
                'arithmetic = "float64" where JAX has no float64: '
                'call jax.config.update("jax_enable_x64", True) at the start of the program'
            )
        fmt = FLOAT64
    if entry.user is not None and not entry.user.fast and wide():
        fmt = FLOAT64
    names = tuple(name for name, _ in key if name in arrays)
    # Tables are made for fixed parameters, so with these the primitive of 16-bit arrays is another
    # one for each value, and another platform would compile each.
    fixed = x.dtype.itemsize == 2 and dict(key) != function.parameters
    recompiles = fixed and jax.default_backend() != "cpu"
    native = not (names or recompiles or cpu_kernels.obstacle())
    return (
        bound_function(entry, fmt, key, names, native),
        [_fitting(name, arrays[name], x) for name in names],
    )


def wide() -> bool:
    """Return whether JAX has float64 enabled."""
    return bool(jax.dtypes.canonicalize_dtype(float).itemsize == 8)


def _fitting(name: str, parameter: Any, x: jax.Array) -> jax.Array:
    """Return an array parameter; raise if the result would not have the shape of x."""
    value = as_float(parameter, name)
    surplus = value.ndim - x.ndim
    if surplus > 0 or any(
        n not in (1, wanted) for n, wanted in zip(value.shape, x.shape[-surplus:], strict=True)
    ):
        wanted = f"expected one that broadcasts to x's {x.shape}"
        raise ValueError(f"{name} has shape {value.shape}: {wanted}")
    return value


def _placeholders(
    entry: Entry, arrays: Mapping[str, Any], numbers: Mapping[str, Any]
) -> dict[str, float]:
    """Return valid numbers in place of arrays, since under a trace these have no values."""
    values = {p.name: p.default for p in entry.parameters if p.name in arrays}
    values |= {name: 0.0 for name in arrays if name not in values}  # the check rejects these
    for p in entry.parameters:
        if p.name in arrays and p.exceeds in numbers:
            values[p.name] = float(numbers[p.exceeds]) + 1
        elif p.exceeds in arrays and p.name in numbers:
            values[p.exceeds] = float(numbers[p.name]) - 1
    return values
