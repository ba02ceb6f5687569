"""Functions as NumPy ufuncs: options, methods, errors within loops, and an unknown C ABI."""

from __future__ import annotations

import _thread
import gc
import operator
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import reduce
from itertools import accumulate
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import softgate as sg
from softgate.runtime import kernels, ufunc

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, ml_dtypes.float8_e4m3fn]


def sample(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


@sg.activation
def own_silu(f: Any, x: Any, rate: float = 1.0) -> Any:
    return x * f.sigmoid(rate * x)


NAMED = [(name, dtype) for name in ("gelu", "elu") for dtype in DTYPES]
NAMED += [(name, dtype) for name in ("reglu", "swiglu") for dtype in DTYPES[:4]]  # no tables


@pytest.mark.parametrize(("name", "dtype"), NAMED, ids=str)
def test_ufunc_gives_the_function(name: str, dtype: Any) -> None:
    function: Any = getattr(sg, name)
    assert isinstance(function.ufunc, np.ufunc)
    assert (function.ufunc.nin, function.ufunc.nout) == (function.nin, 1)
    operands = [sample(4, 9, dtype=dtype, seed=i) for i in range(function.nin)]
    single = [function(*elements) for elements in zip(*map(np.ravel, operands), strict=True)]
    expected = np.array(single, dtype).reshape(4, 9)
    result = function.ufunc(*operands)
    assert result.dtype == dtype
    assert result.tobytes() == function(*operands).tobytes() == expected.tobytes()
    turned = function.ufunc(*(x.T[::-1] for x in operands))
    assert turned.tobytes() == np.ascontiguousarray(expected.T[::-1]).tobytes()


def test_options_are_those_of_numpy() -> None:
    x = sample(3, 4)
    where, out = x > 0, np.full_like(x, 7)
    assert sg.gelu(x, out=out, where=where) is out
    assert np.array_equal(out, np.where(where, sg.gelu(x), 7))
    wide = sg.gelu(x, dtype=np.float64)
    assert wide.dtype == np.float64
    assert np.array_equal(wide, sg.gelu(x.astype(np.float64)))
    assert sg.gelu(x, order="F").flags.f_contiguous
    assert type(sg.gelu(x.view(np.matrix), subok=False)) is np.ndarray
    narrow = np.empty(x.shape, np.float16)
    assert sg.gelu(x, out=narrow) is narrow  # as np.tanh casts, by the rule "same_kind"
    assert np.array_equal(narrow, sg.gelu(x).astype(np.float16))
    with pytest.raises(TypeError, match="float32"):
        sg.gelu(x, out=narrow, casting="safe")
    with pytest.raises(TypeError, match="bool"):
        sg.gelu(x, where=np.ones(4, complex), out=out)
    grads = sg.swiglu.backward(x, x, x, where=where, out=(out, np.zeros_like(x)))
    assert np.array_equal(grads[1] != 0, where & (grads[1] != 0))


def test_arguments_with_parameters() -> None:
    x = sample(6)
    alpha = np.ma.array(np.linspace(0.5, 1, 6), mask=np.arange(6) == 2)
    assert sg.elu(x, alpha=alpha).mask.tolist() == alpha.mask.tolist()
    for dtype in (np.float16, np.float64):
        wide = sg.elu(x, alpha=0.3, dtype=dtype, casting="same_kind")
        assert wide.dtype == dtype
        assert np.array_equal(wide, sg.elu(x.astype(dtype), alpha=0.3))
    slopes = sg.swiglu.slope(x, x, beta=0.3, dtype=np.float64)
    assert [part.dtype for part in slopes] == [np.float64] * 2
    with pytest.raises(ValueError, match="out has 2 arrays: there is one result"):
        sg.swiglu.slope(x, out=(x[:3].copy(), x[3:].copy()))


def test_options_are_refused_for_tensors() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="where is an option"):
        sg.gelu(torch.ones(3), where=True)
    with pytest.raises(TypeError, match="dtype is an option"):
        sg.swiglu(torch.ones(3), torch.ones(3), dtype=np.float64)


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda dtype: dtype.__name__)
def test_methods(dtype: Any) -> None:
    x = sample(20, dtype=dtype)
    function = sg.geglu.ufunc
    assert function.reduce(x) == reduce(function, x)
    assert np.array_equal(function.accumulate(x), list(accumulate(x, function)))
    tiny = sg.swiglu.bind(beta=1e-40).ufunc
    assert tiny.reduce(x) == reduce(tiny, x)
    assert np.array_equal(tiny.accumulate(x), list(accumulate(x, tiny)))
    table = function.reduce(x.reshape(4, 5), axis=0)
    assert np.array_equal(table, [reduce(function, column) for column in x.reshape(4, 5).T])
    assert np.array_equal(function.outer(x[:3], x[:2]), function(x[:3, None], x[:2]))
    changed, places = x.copy(), np.array([0, 3, 3])
    sg.relu.ufunc.at(changed, places)
    expected = x.copy()
    expected[[0, 3]] = sg.relu(sg.relu(x[[0, 3]]))
    assert np.array_equal(changed, expected)


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda dtype: dtype.__name__)
def test_rows_columns_and_blocks_give_the_same_bits(dtype: Any) -> None:
    """Lengths around those of a block, strides of both signs, and rows that are short and long."""
    for length in (1, 2, 15, 16, 511, 512, 513, 1300):
        x, y = sample(3, length, dtype=dtype), sample(3, length, dtype=dtype, seed=1)
        expected, slopes = sg.swiglu(x, y), sg.swiglu.slope(x, y)
        for step in (2, -1, -3):
            a, b = (np.empty((3, length * abs(step)), dtype)[:, ::step][:, :length] for _ in "ab")
            a[...], b[...] = x, y
            assert np.array_equal(sg.swiglu(a, b), expected)
            for part, truth in zip(sg.swiglu.slope(a, b), slopes, strict=True):
                assert np.array_equal(part, truth)
        joined = np.concatenate([x, y], axis=1)
        assert np.array_equal(sg.swiglu(joined), expected)
        assert np.array_equal(sg.swiglu.slope(joined), np.concatenate(slopes, axis=1))
        assert np.array_equal(sg.swiglu(np.asfortranarray(x), np.asfortranarray(y)), expected)


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", ["elu", "prelu", "softplus", "hard_tanh", "swiglu"])
def test_parameters_per_element_are_those_of_single_calls(name: str, dtype: Any) -> None:
    """Bit for bit: an array of parameters is the same mechanism as a number."""
    function: Any = getattr(sg, name)
    parameter, default = next(iter(function.parameters.items()))
    values = default + np.array([0.0, 0.125, 0.1, 0.3, 1 / 3, 0.7])
    operands = [sample(40, 6, dtype=dtype, seed=i) for i in range(function.nin)]
    grad = sample(40, 6, dtype=dtype, seed=7)
    operands[0][:4], grad[:4] = -200, np.array([[-1], [1], [-0.0], [-1e-5]]).astype(dtype)
    for quantity in ("value", "slope", "curvature", "backward"):
        method = function if quantity == "value" else getattr(function, quantity)
        arguments = [*operands, grad] if quantity == "backward" else operands
        together = np.array(method(*arguments, **{parameter: values}))
        for i, value in enumerate(values):
            alone = method(*(x[:, i].copy() for x in arguments), **{parameter: float(value)})
            expected = np.atleast_2d(np.array(alone))
            found = together.reshape(*expected.shape, -1)[..., i]
            assert np.ascontiguousarray(found).tobytes() == expected.tobytes()
    result = function(*operands, **{parameter: values})
    blocks = function(*(np.tile(x, (30, 1)).T for x in operands), **{parameter: values[:, None]})
    assert np.array_equal(blocks.T[:40], result)


def test_first_calls_of_a_loop_from_many_threads() -> None:
    @sg.activation
    def own(f: Any, x: Any, a: float = 1.0) -> Any:
        return a * x * f.sigmoid(2.5 * x)

    x, results = sample(5000), [None] * 16
    start = threading.Barrier(len(results))

    def call(i: int) -> None:
        start.wait()
        results[i] = own(x, a=1.0 + i % 4)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in enumerate(results):
        assert np.array_equal(result, own(x, a=1.0 + i % 4))


def test_many_parameters_keep_few_records() -> None:
    x = sample(8)
    loop = sg.celu.ufunc_of("value", None, None, True)
    for i in range(3 * ufunc.MOST_RECORDS):
        alpha = 1 + i / 1024
        expected = np.where(x > 0, x, alpha * np.expm1(x.astype(float) / alpha))
        assert np.allclose(sg.celu(x, alpha=alpha), expected, rtol=1e-6)
    records = [item for item in ufunc._loops.values() if item.entry is sg.celu.entry and item.names]
    assert loop.nin == 2
    assert max(len(item._records) for item in records) <= ufunc.MOST_RECORDS
    assert all(len(item._retired) <= 1 for item in records)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_or_error_while_a_kernel_is_compiled(monkeypatch: Any) -> None:
    """The exception reaches the caller, and the next call computes."""

    @sg.activation
    def own(f: Any, x: Any) -> Any:
        return x * f.sigmoid(3.25 * x)

    compiled = kernels.compiled
    x = sample(90, 400)[:, :200]  # several calls of the loop
    for error in (KeyboardInterrupt, MemoryError("little memory"), RuntimeError("broken")):

        def raising(*_: Any, error: Any = error) -> Any:
            if error is KeyboardInterrupt:
                _thread.interrupt_main()
                for _ in range(1000):
                    operator.add(1, 1)
            raise error

        monkeypatch.setattr(kernels, "compiled", raising)
        with pytest.raises(error if isinstance(error, type) else type(error)) as raised:
            own.ufunc(x)
        assert isinstance(error, type) or str(raised.value) == str(error)
        monkeypatch.setattr(kernels, "compiled", compiled)
    assert np.allclose(own(x), x * sg.sigmoid(3.25 * x.astype(float)), rtol=1e-6)


def test_no_floating_point_errors() -> None:
    x = np.array([-np.inf, np.inf, np.nan, -1e38, 1e38, -13.0, 1e-45], np.float32)
    with np.errstate(all="raise"):
        for function in (sg.gelu, sg.gelu.slope, sg.gelu.curvature, sg.exponential):
            function(x[::2])
            function.ufunc(x) if hasattr(function, "ufunc") else function(x)


def test_pickles_and_lifetime() -> None:
    bound = sg.elu.bind(alpha=0.3).ufunc, sg.swiglu.bind(gate="second").ufunc, own_silu.ufunc
    of_gradient = sg.swiglu.ufunc_of("backward", None, 1, True)
    for function in (sg.gelu.ufunc, sg.elu.ufunc, of_gradient, *bound, np.tanh):
        assert pickle.loads(pickle.dumps(function)) is function

    def made() -> np.ufunc:
        @sg.activation
        def own(f: Any, x: Any) -> Any:
            return x * f.sigmoid(1.5 * x)

        own(sample(9))
        return own.ufunc

    x = sample(2000)
    expected = x * sg.sigmoid(1.5 * x)
    kept, loops = made(), len(ufunc._loops)
    gc.collect()
    assert np.allclose(kept(x), expected, rtol=1e-6)  # outlives its function
    del kept
    gc.collect()
    assert len(ufunc._loops) < loops


UNKNOWN_ABI = """
import sys
import numpy as np
from softgate.runtime import ufunc
import softgate as sg
ufunc.KNOWN_ABI = 0x3000000
try:
    sg.gelu(np.ones(3))
except ImportError as error:
    print(error)
import softgate.studies.reproducibility
"""


def test_an_unknown_abi_is_an_error_of_the_first_call() -> None:
    result = subprocess.run(
        [sys.executable, "-c", UNKNOWN_ABI], capture_output=True, text=True, check=True
    )
    assert "C ABI" in result.stdout
    assert "install numpy" in result.stdout


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = sg.get_threads()
    sg.set_threads(3)
    yield
    sg.set_threads(before)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("shift", [1, 64, 1000])
def test_large_results_over_the_start_of_their_input(shift: int) -> None:
    """NumPy does not copy such inputs: they are read before they are overwritten."""
    x = sample(1 << 21)
    expected = sg.gelu(x[shift:].copy())
    assert np.array_equal(sg.gelu(x[shift:], out=x[:-shift]), expected)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda dtype: dtype.__name__)
def test_large_arrays_of_parameters(dtype: Any) -> None:
    """Elements and parameters have different sizes, and threads take parts of both."""
    x, beta = sample(300_001, dtype=dtype), np.linspace(0.5, 2.5, 300_001)
    for function in (sg.swiglu, sg.swiglu.slope):
        parts = [
            function(*[x[i : i + 999]] * 2, beta=beta[i : i + 999]) for i in range(0, x.size, 999)
        ]
        expected = np.concatenate(parts, axis=-1)
        assert np.array_equal(function(x, x, beta=beta), expected)
