"""Rows of adjacent elements: halves, slices and parameters of each column, in blocks or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import softgate as sg
from softgate.formula.formats import FORMATS, dtype_of
from softgate.runtime import array_calls, threads
from softgate.runtime.activation import LARGE

RANDOM = np.random.default_rng(0)
DTYPES = [dtype_of(fmt) for fmt in FORMATS.values()]


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(0, 3, shape).astype(dtype)


def same(result: Any, expected: Any) -> bool:
    return result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


@pytest.fixture(params=[1, 3])
def thread_count(request: Any) -> Any:
    before = sg.get_threads()
    sg.set_threads(request.param)
    yield request.param
    sg.set_threads(before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "shape", [(2,), (7, 2), (513, 6), (5, 3, 14), (100, 126), (9, 128), (3, 1200)]
)
def test_halves_have_the_bits_of_two_operands(dtype: Any, shape: tuple[int, ...]) -> None:
    x, grad = numbers(*shape, dtype=dtype), numbers(*shape[:-1], shape[-1] // 2, dtype=dtype)
    a, b = (np.ascontiguousarray(half) for half in np.split(x, 2, -1))
    for function in (sg.swiglu, sg.glu, sg.swiglu.bind(beta=1e-35)):
        assert same(function(x), function(a, b))
        assert same(function.slope(x), np.concatenate(function.slope(a, b), -1))
        expected = np.concatenate(function.backward(a, b, grad), -1)
        assert same(function.backward(x, grad), expected)
        out = np.empty_like(a)
        assert function(x, out=out) is out
        assert same(out, function(a, b))
        out = np.empty_like(x)
        assert function.backward(x, grad, out=out) is out
        assert same(out, expected)


def test_gradients_of_other_shapes() -> None:
    x = numbers(6, 8)
    a, b = np.split(x, 2, -1)
    for grad in (numbers(4), numbers(6, 1), numbers(6, 8)[:, ::2]):
        both = sg.swiglu.backward(a, b, np.broadcast_to(grad, a.shape))
        assert np.array_equal(sg.swiglu.backward(x, grad), np.concatenate(both, -1))
    for grad in (x, numbers(2, 6, 4), numbers(5, 4)):
        with pytest.raises(ValueError, match="grad has shape"):
            sg.swiglu.backward(x, grad)


def test_results_that_overlap_or_do_not_fit() -> None:
    x = numbers(6, 8)
    expected, before = sg.swiglu(x), x.copy()
    assert np.array_equal(sg.swiglu(x, out=x[:, 2:6]), expected)
    x = before.copy()
    slopes = sg.swiglu.slope(x)
    assert np.array_equal(sg.swiglu.slope(x, out=x), slopes)
    x = before
    assert np.array_equal(sg.swiglu(x, out=np.empty((6, 4))), expected)
    frozen = np.empty((6, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        sg.swiglu(x, out=frozen)
    with pytest.raises(ValueError, match="out has shape"):
        sg.swiglu(x, out=np.empty((5, 4), np.float32))
    with pytest.raises(ValueError, match="odd length"):
        sg.swiglu(numbers(3, 5))


def test_halves_in_other_orders() -> None:
    x = numbers(30, 12)
    for y in (np.asfortranarray(x), x[::-1], x[:, ::-1], x[::2], x.astype(">f4")):
        a, b = (np.ascontiguousarray(half, np.float32) for half in np.split(y, 2, -1))
        assert np.array_equal(sg.swiglu(y), sg.swiglu(a, b))


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 6, 7, 8, 13, 40, 63, 64, 65, 600])
def test_slices(columns: int, thread_count: int) -> None:
    rows = 2 * LARGE // columns
    x = numbers(rows, columns + 3)[:, 2 : columns + 2]
    dense = np.ascontiguousarray(x)
    assert same(np.ascontiguousarray(sg.gelu(x)), sg.gelu(dense))
    out = np.zeros((rows, columns + 2), np.float32)
    sg.gelu(x, out=out[:, 1:-1])
    assert same(np.ascontiguousarray(out[:, 1:-1]), sg.gelu(dense))
    assert not out[:, 0].any()
    assert not out[:, -1].any()


@pytest.mark.parametrize("columns", [1, 3, 8, 100])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [4096, 2 * LARGE])
def test_parameters_of_columns_and_rows(
    columns: int, dtype: Any, size: int, thread_count: int
) -> None:
    x = numbers(size // columns, columns, dtype=dtype)
    for slope in (numbers(columns), numbers(len(x), 1), np.float32([0.25]), numbers(1, 1)):
        every = np.ascontiguousarray(np.broadcast_to(slope, x.shape), np.float64)
        assert same(sg.prelu(x, slope=slope), sg.prelu(x, slope=every))
    first = sg.prelu(x[:, 0], slope=0.75)
    assert np.array_equal(sg.prelu(x, slope=np.full(columns, 0.75))[:, 0], first)


def test_tiny_parameters_keep_their_arithmetic() -> None:
    x = numbers(LARGE // 4, 8)
    beta = np.array([1.0, 1e-35, 2.0, 1e-36, 0.5, 3.0, 1e-37, 1.0])
    result = sg.swiglu(x, x, beta=beta)
    for i, number in enumerate(beta):
        column = np.ascontiguousarray(x[:, i])
        expected = sg.swiglu(column, column, beta=float(number), arithmetic="float64")
        assert np.array_equal(result[:, i], expected)


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([1j]), np.array([np.nan])])
def test_wrong_parameters(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"prelu's slope|expected"):
        sg.prelu(numbers(3, 1), slope=value)


def test_no_plan_and_no_iterator_for_halves(monkeypatch: Any) -> None:
    monkeypatch.setattr(array_calls, "plan", None)
    monkeypatch.setattr(array_calls, "iterated", None)
    x = numbers(64, 16)
    assert sg.swiglu(x).shape == sg.swiglu.slope(x)[:, :8].shape == (64, 8)


def test_subnormal_numbers_are_kept_where_a_framework_flushes_them() -> None:
    import torch

    x = np.full((40, 8), 1e-40, np.float32)
    x[:, 4:] = 1
    expected = sg.reglu(x)
    assert expected.any()
    torch.set_flush_denormal(True)
    try:
        flushed = sg.reglu(x)
    finally:
        torch.set_flush_denormal(False)
    assert same(flushed, expected)


def test_blocks_read_and_write_operands_only() -> None:
    """Rows at all distances; what lies between rows of a result is not written."""
    kernel = sg.relu.route("value", np.dtype(np.float32)).runner().kernel
    for columns in (1, 2, 5, 7, 64):
        for gap in (0, 1, 3):
            x, y = numbers(150, columns + gap), np.full((150, columns + 2), 9, np.float32)
            layouts = [*(y.strides[0], 4), *(x.strides[0], 4)]
            addresses = [y.ctypes.data, x.ctypes.data]
            threads.run_blocks(kernel, (150, columns), 1, layouts, addresses)
            assert np.array_equal(y[:, :columns], np.maximum(x[:, :columns], 0))
            assert np.all(y[:, columns:] == 9)
