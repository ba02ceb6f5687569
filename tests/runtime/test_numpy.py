"""The NumPy front end: what goes in, what comes out, what is refused."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import softgate as sg
from softgate.runtime import tables
from softgate.runtime.activation import Activation

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float16), BFLOAT16, np.dtype(np.float32), np.dtype(np.float64)]
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=str)
MEMORY_ORDERS = ["C", "F"]


def bits(x: Any) -> Any:
    x = np.asarray(x)
    return x.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[x.itemsize])


def reference(x: np.ndarray[Any, Any], function: Any = sg.gelu) -> np.ndarray[Any, Any]:
    """The function at a plain contiguous copy."""
    plain = np.ascontiguousarray(np.asarray(x)).astype(x.dtype.newbyteorder("="))
    return np.asarray(function(plain)).reshape(x.shape)


@st.composite
def views(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Arrays of any shape, cut and turned: sliced, reversed, transposed, broadcast, swapped."""
    dtype = draw(st.sampled_from([*DTYPES, np.dtype(">f4"), np.dtype(">f8"), np.dtype(">f2")]))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    seed = draw(st.integers(0, 2**16))
    x = (np.random.default_rng(seed).standard_normal(shape) * 4).astype(dtype)
    if draw(st.booleans()):
        x = np.asfortranarray(x)
    for axis in range(x.ndim):
        step = draw(st.sampled_from([1, 1, 2, -1, -2]))
        x = x[(slice(None),) * axis + (slice(None, None, step),)]
    if draw(st.booleans()):
        x = x.transpose(draw(st.permutations(range(x.ndim))))
    if draw(st.booleans()):
        x = np.broadcast_to(x, (draw(st.integers(0, 3)), *x.shape))
    return x


@settings(max_examples=300, deadline=None)
@given(views())
def test_any_view_gives_the_same_bits(x: np.ndarray[Any, Any]) -> None:
    before = x.copy()
    y = sg.gelu(x)
    assert np.shape(y) == x.shape
    assert y.dtype == x.dtype.newbyteorder("=")
    assert np.array_equal(bits(y), bits(reference(x)))
    assert np.array_equal(bits(x), bits(before))


@settings(max_examples=200, deadline=None)
@given(views(), st.data())
def test_out_of_any_layout(x: np.ndarray[Any, Any], data: st.DataObject) -> None:
    shape = x.shape
    padded = np.zeros([2 * n + 1 for n in shape], x.dtype)
    steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in shape]
    out = padded[(*(slice(None, None, s) for s in steps), ...)]
    out = out[(*(slice(0, n) for n in shape), ...)]
    y = sg.gelu(x, out=out)
    assert y is out
    assert np.array_equal(bits(out), bits(reference(x).astype(x.dtype)))


@settings(max_examples=200, deadline=None)
@given(views(), st.data())
def test_backward_broadcasts(x: np.ndarray[Any, Any], data: st.DataObject) -> None:
    shape = data.draw(hnp.broadcastable_shapes(x.shape, max_dims=4, min_side=0))
    expected_shape = np.broadcast_shapes(x.shape, shape)
    grad = np.random.default_rng(0).standard_normal(shape).astype(x.dtype)
    y = sg.gelu.backward(x, grad)
    assert np.shape(y) == expected_shape
    wide_x, wide_grad = (np.broadcast_to(v, expected_shape).copy() for v in (x, grad))
    expected = sg.gelu.backward(*(v.astype(x.dtype.newbyteorder("=")) for v in (wide_x, wide_grad)))
    assert np.array_equal(bits(y), bits(expected))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 60), st.sampled_from([1, 2, -1]))
def test_overlapping_views(to: int, source: int, size: int, step: int) -> None:
    memory = (np.random.default_rng(1).standard_normal(200) * 3).astype(np.float32)
    x = memory[source : source + size][::step]
    out = memory[to : to + x.size]
    expected = reference(x.copy())
    sg.gelu(x, out=out)
    assert np.array_equal(bits(out), bits(expected))


@EACH_DTYPE
@pytest.mark.parametrize("name", ["x", "grad"])
def test_backward_in_place(dtype: Any, name: str) -> None:
    rng = np.random.default_rng(2)
    x, grad = ((rng.standard_normal(999) * 2).astype(dtype) for _ in range(2))
    expected = sg.gelu.backward(x.copy(), grad.copy())
    target = {"x": x, "grad": grad}[name]
    assert sg.gelu.backward(x, grad, out=target) is target
    assert np.array_equal(bits(target), bits(expected))


def test_backward_with_one_array_as_everything() -> None:
    x = np.linspace(-3, 3, 101)
    expected = sg.gelu.backward(x.copy(), x.copy())
    assert np.array_equal(sg.gelu.backward(x, x, out=x), expected)


@EACH_DTYPE
def test_unaligned(dtype: Any) -> None:
    raw = np.zeros(101 * dtype.itemsize + 1, np.uint8)
    x = raw[1:].view(dtype)
    x[...] = np.linspace(-5, 5, 101).astype(dtype)
    assert not x.flags.aligned
    assert np.array_equal(bits(sg.gelu(x)), bits(reference(x.copy())))
    expected = bits(reference(x.copy()))
    sg.gelu(x, out=x)
    assert np.array_equal(bits(x.copy()), expected)


@EACH_DTYPE
def test_read_only_and_empty(dtype: Any) -> None:
    x = np.linspace(-2, 2, 9).astype(dtype)
    x.flags.writeable = False
    assert np.array_equal(bits(sg.gelu(x)), bits(reference(x)))
    assert sg.gelu(np.empty((3, 0), dtype)).shape == (3, 0)
    with pytest.raises(ValueError, match="read-only"):
        sg.gelu(x, out=x)


@pytest.mark.filterwarnings("error")
def test_views_of_broadcast_arrays_do_not_warn() -> None:
    """NumPy warns when some of their flags are read; a first call compiles, others are shorter."""
    row, column = np.linspace(-2, 2, 4, dtype=np.float32), np.ones((3, 1), np.float32)
    for shapes in ((row, column), (row, row + 1)):
        wanted = [np.array(x) for x in np.broadcast_arrays(*shapes)]
        for _ in range(2):
            for call in (sg.gelu, sg.gelu.slope, sg.swiglu, sg.swiglu.slope):
                x, y = np.broadcast_arrays(*shapes)
                assert np.array_equal(call(x), call(wanted[0]))
            for pair in (sg.gelu.backward, sg.swiglu, sg.swiglu.slope):
                x, y = np.broadcast_arrays(*shapes)
                assert np.array_equal(pair(x, y), pair(*wanted))


@EACH_DTYPE
def test_scalars_come_back_as_scalars(dtype: Any) -> None:
    for x in (dtype.type(1.5), np.array(1.5, dtype)):
        y = sg.gelu(x)
        assert type(y) is dtype.type
        assert type(sg.gelu.slope(x)) is dtype.type


def test_python_numbers_and_lists() -> None:
    assert isinstance(sg.gelu(1.0), np.float64)
    assert sg.gelu(1) == sg.gelu(1.0) == sg.gelu(True)
    assert sg.relu(10**400 // 10**390) == 10**10
    assert np.array_equal(sg.relu([[1, -2], [3, 4]]), [[1.0, 0.0], [3.0, 4.0]])
    assert sg.relu([]).shape == (0,)


@pytest.mark.parametrize("kind", ["?", "b", "B", "h", "H", "i", "I", "q", "Q"])
def test_integers_become_float64(kind: str) -> None:
    y = sg.gelu(np.array([0, 1], kind))
    assert y.dtype == np.float64
    assert y[1] == sg.gelu(1.0)


@pytest.mark.parametrize(
    "x",
    [
        1 + 2j,
        np.zeros(2, complex),
        np.array([1, None]),
        "1.0",
        ["a", "b"],
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, "m8[s]"),
        np.zeros(2, [("a", float)]),
        np.zeros(2, np.longdouble),
        None,
        {},
        [[1.0], [1.0, 2.0]],
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}",
)
def test_wrong_input_is_named(x: Any) -> None:
    for call in (sg.gelu, sg.gelu.slope, sg.gelu.curvature):
        with pytest.raises(TypeError, match="expected float16, bfloat16, float32 or float64"):
            call(x)
    with pytest.raises(TypeError, match="expected"):
        sg.gelu.backward(x, 1.0)
    with pytest.raises(TypeError, match=r"grad|expected"):
        sg.gelu.backward(np.ones(2), x)


@pytest.fixture
def no_tables() -> None:
    """Tables of 16-bit formats are made anew: NumPy's error state matters when they are made."""
    for cached in (tables.table, tables.slopes32, tables.exact_in_float32):
        cached.cache_clear()


def test_floating_point_errors_are_not_raised(activation: Activation, no_tables: None) -> None:
    calls = [{}, *({p.name: v} for p in activation.entry.parameters for v in p.tested[:1])]
    for dtype in DTYPES:
        x = np.array([-8.0, -0.5, -1e-4, 0.0, 1e-4, 0.5, 8.0], dtype)
        with np.errstate(all="raise"):
            new = Activation(activation.entry)
            for parameters in calls:
                for call in (new, new.slope, new.curvature):
                    assert call(x, **parameters).dtype == dtype
                assert new.backward(x, x, **parameters).dtype == dtype


@EACH_DTYPE
@pytest.mark.parametrize("name", sg.gated())
def test_floating_point_errors_are_not_raised_by_gated_functions(
    name: str, dtype: np.dtype[Any], no_tables: None
) -> None:
    x = np.array([-8.0, -0.5, -1e-4, 0.0, 1e-4, 0.5, 8.0], dtype)
    with np.errstate(all="raise"):
        new = Activation(sg.gated()[name].entry)
        for call in (new, new.slope, new.curvature):
            call(x, x)
            call(x, 1e-12)
        new.backward(x, x, x)


@EACH_DTYPE
def test_floating_point_errors_are_not_raised_for_extreme_parameters(
    dtype: np.dtype[Any], no_tables: None
) -> None:
    x = np.array([-1.0, 1.0], dtype)
    with np.errstate(all="raise"):
        for slope in (1e-30, 1e-42, 1e-60):
            assert sg.leaky_relu(x, slope=slope)[1] == 1
            assert sg.leaky_relu.backward(x, x, slope=slope)[1] == 1


def test_tensors_are_not_taken_for_arrays() -> None:
    import jax
    import torch

    with pytest.raises(TypeError, match=r"gradients.*device"):
        sg.gelu(jax.random.key(0))  # no array of numbers
    with pytest.raises(TypeError, match="expected two tensors"):
        sg.gelu.backward(np.ones(3), torch.ones(3))


def test_an_integer_beyond_float64() -> None:
    with pytest.raises(ValueError, match="beyond the largest float64"):
        sg.gelu(10**400)
    assert sg.relu(10**300) == 1e300


@st.composite
def shapes_of_out(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast, and one for `out` that may or may not fit."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    other = draw(hnp.broadcastable_shapes(shape, max_dims=3, min_side=0, max_side=3))
    out = draw(
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
        | hnp.broadcastable_shapes(shape, max_dims=4, min_side=0, max_side=3)
    )
    return shape, other, out


@settings(max_examples=150, deadline=None)
@given(shapes_of_out(), st.sampled_from([np.float16, np.float32, np.float64]), st.booleans())
def test_out_broadcasts_as_that_of_a_ufunc(
    shapes: tuple[tuple[int, ...], ...], dtype: Any, turned: bool
) -> None:
    rng = np.random.default_rng(3)
    x, y = (np.asarray(rng.standard_normal(shape).astype(dtype)) for shape in shapes[:2])
    out = np.full(shapes[2], 7, dtype, order="F" if turned else "C")
    for ours, numpys, inputs in (
        (sg.relu, np.positive, (x,)),
        (sg.relu.backward, np.multiply, (x, y)),
        (sg.glu, np.multiply, (x, y)),
    ):
        plain = np.asarray(ours(*inputs))
        try:
            numpys(*inputs, out=out.copy())
        except ValueError:
            with pytest.raises(ValueError, match=r"shape|broadcast"):
                ours(*inputs, out=out)
            assert (out == 7).all()
        else:
            assert ours(*inputs, out=out) is out
            assert np.array_equal(bits(out), bits(np.broadcast_to(plain, out.shape)))
        out[...] = 7


def test_out_that_is_wider_and_overlaps() -> None:
    memory = np.random.default_rng(4).standard_normal((4, 6))
    everything = slice(None)
    for index in (1, (everything, slice(2, 3)), (2, slice(3, 4)), -1, (1, slice(None, None, -1))):
        target = memory.copy()
        expected = np.broadcast_to(sg.gelu(memory[index].copy()), target.shape)
        assert sg.gelu(target[index], out=target) is target
        assert np.array_equal(target, expected)
    target = memory.copy()
    expected = np.broadcast_to(sg.gelu.backward(target[0].copy(), target[:, :1].copy()), (4, 6))
    sg.gelu.backward(target[0], target[:, :1], out=target)
    assert np.array_equal(target, expected)


def test_forms_of_out() -> None:
    x = np.ones(3)
    out = np.empty((2, 3))
    assert sg.gelu(x, out=(out,)) is out
    assert sg.gelu(x, out=(None,)).shape == np.exp(x, out=(None,)).shape == (3,)
    assert sg.gelu.backward(x, 2.0, out=(None,)).shape == (3,)
    assert sg.gelu(1.0, out=out) is out
    assert (out == sg.gelu(1.0)).all()
    tagged = np.empty((2, 3)).view(Tagged)
    assert sg.gelu(x, out=tagged) is tagged
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    ours, numpys = (f(masked, out=np.ma.zeros((3, 2))) for f in (sg.tanh, np.tanh))
    assert np.array_equal(ours.mask, numpys.mask)


def test_wrong_out_stays_untouched() -> None:
    x = np.ones((2, 3), np.float32)
    for out, error, message in [
        (np.full((3, 2), 7.0, np.float32), ValueError, r"\(3, 2\).*\(2, 3\)"),
        (np.full((2, 3), 7), TypeError, "int64.*float32"),
        ([0.0], TypeError, "list"),
        ((np.full((2, 3), 7.0, np.float32),) * 2, ValueError, "one result"),
    ]:
        with pytest.raises(error, match=message):
            sg.gelu(x, out=out)
        if isinstance(out, np.ndarray):
            assert (out == 7.0).all()
    out = np.full((2, 3), 7.0, np.float32)
    for call in (
        lambda: sg.elu(x, out=out, alpha=float("nan")),
        lambda: sg.elu(x, out=out, beta=1.0),
        lambda: sg.gelu(x, out=out, arithmetic="float16"),
        lambda: sg.gelu(x.astype(complex), out=out),
        lambda: sg.gelu.backward(x, np.ones(5, np.float32), out=out),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
        assert (out == 7.0).all()


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (float("inf"), ValueError, "finite"),
        (float("nan"), ValueError, "finite"),
        ("1", TypeError, "real number"),
        (None, TypeError, "real number"),
        (True, TypeError, "real number"),
        (1j, TypeError, "real number"),
        (np.array(["a", "b"]), TypeError, "real number"),
        (np.array([1.0, np.inf]), ValueError, "finite"),
    ],
)
def test_wrong_parameters_are_named(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sg.elu(1.0, alpha=value)


def test_parameters_out_of_range_and_unknown() -> None:
    with pytest.raises(ValueError, match=r"beta = 0\.0 is out of range: expected a finite number"):
        sg.softplus(1.0, beta=0)
    with pytest.raises(TypeError, match="gelu has no parameter 'alpha': its parameters: none"):
        sg.gelu(1.0, alpha=2)
    with pytest.raises(TypeError, match="elu has no parameter 'beta': its parameters: alpha"):
        sg.elu(1.0, beta=2)
    assert sg.elu(-1.0, alpha=np.float32(0.5)) == sg.elu(-1.0, alpha=0.5)
    assert sg.elu(-1.0, alpha=2) == sg.elu(-1.0, alpha=2.0)


def test_masked_arrays_as_with_a_ufunc() -> None:
    x = np.ma.masked_array([1.0, -2.0, 3.0], mask=[False, True, False], fill_value=9.0)
    ours, numpys = sg.tanh(x), np.tanh(x)
    assert type(ours) is type(numpys)
    assert np.array_equal(ours.mask, numpys.mask)
    assert np.allclose(ours.compressed(), numpys.compressed())
    assert ours.fill_value == numpys.fill_value
    grad = np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False])
    assert np.array_equal(sg.tanh.backward(x, grad).mask, [True, True, False])
    assert np.array_equal(sg.tanh.backward(x, 2.0).mask, x.mask)


class Tagged(np.ndarray):
    """A subclass that carries an attribute, as the NumPy manual shows."""

    def __array_finalize__(self, source: Any) -> None:
        self.tag = getattr(source, "tag", None)


def test_subclasses_as_with_a_ufunc() -> None:
    x = np.array([-1.0, 2.0]).view(Tagged)
    x.tag = "metres"
    for result, expected in ((sg.tanh(x), np.tanh(x)), (sg.tanh(x[0]), np.tanh(x[0]))):
        assert type(result) is type(expected)
        assert getattr(result, "tag", None) == getattr(expected, "tag", None)
    matrix = np.array([[1.0, 2.0]]).view(np.recarray)
    assert type(sg.tanh(matrix)) is type(np.tanh(matrix))
    out = np.empty(2).view(Tagged)
    result, expected = sg.tanh(np.ones(2), out=out), np.tanh(np.ones(2), out=out)
    assert (type(result), result is out) == (type(expected), expected is out)


class Declining:
    """A type whose __array_ufunc__ returns NotImplemented."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return NotImplemented


class Refusing:
    """A type that takes no part in ufuncs."""

    __array_ufunc__ = None


class Overriding:
    """A type that takes ufuncs over."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return ufunc.__name__, method, len(inputs), keywords, ufunc


def test_array_ufunc_protocol() -> None:
    with pytest.raises(TypeError, match="Refusing"):
        sg.gelu(Refusing())
    with pytest.raises(TypeError, match="Declining"):
        sg.gelu(Declining())
    assert sg.gelu.backward(Declining(), Overriding())[2] == 2
    name, method, count, keywords, ufunc = sg.elu(Overriding(), alpha=0.5)
    assert (name, method, count, keywords) == ("elu_of_parameters", "__call__", 2, {})
    assert ufunc(-1.0, 0.5) == sg.elu(-1.0, alpha=0.5)  # the parameters are operands
    out = np.empty(2)
    assert sg.gelu(Overriding(), out=out)[3] == {"out": (out,)}
    with pytest.raises(TypeError, match="elu has no parameter 'beta'"):
        sg.elu(Overriding(), beta=0.5)
    assert sg.gelu.backward(np.ones(2), Overriding())[2] == 2


def test_pandas_series_stay_series() -> None:
    series = pd.Series([-1.0, 2.0], index=["a", "b"], name="z")
    result = sg.relu(series)
    assert isinstance(result, pd.Series)
    assert result.name == "z"
    assert list(result.index) == ["a", "b"]
    assert list(result) == [0.0, 2.0]
    for call in (sg.gelu.slope, sg.gelu.curvature, lambda x: sg.gelu.backward(x, 2.0)):
        result = call(series)
        assert isinstance(result, pd.Series)
        assert list(result.index) == ["a", "b"]
    assert isinstance(sg.gelu.slope(pd.DataFrame({"a": [1.0]})), pd.DataFrame)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sg.elu(1.0, alpha=10**400), "beyond the largest"),
        (lambda: sg.gelu.backward(np.ones(2), 10**400), "beyond the largest"),
        (lambda: sg.gelu(1.0, arithmetic=["float64"]), "arithmetic"),
    ],
)
def test_values_out_of_range(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_parameters_of_any_real_type() -> None:
    expected = sg.elu(-1.0, alpha=0.5)
    for alpha in (np.float16(0.5), ml_dtypes.bfloat16(0.5), Fraction(1, 2), np.array(0.5)):
        assert sg.elu(-1.0, alpha=alpha) == expected
    with pytest.raises(TypeError, match="timedelta64"):
        sg.elu(-1.0, alpha=np.timedelta64(2, "s"))


@pytest.mark.parametrize("slope", [1e-36, 1e-40, 1e-46, 1e-300])
def test_tiny_parameters_keep_their_digits(slope: float) -> None:
    x = np.float32([-1e30, -3e38, -7.0])
    for result, exact in (
        (sg.leaky_relu(x, slope=slope), x.astype(np.float64) * slope),
        (sg.elu(x[2:], alpha=max(slope, 1e-300)), np.expm1(np.float64([-7.0])) * slope),
    ):
        assert np.array_equal(np.signbit(result), np.signbit(exact))
        assert np.allclose(result, exact, rtol=2e-7, atol=2**-149)
    assert sg.silu(np.float32(-np.inf), beta=slope) == 0


def test_formats_in_backward() -> None:
    assert sg.gelu.backward(1.0, np.ones(2, np.float32)).dtype == np.float32
    assert sg.gelu.backward(np.ones(2, np.float32), 1).dtype == np.float32
    assert sg.gelu.backward(np.ones(2, np.float32), np.ones(2)).dtype == np.float64
    with pytest.raises(TypeError, match="no common format"):
        sg.gelu.backward(np.ones(2, np.float16), np.ones(2, BFLOAT16))


def test_pickling_and_copying() -> None:
    assert pickle.loads(pickle.dumps(sg.gelu)) is sg.gelu
    assert copy.deepcopy(sg.gelu) is sg.gelu
    other = Activation(replace(sg.gelu.entry, value=sg.relu.entry.value))
    with pytest.raises(TypeError, match="not in the catalogue"):
        pickle.dumps(other)


def test_memory_order_is_kept() -> None:
    for order in MEMORY_ORDERS:
        x = np.ones((3, 4, 5), np.float32, order=order)  # type: ignore[call-overload]
        assert sg.gelu(x).flags[f"{order}_CONTIGUOUS"]
    x = np.ones((3, 4, 5)).transpose(1, 0, 2)
    assert sg.gelu(x).strides == np.exp(x).strides


def test_unknown_names_say_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"no 'gleu'; did you mean .*softgate\.gelu"):
        sg.gleu  # noqa: B018


@pytest.mark.exhaustive
def test_more_than_two_to_the_31_elements() -> None:
    x = np.zeros((1 << 31) + 100, np.float16)
    x[-1] = 1.0
    x[1 << 31] = -1.0
    sg.gelu(x, out=x)
    assert x[-1] == sg.gelu(np.float16(1.0))
    assert x[1 << 31] == sg.gelu(np.float16(-1.0))
    assert x[:1000].max() == 0


@pytest.mark.parametrize("name", list(sg.activations()))
def test_a_zero_keeps_its_sign_in_either_arithmetic(name: str) -> None:
    """LLVM moves a choice past a widening and loses -0 unless it is kept from it."""
    x = np.tile(np.float32([-0.0, 0.0]), 33)
    for quantity in ("value", "slope", "curvature"):
        function = getattr(sg.activations()[name], "__call__" if quantity == "value" else quantity)
        wide = function(x, arithmetic="float64")
        truth = function(x.astype(np.float64))
        assert np.array_equal(np.signbit(wide), np.signbit(truth))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "parameter"), [("prelu", "slope"), ("elu", "alpha"), ("hard_tanh", "low")]
)
def test_parameters_that_are_arrays(name: str, parameter: str, dtype: Any) -> None:
    """Each column has its own parameter; results are those of calls with one number."""
    activation = sg.activations()[name]
    x = (np.arange(-12.0, 12.0).reshape(8, 3) / 4).astype(dtype)
    values = np.array([0.25, 0.5, 0.125], dtype)
    for quantity in ("value", "slope", "curvature", "backward"):
        method = activation if quantity == "value" else getattr(activation, quantity)
        operands = (x, x[::-1]) if quantity == "backward" else (x,)
        result = method(*operands, **{parameter: values})
        columns = [
            method(*(o[:, i] for o in operands), **{parameter: float(v)})
            for i, v in enumerate(values)
        ]
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.stack(columns, 1))


def test_prelu_with_slopes_of_any_shape() -> None:
    x = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)
    for shape in ((4,), (3, 1), (2, 3, 4), (5, 2, 3, 4)):
        slope = np.random.default_rng(3).uniform(0, 1, shape).astype(np.float32)
        result = sg.prelu(x, slope=slope)
        np.testing.assert_array_max_ulp(result, np.where(x > 0, x, slope * x), 1)
        wide_x, wide = np.broadcast_arrays(x, slope)
        pairs = zip(wide_x.ravel(), wide.ravel(), strict=True)
        expected = [sg.prelu(value, slope=float(factor)) for value, factor in pairs]
        np.testing.assert_array_equal(result.ravel(), expected)
    out = np.empty((2, 3, 4), np.float32)
    assert sg.prelu(x, slope=np.ones(4), out=out) is out
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"slope": np.array([0.1, np.nan])}, ValueError, "finite"),
        ({"slope": np.array(["a"])}, TypeError, "real numbers"),
        ({"slope": np.ones(5)}, ValueError, "do not broadcast"),
        ({"slop": np.ones(3)}, TypeError, "no parameter 'slop'"),
    ],
)
def test_wrong_arrays_of_parameters(
    parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sg.prelu(np.ones((2, 3)), **parameters)
    with pytest.raises(ValueError, match="greater than low in every element"):
        sg.hard_tanh(np.ones(2), low=np.array([0.0, 2.0]))


def test_signatures_name_operands_and_parameters() -> None:
    """As `help` shows them."""
    options = "out=None, arithmetic=None, **ufunc_options)"
    assert str(inspect.signature(sg.elu)) == f"(x, /, *, alpha=1.0, {options}"
    assert str(inspect.signature(sg.glu)) == f"(a, b=None, /, *, axis=None, gate=None, {options}"
