"""Arrays of other libraries: polars, dask, xarray, and any that follows NEP 13 and NEP 18."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from numpy.lib.mixins import NDArrayOperatorsMixin

import softgate as sg

GATED = sg.gated()
EACH_GATED = pytest.mark.parametrize("gated", GATED.values(), ids=GATED)
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)


def sample(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def unary(activation: Any) -> list[Callable[..., Any]]:
    return [activation, activation.slope, activation.curvature]


# polars


def test_polars_series(activation: Any) -> None:
    x = sample(7)
    series = pl.Series("z", x)
    grad = pl.Series("grad", sample(7, seed=1))
    for function in unary(activation):
        result = function(series)
        assert isinstance(result, pl.Series)
        assert (result.name, result.dtype) == ("z", pl.Float32)
        assert np.array_equal(result.to_numpy(), function(x))
    for other in (grad, grad.to_numpy(), 2.0):
        result = activation.backward(series, other)
        assert (result.name, result.dtype) == ("z", pl.Float32)
        assert np.array_equal(result.to_numpy(), activation.backward(x, np.asarray(other, x.dtype)))
    assert activation.backward(x, grad).name == "grad"
    for parameter, default in activation.parameters.items():
        keywords = {parameter: default + 0.25}
        assert np.array_equal(activation(series, **keywords).to_numpy(), activation(x, **keywords))


@pytest.mark.parametrize("dtype", [pl.Float16, pl.Float32, pl.Float64], ids=str)
def test_polars_nulls_stay_nulls(dtype: Any) -> None:
    series = pl.Series("z", [1.0, None, float("nan"), -2.0], dtype=dtype)
    for function in unary(sg.gelu):
        result = function(series)
        assert result.dtype == dtype
        assert result.is_null().to_list() == [False, True, False, False]
        assert np.isnan(result[2])
        assert result[0] == function(series.to_numpy()[:1])[0]
    grad = pl.Series([None, 1.0, 1.0, 1.0], dtype=dtype)
    assert sg.gelu.backward(series, grad).is_null().to_list() == [True, True, False, False]
    assert sg.swiglu(series, grad).is_null().to_list() == [True, True, False, False]
    assert sg.swiglu(series).is_null().to_list() == [False, True]
    assert sg.swiglu.slope(series).is_null().to_list() == [False, True, False, True]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int16, pl.Int64, pl.UInt64, pl.Boolean])
def test_polars_integers_become_float64(dtype: Any) -> None:
    series = pl.Series("z", [1, None, 0]).cast(dtype)
    result = sg.gelu(series)
    assert result.dtype == pl.Float64
    assert result.to_list() == [sg.gelu(1.0), None, 0.0]


@EACH_GATED
def test_polars_gated(gated: Any) -> None:
    a, b, grad = (sample(6, seed=seed) for seed in range(3))
    names = ("a", "b", "grad")
    p, q, g = (pl.Series(*pair) for pair in zip(names, (a, b, grad), strict=True))
    keywords = {name: default + 0.5 for name, default in gated.parameters.items()}
    for gate in ("first", "second"):
        options: Any = {"gate": gate, **keywords}
        for result, expected in (
            ((gated(p, q, **options),), (gated(a, b, **options),)),
            ((gated(p, **options),), (gated(a, **options),)),
            (gated.slope(p, q, **options), gated.slope(a, b, **options)),
            ((gated.slope(p, **options),), (gated.slope(a, **options),)),
            (gated.curvature(p, q, **options), gated.curvature(a, b, **options)),
            (gated.curvature(p, **options), gated.curvature(a, **options)),
            (gated.backward(p, q, g, **options), gated.backward(a, b, grad, **options)),
            ((gated.backward(p, g[:3], **options),), (gated.backward(a, grad[:3], **options),)),
        ):
            for item, truth in zip(result, expected, strict=True):
                assert isinstance(item, pl.Series)
                assert (item.name, item.dtype) == ("a", pl.Float32)
                assert np.array_equal(item.to_numpy(), truth)
    assert gated(p, 2.0).dtype == pl.Float32


@pytest.mark.parametrize("column", ["a", "b", "c"])
def test_polars_expressions(column: str) -> None:
    columns = {"a": [1.0, None, -2.0], "b": [3, None, 4], "c": np.float32([1.0, 2.0, 3.0])}
    frame = pl.DataFrame(columns)
    series, expression = frame[column], pl.col(column)
    for result, expected in (
        (sg.gelu(expression), sg.gelu(series)),
        (sg.elu.slope(expression, alpha=0.5), sg.elu.slope(series, alpha=0.5)),
        (sg.gelu.backward(expression, 2.0), sg.gelu.backward(series, 2.0)),
        (sg.swiglu(expression, pl.col("a"), beta=0.5), sg.swiglu(series, frame["a"], beta=0.5)),
        (sg.swiglu(expression, pl.lit(frame["c"])), sg.swiglu(series, frame["c"])),
    ):
        assert isinstance(result, pl.Expr)
        computed = frame.lazy().select(result).collect()
        assert computed.columns == [column]
        assert computed[column].dtype == expected.dtype
        assert computed[column].to_list() == expected.to_list()


def test_polars_refusals_and_frames() -> None:
    series = pl.Series("z", [1.0, 2.0])
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    with pytest.raises(TypeError, match=r"dtype String: expected float16"):
        sg.gelu(pl.Series(["a"]))
    with pytest.raises(TypeError, match="out with a polars Series"):
        sg.gelu(series, out=np.empty(2))
    with pytest.raises(TypeError, match=r"pl\.lit\(series\)"):
        sg.swiglu(series, pl.col("a"))
    with pytest.raises(TypeError, match="2 results here, and Expr allows for one"):
        sg.swiglu.slope(pl.col("a"), 2.0)
    with pytest.raises(TypeError, match="Expr given"):
        sg.swiglu(pl.col("a"))
    with pytest.raises(ValueError, match=r"shape \(3, 2\).*one dimension"):
        sg.gelu.backward(series, np.ones((3, 2)))
    with pytest.raises(TypeError, match="LazyFrame"):
        sg.gelu(frame.lazy())
    with pytest.raises(TypeError, match="no parameter 'beta'"):
        sg.elu(series, beta=1.0)
    result = sg.gelu(frame)  # as np.exp(frame): an array
    assert type(result) is type(np.exp(frame)) is np.ndarray
    assert np.array_equal(result, sg.gelu(frame.to_numpy()))
    assert sg.gelu(pl.Series("e", [], dtype=pl.Float32)).dtype == pl.Float32
    assert "converted to an array first" in sg.explain(series).memory
    assert sg.explain((series, series), "swiglu").dtype == "float64"


# dask


class Source:
    """A source of chunks that counts how often one is read."""

    def __init__(self, array: Any) -> None:
        self.array, self.read = array, 0
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, index: Any) -> Any:
        chunk = self.array[index]
        self.read += chunk.size > 0  # dask reads an empty one to learn its type
        return chunk


def check_lazy(result: Any, expected: Any, *sources: Source) -> None:
    """Hold a dask array to what NumPy gives, and to not having been computed before."""
    assert isinstance(result, da.Array)
    assert result.shape == expected.shape
    assert result.dtype == result._meta.dtype == expected.dtype
    assert type(result._meta) is np.ndarray
    assert not any(source.read for source in sources)
    computed = result.compute(scheduler="synchronous")
    for source in sources:
        source.read = 0
    assert type(computed) is np.ndarray
    assert computed.dtype == expected.dtype
    assert np.array_equal(computed, expected)


@EACH_DTYPE
def test_dask_stays_lazy(dtype: Any) -> None:
    x, grad = sample(6, 10, dtype=dtype), sample(10, dtype=dtype, seed=1)
    source = Source(x)
    d, g = da.from_array(source, chunks=(4, 3)), da.from_array(grad, chunks=7)
    for function in unary(sg.gelu):
        check_lazy(function(d), function(x), source)
        assert function(d).chunks == d.chunks
    check_lazy(sg.elu(d, alpha=0.5), sg.elu(x, alpha=0.5), source)
    check_lazy(sg.elu.slope(d, alpha=0.5), sg.elu.slope(x, alpha=0.5), source)
    check_lazy(sg.gelu(d, arithmetic="float64"), sg.gelu(x, arithmetic="float64"), source)
    for first, second, plain in (
        (d, g, (x, grad)),
        (d, grad, (x, grad)),
        (x, g, (x, grad)),
        (d, 2.0, (x, 2.0)),
        (2.0, d, (2.0, x)),
    ):
        sources = (source,) if first is d or second is d else ()
        check_lazy(sg.gelu.backward(first, second), sg.gelu.backward(*plain), *sources)


def test_dask_every_activation(activation: Any) -> None:
    x = sample(9)
    d = da.from_array(x, chunks=4)
    for function in unary(activation):
        check_lazy(function(d), function(x))
    for parameter, default in activation.parameters.items():
        keywords = {parameter: default + 0.25}
        check_lazy(activation(d, **keywords), activation(x, **keywords))
        check_lazy(activation.backward(d, d, **keywords), activation.backward(x, x, **keywords))
        assert activation(d, **keywords).name != activation(d).name
        assert activation(d, **keywords).name == activation(d, **keywords).name


@EACH_GATED
def test_dask_gated(gated: Any) -> None:
    a, b, grad = sample(6, 10), sample(10, seed=1), sample(6, 1, seed=2)
    source, other = Source(a), Source(b)
    p, q = da.from_array(source, chunks=(4, 3)), da.from_array(other, chunks=4)
    g = da.from_array(grad, chunks=(5, 1))
    keywords = {name: default + 0.5 for name, default in gated.parameters.items()}
    for options in ({}, {"gate": "second", **keywords}):
        check_lazy(gated(p, q, **options), gated(a, b, **options), source, other)
        check_lazy(gated(p, b, **options), gated(a, b, **options), source)
        check_lazy(gated(2.0, q, **options), gated(2.0, b, **options), other)
        for results, expected in (
            (gated.slope(p, q, **options), gated.slope(a, b, **options)),
            (gated.curvature(p, q, **options), gated.curvature(a, b, **options)),
            (gated.backward(p, q, g, **options), gated.backward(a, b, grad, **options)),
            (gated.backward(p, q, 2.0, **options), gated.backward(a, b, 2.0, **options)),
        ):
            for result, truth in zip(results, expected, strict=True):
                check_lazy(result, truth, source, other)


@pytest.mark.parametrize(
    ("name", "chunks"),
    [(name, (4, 3)) for name in GATED]
    + [("swiglu", chunks) for chunks in ((2, 5), (6, 10), (6, (1, 9)))],
    ids=str,
)
def test_dask_halves(name: str, chunks: Any) -> None:
    """The cut may fall between two chunks or into one."""
    gated, x = GATED[name], sample(6, 10)
    source = Source(x)
    d = da.from_array(source, chunks=chunks)
    for axis, grad in ((-1, sample(6, 5, seed=1)), (0, sample(10, seed=1))):
        options: Any = {"axis": axis, "gate": "second"}
        check_lazy(gated(d, **options), gated(x, **options), source)
        check_lazy(gated.slope(d, **options), gated.slope(x, **options), source)
        for result, truth in zip(
            gated.curvature(d, **options), gated.curvature(x, **options), strict=True
        ):
            check_lazy(result, truth, source)
        expected = gated.backward(x, grad, **options)
        g = da.from_array(grad, chunks=2)
        check_lazy(gated.backward(d, grad, **options), expected, source)
        check_lazy(gated.backward(d, g, **options), expected, source)
        check_lazy(gated.backward(x, g, **options), expected)
    check_lazy(gated.backward(d, 2.0), gated.backward(x, 2.0), source)


def test_dask_several_results_come_from_one_pass() -> None:
    calls = 0

    def counted(block: Any) -> Any:
        nonlocal calls
        calls += block.size > 0
        return block

    x = sample(8)
    d = da.from_array(x, chunks=4).map_blocks(counted, dtype=x.dtype, meta=np.empty(0, x.dtype))
    results = sg.swiglu.slope(d, d)
    computed = dask.compute(*results, scheduler="synchronous")
    assert calls == 2  # one for each chunk
    for result, truth in zip(computed, sg.swiglu.slope(x, x), strict=True):
        assert np.array_equal(result, truth)


def test_dask_errors_and_out() -> None:
    x = sample(8)
    d = da.from_array(x, chunks=4)
    with pytest.raises(TypeError, match="elu has no parameter 'beta'"):
        sg.elu(d, beta=1.0)
    with pytest.raises(ValueError, match="finite"):
        sg.elu(d, alpha=float("nan"))
    with pytest.raises(ValueError, match="arithmetic"):
        sg.swiglu(d, d, arithmetic="float16")
    with pytest.raises(ValueError, match="gate = 'left'"):
        sg.swiglu(d, gate="left")
    with pytest.raises(ValueError, match="odd length 7"):
        sg.swiglu(d[:7])
    with pytest.raises(ValueError, match="unknown"):
        sg.swiglu(d[d > 0])
    with pytest.raises(ValueError, match=r"grad has shape \(3,\)"):
        sg.swiglu.backward(d, np.ones(3))
    with pytest.raises(TypeError, match="out with one Array"):
        sg.swiglu.slope(d, out=d)
    with pytest.raises(TypeError, match="gelu"):
        sg.gelu(d.astype(complex))
    out = da.zeros(8, chunks=4, dtype=x.dtype)
    sg.gelu(d, out=out)
    check_lazy(out, sg.gelu(x))
    out = da.zeros(4, chunks=4, dtype=x.dtype)
    sg.swiglu(d, out=out)
    check_lazy(out, sg.swiglu(x))
    check_lazy(sg.gelu(da.arange(4)), sg.gelu(np.arange(4)))


def test_dask_graphs_can_be_sent_and_named() -> None:
    """Workers unpickle a graph, and equal calls have equal names."""
    x = sample(8)
    with dask.config.set({"tokenize.ensure-deterministic": True}):
        d = da.from_array(x, chunks=4)
        for result, expected in (
            (sg.elu(d, alpha=0.5), sg.elu(x, alpha=0.5)),
            (sg.swiglu.slope(d, d, beta=0.5)[1], sg.swiglu.slope(x, x, beta=0.5)[1]),
        ):
            sent = pickle.loads(pickle.dumps(result))
            assert np.array_equal(sent.compute(scheduler="synchronous"), expected)
        assert sg.gelu(d).name == sg.gelu(d).name
        names = {f(d).name for f in (sg.gelu, sg.gelu.slope, sg.gelu_tanh)}
        assert len(names) == 3


# xarray, pandas, and others


def test_xarray_keeps_what_it_has() -> None:
    x = sample(6, dtype=np.float64)
    coordinates = {"t": np.arange(6)}
    labelled = xr.DataArray(x, dims="t", coords=coordinates, name="q")
    lazy = labelled.chunk(4)
    for array in (labelled, lazy):
        for result, expected in (
            (sg.gelu(array), sg.gelu(x)),
            (sg.elu.slope(array, alpha=0.5), sg.elu.slope(x, alpha=0.5)),
            (sg.gelu.backward(array, 2.0), sg.gelu.backward(x, 2.0)),
            (sg.swiglu(array, array, beta=0.5), sg.swiglu(x, x, beta=0.5)),
            (sg.swiglu.slope(array, array)[1], sg.swiglu.slope(x, x)[1]),
            (sg.swiglu.curvature(array, array).first, sg.swiglu.curvature(x, x).first),
            (sg.gelu(array.to_dataset())["q"], sg.gelu(x)),
        ):
            assert isinstance(result, xr.DataArray)
            assert np.array_equal(result["t"], coordinates["t"])
            assert isinstance(result.data, da.Array if array is lazy else np.ndarray)
            assert np.array_equal(result.values, expected)
    assert np.array_equal(sg.swiglu(labelled), sg.swiglu(x))


def test_pandas_curvature_of_a_pair() -> None:
    series = pd.Series([1.0, 2.0], index=["a", "b"])
    for part in sg.swiglu.curvature(series, 2.0):
        assert list(part.index) == ["a", "b"]


class Duck(NDArrayOperatorsMixin):
    """An array of another library, which follows NEP 13 and NEP 18 and is no NumPy array."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.shape, self.ndim, self.dtype = self.array.shape, self.array.ndim, self.array.dtype

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array")

    def __getitem__(self, index: Any) -> Any:
        return Duck(self.array[index])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        plain = [x.array if isinstance(x, Duck) else x for x in inputs]
        results = getattr(ufunc, method)(*plain, **keywords)
        return tuple(map(Duck, results)) if ufunc.nout > 1 else Duck(results)

    def __array_function__(self, function: Any, _: Any, inputs: Any, keywords: Any) -> Any:
        if function is np.concatenate:
            return Duck(np.concatenate([x.array for x in inputs[0]], *inputs[1:], **keywords))
        if function is np.shape:
            return self.shape
        return NotImplemented


def test_duck_arrays_are_not_converted() -> None:
    x, grad = sample(3, 4), sample(3, 2, seed=1)
    duck, duck_grad = Duck(x), Duck(grad)
    for results, expected in (
        ((sg.elu(duck, alpha=0.5),), (sg.elu(x, alpha=0.5),)),
        ((sg.gelu.backward(duck, 2.0),), (sg.gelu.backward(x, 2.0),)),
        ((sg.swiglu(duck),), (sg.swiglu(x),)),
        ((sg.swiglu.slope(duck),), (sg.swiglu.slope(x),)),
        ((sg.swiglu.backward(duck, duck_grad),), (sg.swiglu.backward(x, grad),)),
        ((sg.swiglu.backward(x, duck_grad),), (sg.swiglu.backward(x, grad),)),
        (sg.swiglu.curvature(duck), sg.swiglu.curvature(x)),
        (sg.swiglu.slope(duck, duck), sg.swiglu.slope(x, x)),
    ):
        for result, truth in zip(results, expected, strict=True):
            assert isinstance(result, Duck)
            assert np.array_equal(result.array, truth)
