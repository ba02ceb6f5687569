"""Gated activations on arrays: layouts, broadcasting, out=, subclasses, what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import checks
import ml_dtypes
import numpy as np
import pandas as pd
import pytest

import softgate as sg
from softgate.formula.formats import FLOAT64
from softgate.runtime.activation import Activation
from softgate.studies.accuracy import samples

GATED = sg.gated()
EACH = pytest.mark.parametrize("gated", GATED.values(), ids=GATED)
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)


def sample(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def bits(x: Any) -> Any:
    x = np.ascontiguousarray(x)
    return x.view(checks.UNSIGNED[x.itemsize])


def check_same_bits(gated: Activation, dtype: Any) -> None:
    """One pair's result depends on that pair alone: not on length, offset, stride or call form."""
    rng = np.random.default_rng(5)
    with np.errstate(over="ignore"):
        wide = np.concatenate([rng.standard_normal(150) * 4, samples.specials(FLOAT64), [-88.0]])
        a = wide.astype(dtype)
    b = np.roll(a, 7)
    whole = bits(gated(a, b))
    backward = [bits(x) for x in gated.backward(a, b, b)]
    for start in range(0, 20, 3):
        for stop in (start + 1, start + 7, start + 33, a.size):
            piece = slice(start, stop)
            assert np.array_equal(bits(gated(a[piece].copy(), b[piece].copy())), whole[piece])
            result = gated.backward(a[piece], b[piece], b[piece])
            assert all(
                np.array_equal(bits(x), y[piece]) for x, y in zip(result, backward, strict=True)
            )
    for step in (2, -3):
        assert np.array_equal(bits(gated(a[::step], b[::step])), whole[::step])
    rows = np.stack([a, b], axis=1).reshape(-1, 2, 1)[: a.size // 4 * 4]
    for width in (1, 3, 4, 40):
        number = a.size // width
        first, second = (x[: number * width].reshape(number, width) for x in (a, b))
        x = np.concatenate([first, second], axis=1)
        assert np.array_equal(bits(gated(x)).ravel(), whole[: number * width])
        split = bits(gated.backward(x, second))
        for half, expected in zip(np.split(split, 2, axis=1), backward, strict=True):
            assert np.array_equal(half.ravel(), expected[: number * width])
    assert np.array_equal(bits(gated(rows, axis=1)).ravel(), whole[: len(rows)])
    for name, target in (("a", a.copy()), ("b", b.copy())):
        operands = (target, b) if name == "a" else (a, target)
        assert gated(*operands, out=target) is target
        assert np.array_equal(bits(target), whole)


@EACH_DTYPE
@EACH
def test_same_bits(gated: Activation, dtype: Any) -> None:
    check_same_bits(gated, dtype)


def test_results_that_depend_on_the_position_are_seen() -> None:
    class Positional(Activation):
        def __call__(self, *operands: Any, **keywords: Any) -> Any:
            y = np.array(super().__call__(*operands, **keywords))
            if y.size > 32:
                y[32:] = np.nextafter(y[32:], np.float32(0))
            return y

    with pytest.raises(AssertionError):
        check_same_bits(Positional(sg.geglu.entry), np.float32)


@EACH_DTYPE
@EACH
def test_any_layout_gives_the_same_bits(gated: Activation, dtype: Any) -> None:
    a, b, grad = (sample(6, 8, dtype=dtype, seed=seed) for seed in range(3))
    value, slopes, backward = gated(a, b), gated.slope(a, b), gated.backward(a, b, grad)
    swapped = a if dtype is ml_dtypes.bfloat16 else a.astype(np.dtype(dtype).newbyteorder())
    wide = np.zeros((12, 16), dtype)
    wide[::2, ::2] = a
    for turned in (np.asfortranarray(a), swapped, wide[::2, ::2], a[::-1, ::-1][::-1, ::-1]):
        assert np.array_equal(bits(gated(turned, b)), bits(value))
        for result, expected in zip(gated.slope(turned, b), slopes, strict=True):
            assert np.array_equal(bits(result), bits(expected))
        for result, expected in zip(gated.backward(turned, b, grad), backward, strict=True):
            assert np.array_equal(bits(result), bits(expected))
    for turned in (np.asfortranarray(a), swapped, wide[::2, ::2]):
        assert np.array_equal(bits(gated(turned, axis=0)), bits(gated(a, axis=0)))
        half = grad[:, :4]
        assert np.array_equal(bits(gated.backward(turned, half)), bits(gated.backward(a, half)))


@EACH
def test_broadcasting_numbers_and_lists(gated: Activation) -> None:
    a, b = sample(3, 1, dtype=np.float32), sample(5, dtype=np.float32, seed=1)
    full = [np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b)]
    assert np.array_equal(gated(a, b), gated(*full))
    for result, expected in zip(gated.backward(a, b, 2.0), gated.backward(*full, 2.0), strict=True):
        assert result.shape == (3, 5)
        assert np.array_equal(result, expected)
    assert gated(a, 2).dtype == gated(2.0, a).dtype == np.float32
    assert gated(a, b.astype(np.float64)).dtype == np.float64
    assert type(gated(1, 2)) is np.float64
    assert type(gated(np.float16(1), 2)) is np.float16
    assert gated([1, 2], [3, 4]).dtype == np.float64
    assert gated([1, 2, 3, 4]).shape == (2,)
    assert gated(np.ones((2, 0)), np.ones((2, 0))).shape == (2, 0)
    assert gated(np.ones((0, 4))).shape == (0, 2)
    assert gated.backward(np.ones((3, 0)), np.ones((3, 0))).shape == (3, 0)
    with pytest.raises(TypeError, match=r"a is float16 and b bfloat16.*no common format"):
        gated(np.ones(2, np.float16), np.ones(2, ml_dtypes.bfloat16))


@EACH_DTYPE
@EACH
def test_out(gated: Activation, dtype: Any) -> None:
    a, b, grad = (sample(40, dtype=dtype, seed=seed) for seed in range(3))
    value, backward = gated(a, b), gated.backward(a, b, grad)
    out = np.empty_like(a)
    assert gated(a, b, out=out) is out
    assert np.array_equal(bits(out), bits(value))
    for target in (np.empty(80, dtype)[::2], np.empty((40,), np.dtype(dtype).newbyteorder("<"))):
        assert gated(a, b, out=target) is target
        assert np.array_equal(bits(target), bits(value))
    outs = (np.empty_like(a), np.empty(80, dtype)[::2])
    result = gated.backward(a, b, grad, out=outs)
    assert all(x is y for x, y in zip(result, outs, strict=True))
    assert all(np.array_equal(bits(x), bits(y)) for x, y in zip(outs, backward, strict=True))
    places = (a.copy(), b.copy())
    gated.backward(*places, grad, out=places)
    assert all(np.array_equal(bits(x), bits(y)) for x, y in zip(places, backward, strict=True))
    memory = np.concatenate([a, b])
    gated(memory[:40], memory[40:], out=memory[20:60])
    assert np.array_equal(bits(memory[20:60]), bits(value))
    x = np.concatenate([a, b])
    half, whole = gated(x), gated.backward(x, grad)
    assert gated(x.copy(), out=out) is out
    assert np.array_equal(bits(out), bits(half))
    target = x.copy()
    assert gated.backward(target, grad, out=target) is target
    assert np.array_equal(bits(target), bits(whole))
    target = x.copy()
    assert np.array_equal(bits(gated(target, out=target[30:70])), bits(half))


@EACH
def test_out_broadcasts(gated: Activation) -> None:
    a, b, grad = sample(3, 1), sample(4, seed=1), sample(3, 4, seed=2)
    wide = (2, 3, 4)
    out = np.empty(wide)
    assert gated(a, b, out=out) is out
    assert np.array_equal(out, np.broadcast_to(gated(a, b), wide))
    value, slopes, backward = gated(a, b), gated.slope(a, b), gated.backward(a, b, grad)
    for call, expected in (
        (lambda out: gated.slope(a, b, out=out), slopes),
        (lambda out: gated.backward(a, b, grad, out=out), backward),
    ):
        outs = (np.empty(wide), np.empty(wide, order="F"))
        assert all(x is y for x, y in zip(call(outs), outs, strict=True))
        single = (np.empty(wide), None)  # a new result is as wide as the one beside it
        for results in (outs, call(single)):
            for result, truth in zip(results, expected, strict=True):
                assert np.array_equal(result, np.broadcast_to(truth, wide))
        with pytest.raises(ValueError, match="shape"):
            call((np.empty(wide), np.empty((3, 4))))
    x = sample(3, 8, seed=3)
    half, whole = gated(x), gated.backward(x, grad)
    assert np.array_equal(gated(x, out=np.empty(wide)), np.broadcast_to(half, wide))
    assert np.array_equal(
        gated.backward(x, grad, out=np.empty((2, 3, 8))), np.broadcast_to(whole, (2, 3, 8))
    )
    memory = np.stack([x, x])
    assert np.array_equal(gated(memory[0], out=memory[:, :, 2:6]), np.broadcast_to(half, wide))
    memory = np.stack([grad, grad])
    gated(memory[0], memory[1, 0], out=memory)
    assert np.array_equal(memory, np.broadcast_to(gated(grad, grad[0]), wide))
    for wrong in ((4,), (3, 1), (3, 5), (2, 4)):
        target = np.full(wrong, 7.0)
        with pytest.raises(ValueError, match="does not broadcast"):
            gated(a, b, out=target)
        assert (target == 7).all()
    assert value.shape == (3, 4)


def test_the_same_array_everywhere() -> None:
    a = sample(50)
    expected = sg.swiglu(a, a.copy())
    assert np.array_equal(sg.swiglu(a, a, out=a), expected)


def test_wrong_out_stays_untouched() -> None:
    a, x = np.ones((2, 3), np.float32), np.ones((2, 6), np.float32)
    for call, error, message in (
        (lambda out: sg.glu(a, a, out=out), ValueError, r"shape \(3, 2\)"),
        (lambda out: sg.glu(x, out=out), ValueError, r"shape \(3, 2\)"),
        (lambda out: sg.glu.backward(a, a, a, out=(out, out)), ValueError, "shape"),
        (lambda out: sg.glu.backward(a, a, a, out=out), TypeError, "tuple of 2"),
        (lambda out: sg.glu(a, a, out=[out]), TypeError, "list"),
    ):
        out = np.full((3, 2), 7.0, np.float32)
        with pytest.raises(error, match=message):
            call(out)
        assert (out == 7).all()
    out = np.full((2, 3), 7.0, np.float32)
    for bad in (
        lambda: sg.swiglu(a, a, out=out, alpha=1.0),
        lambda: sg.swiglu(a, a, out=out, beta=float("nan")),
        lambda: sg.swiglu(a, a, out=out, gate="left"),
        lambda: sg.swiglu(a, a, out=out, arithmetic="float16"),
        lambda: sg.swiglu(a, np.ones(5), out=out),
        lambda: sg.swiglu.backward(x, np.ones(5), out=out),
        lambda: sg.swiglu.backward(a, a, a, out=(out, out)),
        lambda: sg.swiglu(a.astype(complex), a, out=out),
    ):
        with pytest.raises((TypeError, ValueError)):
            bad()
        assert (out == 7).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sg.glu(np.ones((2, 5))), ValueError, r"odd length 5 along axis 1.*\(2, 5\)"),
        (lambda: sg.glu(np.ones((2, 4)), axis=2), ValueError, "axis = 2 is out of range: x has 2"),
        (lambda: sg.glu(1.0), ValueError, "axis = -1 is out of range: x has 0"),
        (lambda: sg.glu(np.ones(4), axis=0.5), TypeError, "axis = 0.5: expected a whole"),
        (lambda: sg.glu(np.ones(4), np.ones(4), axis=0), TypeError, "splits one array"),
        (lambda: sg.glu(np.ones(4), None), TypeError, "expected"),
        (lambda: sg.glu(["a"], ["b"]), TypeError, "expected"),
        (lambda: sg.glu(np.ones(3), np.ones(4)), ValueError, r"a \(3,\), b \(4,\)"),
        (lambda: sg.glu.backward(np.ones(4), np.ones(3)), ValueError, r"grad has shape \(3,\)"),
        (lambda: sg.glu.backward(np.ones(4), np.ones((2, 2))), ValueError, r"a half of x has"),
        (lambda: sg.geglu(1.0, 1.0, beta=2.0), TypeError, "geglu has no parameter 'beta'.*none"),
        (lambda: sg.swiglu(1.0, 1.0, alpha=2.0), TypeError, "its parameters: beta"),
        (lambda: sg.swiglu(1.0, 1.0, beta="1"), TypeError, "swiglu's beta"),
        (lambda: sg.swiglu(1.0, 1.0, gate=1), ValueError, 'expected "first", "second"'),
        (lambda: sg.swiglu(10**400, 1.0), ValueError, "beyond the largest"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_an_array_beside_a_tensor_is_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="beside a tensor"):
        sg.swiglu(np.ones(4), torch.ones(4))


def test_masked_arrays() -> None:
    a = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], mask=[True, False, False, False])
    b = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], mask=[False, True, False, False])
    assert np.array_equal(sg.swiglu(a, b).mask, [True, True, False, False])
    for part in sg.swiglu.backward(a, b, 1.0):
        assert np.array_equal(part.mask, [True, True, False, False])
    assert np.array_equal(sg.swiglu(a).mask, [True, False])
    assert np.array_equal(sg.swiglu.slope(a).mask, [True, False, True, False])
    assert np.array_equal(sg.swiglu.slope(a).compressed(), sg.swiglu.slope(a.data)[[1, 3]])


class Tagged(np.ndarray):
    """A subclass without anything of its own."""


def test_subclasses_and_pandas() -> None:
    x = sample(3, 4).view(Tagged)
    for result in (sg.glu(x), sg.glu(x, x), sg.glu.slope(x), *sg.glu.backward(x, x, x)):
        assert type(result) is Tagged
    assert np.array_equal(sg.glu.slope(x), sg.glu.slope(np.asarray(x)))
    series = pd.Series([1.0, 2.0], index=["a", "b"])
    assert list(sg.swiglu(series, 2.0).index) == ["a", "b"]
    for part in sg.swiglu.backward(series, series, 1.0):
        assert isinstance(part, pd.Series)
    assert isinstance(sg.swiglu(pd.DataFrame({"a": [1.0], "b": [2.0]})), np.ndarray)


@EACH
def test_identity_pickles_and_names(gated: Activation) -> None:
    assert getattr(sg, gated.name) is gated
    assert gated.name in dir(sg)
    assert pickle.loads(pickle.dumps(gated)) is gated
    assert copy.deepcopy(gated) is gated
    assert len({gated, gated}) == 1
    other = gated.bind(gate="second" if gated.position(None) == "first" else "first")
    assert pickle.loads(pickle.dumps(other)) is other
    assert gated.bind() is gated
    assert repr(gated).startswith(f"<softgate.{gated.name}(a, b")
    assert gated.entry.formula in str(gated.__doc__)
    assert gated.entry.paper in str(gated.__doc__)
    unknown = Activation(replace(gated.entry, value=lambda f, a, b: a * b))
    with pytest.raises(TypeError, match="not in the catalogue"):
        pickle.dumps(unknown)


def test_parameters_of_the_gate() -> None:
    a, b = sample(20), sample(20, seed=1)
    assert dict(sg.swiglu.parameters) == {"beta": 1.0}
    assert np.allclose(sg.swiglu(a, b, beta=1.702), sg.silu(a, beta=1.702) * b, rtol=1e-15)
    assert np.array_equal(sg.swiglu.bind(beta=0.3)(a, b), sg.swiglu(a, b, beta=0.3))
    assert pickle.loads(pickle.dumps(sg.swiglu.bind(beta=0.3))) is sg.swiglu.bind(beta=0.3)
    small = sg.swiglu(a.astype(np.float16), b.astype(np.float16), beta=1e-40)
    assert np.allclose(small.astype(float), a.astype(np.float16) / 2 * b.astype(np.float16), 1e-3)


@pytest.mark.usefixtures("all_threads")
@pytest.mark.parametrize("width", [3, 1000, 100_001])
def test_the_same_bits_for_any_number_of_threads(width: int) -> None:
    x = sample(600_000 // width, 2 * width, dtype=np.float32)
    grad = np.ascontiguousarray(x[:, ::2])
    results = []
    for threads in (1, 2, 5):
        sg.set_threads(threads)
        a, b = np.split(x, 2, axis=1)
        results.append((sg.swiglu(x), sg.swiglu.backward(x, grad), sg.swiglu(a, b)))
    for result in results[1:]:
        for first, other in zip(result, results[0], strict=True):
            assert np.array_equal(bits(first), bits(other))
    assert np.array_equal(results[0][0], results[0][2])
