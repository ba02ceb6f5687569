"""polars Series: computed as NumPy arrays, masked where there are nulls, which stay nulls.

polars' own support of ufuncs lacks float16, booleans and several results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softgate.runtime.arrays import ACCEPTED
from softgate.runtime.explain import explain

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated

Described = tuple[tuple[int, ...], str, str, str, int]


def evaluate(
    activation: Activation,
    quantity: str,
    x: pl.Series,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> pl.Series:
    """Return a quantity at each element of a Series, as a Series of the same name."""
    function = activation if quantity == "value" else getattr(activation, quantity)
    result: pl.Series = _call(function, (x,), out, arithmetic=arithmetic, **parameters)
    return result


def backward(
    activation: Activation,
    x: Any,
    grad: Any,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> pl.Series:
    """Return slope(x)·grad, null where either is."""
    result: pl.Series = _call(
        activation.backward, (x, grad), out, arithmetic=arithmetic, **parameters
    )
    return result


def gated(
    function: Gated,
    operands: tuple[Any, ...],
    axis: int | None,
    first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> pl.Series:
    """Return the value of a gated activation of two operands, or of one cut in two."""
    keywords = {"axis": axis, "gate": _position(first), "arithmetic": arithmetic, **parameters}
    result: pl.Series = _call(function, operands, out, **keywords)
    return result


def gated_quantity(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    first: bool,
    out: object,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> Any:
    """Return derivatives of a gated activation; of the curvature, that by the gate first."""
    keywords = {"axis": axis, "gate": _position(first), **parameters}
    if quantity != "curvature":
        keywords["arithmetic"] = arithmetic
    results = _call(getattr(function, quantity), operands, out, **keywords)
    return results[::-1] if quantity == "curvature" and not first else results


def describe(
    activation: Activation,
    quantity: str,
    x: pl.Series,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> Described:
    """Return shape, dtype, what computes, what is done with memory, and the threads."""
    return _described((x,), activation, quantity=quantity, arithmetic=arithmetic, **parameters)


def describe_gated(
    function: Gated,
    quantity: str,
    operands: tuple[Any, ...],
    axis: int | None,
    first: bool,
    arithmetic: str | None,
    parameters: Mapping[str, Any],
) -> Described:
    """Return the same for a gated activation."""
    keywords = {"axis": axis, "gate": _position(first), "arithmetic": arithmetic, **parameters}
    return _described(operands, function, quantity=quantity, **keywords)


def _position(first: bool) -> str:
    return "first" if first else "second"


def _described(operands: tuple[Any, ...], function: Any, **keywords: Any) -> Described:
    arrays = tuple(np.ma.getdata(_array(x)) for x in operands)
    found = explain(arrays if len(arrays) > 1 else arrays[0], function, **keywords)
    memory = "made an array first, and a Series at last"
    return found.shape, found.dtype, found.computed_by, memory, found.threads


def _call(
    function: Callable[..., Any], operands: tuple[Any, ...], out: object, **keywords: Any
) -> Any:
    """Return a function of Series as Series that have the name of the first."""
    if out is not None:
        raise TypeError(
            "out with a polars Series is not supported, because Series are immutable: assign the "
            "result, or pass x.to_numpy()"
        )
    arrays = [_array(x) for x in operands]
    name = next(x.name for x in operands if isinstance(x, pl.Series))
    results = function(*arrays, **keywords)
    if isinstance(results, tuple):
        return tuple(_series(name, result) for result in results)
    return _series(name, results)


def _array(x: Any) -> Any:
    """Return a Series as an array, masked where it has nulls; anything else as it is."""
    if isinstance(x, pl.Expr):
        raise TypeError("a polars expression beside a Series: write pl.lit(series) for the Series")
    if not isinstance(x, pl.Series):
        return x
    if x.dtype.is_integer() or x.dtype == pl.Boolean:
        x = x.cast(pl.Float64)
    elif not x.dtype.is_float():
        raise TypeError(f"a polars Series of dtype {x.dtype}: accepted are {ACCEPTED}")
    values = x.to_numpy()
    if not x.has_nulls():
        return values
    return np.ma.masked_array(values, x.is_null().to_numpy())


def _series(name: str, result: Any) -> pl.Series:
    """Return an array of results as a Series, null where it is masked."""
    if np.ndim(result) != 1:
        raise ValueError(
            f"the result has shape {np.shape(result)}, and a polars Series has one dimension: "
            "pass x.to_numpy()"
        )
    series = pl.Series(name, np.ma.getdata(result))
    mask = np.ma.getmask(result)
    return series if mask is np.ma.nomask else series.set(pl.Series(mask), None)
