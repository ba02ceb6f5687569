"""Adapter for polars Series: computed as NumPy arrays, masked at nulls, which stay nulls.

polars' support of ufuncs lacks float16, booleans and multiple results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from softgate.runtime.arrays import ACCEPTED
from softgate.runtime.dispatch import Call, Explanation
from softgate.runtime.explain import explain as explain_arrays


def compute(call: Call) -> Any:
    """Return the results as Series with the name of the first operand; nulls propagate.

    Of expressions, an expression that computes them when it is evaluated.
    """
    if any(isinstance(x, pl.Expr) for x in call.operands):
        return _expression(call)
    if call.out is not None:
        raise TypeError(
            "out with a polars Series is not supported, because Series are immutable: assign the "
            "result, or pass x.to_numpy()"
        )
    name = next(x.name for x in call.operands if isinstance(x, pl.Series))
    results = call.method(*map(_array, call.operands), **call.keywords)
    if isinstance(results, tuple):
        return tuple(_series(name, result) for result in results)
    return _series(name, results)


def _expression(call: Call) -> pl.Expr:
    """Return an expression that calls the function with Series."""
    if len(call.operands) < call.function.nin:
        raise TypeError(f"{call.function.name} of one operand (Expr given): expected two")
    if call.quantity != "value" and call.function.nin > 1:
        raise TypeError(f"{call.function.name} has 2 results here, and Expr allows for one")
    for x in call.operands:
        if isinstance(x, pl.Series):
            _array(pl.col(x.name))  # raises
    places = [i for i, x in enumerate(call.operands) if isinstance(x, pl.Expr)]
    call.function.check_parameters(call.parameters)

    def evaluate(series: Any) -> pl.Series:
        operands = list(call.operands)
        for place, column in zip(places, series, strict=True):
            operands[place] = column
        result: pl.Series = call.method(*operands, **call.keywords)
        return result

    return pl.map_batches([call.operands[i] for i in places], evaluate, is_elementwise=True)


def explain(call: Call) -> Explanation:
    """Return how a call is computed."""
    operands = tuple(np.ma.getdata(_array(x)) for x in call.operands)
    function: Any = call.function
    x = operands if len(operands) > 1 else operands[0]
    explanation = explain_arrays(x, function, quantity=call.quantity, **call.keywords)
    return replace(explanation, memory="converted to an array first, result converted to a Series")


def _array(x: Any) -> Any:
    """Return a Series as an array, masked at nulls; other operands unchanged."""
    if isinstance(x, pl.Expr):
        raise TypeError("a polars expression beside a Series: write pl.lit(series) for the Series")
    if not isinstance(x, pl.Series):
        return x
    if x.dtype.is_integer() or x.dtype == pl.Boolean:
        x = x.cast(pl.Float64)
    elif not x.dtype.is_float():
        raise TypeError(f"a polars Series of dtype {x.dtype}: expected {ACCEPTED}")
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
