"""glu, reglu, geglu, geglu_tanh, swiglu: the contract, PyTorch's results, NumPy's manners."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gated_checks as checks
import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F

import softgate as sg
from softgate._gated import Curvature, Gated
from softgate.blocks import Kernel
from softgate.catalogue import Bound
from softgate.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format
from softgate.graph import Node

GATED = sg.gated()
EACH = pytest.mark.parametrize("gated", GATED.values(), ids=GATED)
SETS = [(g, {}) for g in GATED.values()] + [
    (g, {p.name: value}) for g in GATED.values() for p in g.entry.parameters for value in p.tested
]
EACH_SET = pytest.mark.parametrize(
    ("gated", "parameters"), SETS, ids=["-".join([g.name, *map(str, p.values())]) for g, p in SETS]
)
WIDE = pytest.mark.parametrize("fmt", [FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
NARROW = pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda fmt: fmt.name)
ALL = pytest.mark.parametrize(
    "fmt", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=lambda fmt: fmt.name
)
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
ACTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "glu": torch.sigmoid,
    "reglu": F.relu,
    "geglu": F.gelu,
    "geglu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "swiglu": F.silu,
}


def sample(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def bits(x: Any) -> Any:
    x = np.ascontiguousarray(x)
    return x.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[x.itemsize])


# The contract.


@WIDE
@EACH_SET
def test_value_against_arb(gated: Gated, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_value(gated, fmt, 2500, **parameters)


@WIDE
@EACH_SET
def test_slopes_against_arb(gated: Gated, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_slopes(gated, fmt, 1500, **parameters)


@EACH
def test_float32_in_bulk(gated: Gated) -> None:
    checks.check_bulk(gated, 150_000)


@EACH
@pytest.mark.parametrize("sign", [0, 1 << 31], ids=["right", "left"])
def test_some_gates_with_any_other(gated: Gated, sign: int) -> None:
    checks.check_all_gates(gated, sign | 0x40980000, sign | 0x40A00000)


@EACH
@pytest.mark.exhaustive
@pytest.mark.parametrize("sign", [0, 1 << 31], ids=["right", "left"])
def test_all_gates_with_any_other(gated: Gated, sign: int) -> None:
    """From 2**-20, below which everything is linear, to 128, beyond which it is again."""
    checks.check_all_gates(gated, sign | 0x35800000, sign | 0x43000000)


@EACH_SET
def test_curvature_against_arb(gated: Gated, parameters: dict[str, float]) -> None:
    checks.check_curvature(gated, **parameters)


@NARROW
@EACH_SET
def test_all_16bit_gates(gated: Gated, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_16bit(gated, fmt, **parameters)


@ALL
@EACH_SET
def test_special_values(gated: Gated, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_specials(gated, fmt, **parameters)


@EACH_SET
def test_rounded_once(gated: Gated, parameters: dict[str, float]) -> None:
    checks.check_rounded_once(gated, 600, **parameters)


@EACH_DTYPE
@EACH_SET
def test_backward(gated: Gated, parameters: dict[str, float], dtype: Any) -> None:
    checks.check_backward(gated, dtype, **parameters)


@EACH_DTYPE
@EACH
def test_same_bits(gated: Gated, dtype: Any) -> None:
    checks.check_same_bits(gated, dtype)


# PyTorch's results.


@EACH
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_torch_agrees(gated: Gated, axis: int) -> None:
    x, grad = sample(4, 6, 8), sample(4, 6, 8, seed=1)
    grad = np.split(grad, 2, axis)[0]
    tensor = torch.from_numpy(x).requires_grad_()
    first, second = tensor.chunk(2, axis)
    act = ACTS[gated.name]
    expected = first * act(second) if gated.name == "glu" else act(first) * second
    if gated.name == "glu":
        assert torch.equal(expected, F.glu(tensor, axis))
    expected.backward(torch.from_numpy(grad))
    assert tensor.grad is not None
    # torch's gelu loses digits left of 0.
    assert np.allclose(gated(x, axis=axis), expected.detach().numpy(), rtol=1e-14, atol=1e-15)
    found = gated.backward(x, grad, axis=axis)
    assert found.shape == x.shape
    assert np.allclose(found, tensor.grad.numpy(), rtol=1e-12, atol=1e-14)


@EACH
def test_torch_agrees_on_two_arrays(gated: Gated) -> None:
    a, b, grad = (sample(5, 7, seed=seed) for seed in range(3))
    for gate in ("first", "second"):
        ta, tb = (torch.from_numpy(x).requires_grad_() for x in (a, b))
        act = ACTS[gated.name]
        expected = act(ta) * tb if gate == "first" else ta * act(tb)
        expected.backward(torch.from_numpy(grad))
        value = expected.detach().numpy()
        assert np.allclose(gated(a, b, gate=gate), value, rtol=1e-14, atol=1e-15)
        for found, tensor in zip(gated.backward(a, b, grad, gate=gate), (ta, tb), strict=True):
            assert tensor.grad is not None
            assert np.allclose(found, tensor.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_which_operand_is_the_gate() -> None:
    """As Dauphin 2017 and the frameworks have glu, and Shazeer 2020 the others."""
    for name, gated in GATED.items():
        second = name == "glu"
        assert gated.entry.position == ("second" if second else "first")
        assert f"The {gated.entry.position} operand is the gate" in str(gated.__doc__)
        other = gated.bind(gate="first" if second else "second")
        assert gated(-1.0, 3.0) == other(3.0, -1.0) != gated(3.0, -1.0)
        x = sample(2, 6)
        assert np.array_equal(gated(x), other(np.roll(x, 3, axis=-1)))
        turned = gated(x, gate="first" if second else "second")
        assert np.array_equal(turned, other(x))
        slopes = gated.slope(x), np.roll(other.slope(np.roll(x, 3, axis=-1)), 3, axis=-1)
        assert np.array_equal(*slopes)
        one, two = gated.curvature(x), other.curvature(np.roll(x, 3, axis=-1))
        assert np.array_equal(one.first, two.second)
        assert np.array_equal(one.mixed, two.mixed)
        assert np.array_equal(one.second, two.first)


# NumPy's manners.


@EACH_DTYPE
@EACH
def test_any_layout_gives_the_same_bits(gated: Gated, dtype: Any) -> None:
    a, b, grad = (sample(6, 8, dtype=dtype, seed=seed) for seed in range(3))
    value, slopes, backward = gated(a, b), gated.slope(a, b), gated.backward(a, b, grad)
    swapped = a if dtype is ml_dtypes.bfloat16 else a.astype(np.dtype(dtype).newbyteorder())
    wide = np.zeros((12, 16), dtype)
    wide[::2, ::2] = a
    for turned in (np.asfortranarray(a), swapped, wide[::2, ::2], a[::-1, ::-1][::-1, ::-1]):
        assert np.array_equal(bits(gated(turned, b)), bits(value))
        for found, expected in zip(gated.slope(turned, b), slopes, strict=True):
            assert np.array_equal(bits(found), bits(expected))
        for found, expected in zip(gated.backward(turned, b, grad), backward, strict=True):
            assert np.array_equal(bits(found), bits(expected))
    for turned in (np.asfortranarray(a), swapped, wide[::2, ::2]):
        assert np.array_equal(bits(gated(turned, axis=0)), bits(gated(a, axis=0)))
        half = grad[:, :4]
        assert np.array_equal(bits(gated.backward(turned, half)), bits(gated.backward(a, half)))


@EACH
def test_broadcasting_numbers_and_lists(gated: Gated) -> None:
    a, b = sample(3, 1, dtype=np.float32), sample(5, dtype=np.float32, seed=1)
    full = [np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b)]
    assert np.array_equal(gated(a, b), gated(*full))
    for found, expected in zip(gated.backward(a, b, 2.0), gated.backward(*full, 2.0), strict=True):
        assert found.shape == (3, 5)
        assert np.array_equal(found, expected)
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
def test_out(gated: Gated, dtype: Any) -> None:
    a, b, grad = (sample(40, dtype=dtype, seed=seed) for seed in range(3))
    value, backward = gated(a, b), gated.backward(a, b, grad)
    out = np.empty_like(a)
    assert gated(a, b, out=out) is out
    assert np.array_equal(bits(out), bits(value))
    for target in (np.empty(80, dtype)[::2], np.empty((40,), np.dtype(dtype).newbyteorder("<"))):
        assert gated(a, b, out=target) is target
        assert np.array_equal(bits(target), bits(value))
    outs = (np.empty_like(a), np.empty(80, dtype)[::2])
    found = gated.backward(a, b, grad, out=outs)
    assert all(x is y for x, y in zip(found, outs, strict=True))
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
        (lambda: sg.glu(np.ones(4), np.ones(4), axis=0), TypeError, "cuts one array"),
        (lambda: sg.glu(np.ones(4), None), TypeError, "accepted are"),
        (lambda: sg.glu(["a"], ["b"]), TypeError, "accepted are"),
        (lambda: sg.glu(np.ones(3), np.ones(4)), ValueError, r"a \(3,\), b \(4,\)"),
        (lambda: sg.glu.backward(np.ones(4), np.ones(3)), ValueError, r"grad has shape \(3,\)"),
        (lambda: sg.glu.backward(np.ones(4), np.ones((2, 2))), ValueError, r"a half of x has"),
        (lambda: sg.geglu(1.0, 1.0, beta=2.0), TypeError, "geglu has no parameter 'beta'.*none"),
        (lambda: sg.swiglu(1.0, 1.0, alpha=2.0), TypeError, "its parameters: beta"),
        (lambda: sg.swiglu(1.0, 1.0, beta="1"), TypeError, "swiglu's beta"),
        (lambda: sg.swiglu(1.0, 1.0, gate=1), ValueError, 'accepted are "first", "second"'),
        (lambda: sg.swiglu(torch.ones(4)), TypeError, "torch"),
        (lambda: sg.swiglu(np.ones(4), torch.ones(4)), TypeError, "torch"),
        (lambda: sg.swiglu(10**400, 1.0), ValueError, "beyond the largest"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


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
def test_identity_pickles_and_names(gated: Gated) -> None:
    assert getattr(sg, gated.name) is gated
    assert gated.name in dir(sg)
    assert pickle.loads(pickle.dumps(gated)) is gated
    assert copy.deepcopy(gated) is gated
    assert len({gated, gated}) == 1
    other = gated.bind(gate="second" if gated.entry.position == "first" else "first")
    assert pickle.loads(pickle.dumps(other)) is other
    assert gated.bind() is gated
    assert repr(gated).startswith(f"<softgate.{gated.name}(a, b")
    assert gated.entry.formula in str(gated.__doc__)
    assert gated.entry.paper in str(gated.__doc__)
    unknown = Gated(replace(gated.entry, both=lambda f, x: (x, x)))
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
    for found in results[1:]:
        for one, other in zip(found, results[0], strict=True):
            assert np.array_equal(bits(one), bits(other))
    assert np.array_equal(results[0][0], results[0][2])


def test_infinities_are_documented_and_so() -> None:
    """What is 0 times infinity: NaN, as IEEE has it; an activation that is not 0 gives infinity."""
    assert np.isnan(sg.swiglu(-np.inf, np.inf))
    assert sg.swiglu(-700.0, np.inf) == -np.inf
    assert np.signbit(sg.swiglu(-np.inf, 1.0))
    assert sg.reglu.backward(-1.0, np.inf, np.inf)[0] == 0
    assert "IEEE" in str(sg.swiglu.__doc__)


# Checks of the checks: one fault each, which must be seen.


def wrong(both: Callable[..., tuple[Node, Node]], **fields: Any) -> Gated:
    generous = {name: Bound(4.0, 4.0) for name in ("float32", "float64")}
    entry = replace(sg.geglu.entry, name="wrong", both=both, value=None, bounds=generous, **fields)
    return Gated(entry)


TRUE = sg.geglu.entry.both


def off(f: Kernel, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    shift = 16 * 2.0**-f.fmt.mantissa_bits
    inside = f.where(x < -2, 0, f.where(x < -1.5, shift, 0))
    return f.fma(value, inside, value), f.fma(slope, inside, slope)


def flipped(f: Kernel, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return value, f.where(x < -2, slope, f.where(x < -1.5, -slope, slope))


def no_sign(f: Kernel, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return value + 0, slope


def no_nan(f: Kernel, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return f.where(x.same(x), value, 0), slope


def flushed(f: Kernel, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return f.where(f.abs(value) < 2.0**-100, 0 * value, value), slope


def test_the_true_one_passes() -> None:
    true = wrong(TRUE)
    checks.check_value(true, FLOAT32, 1500)
    checks.check_slopes(true, FLOAT64, 800)
    checks.check_specials(true, FLOAT32)
    checks.check_bulk(true, 20_000)
    checks.check_16bit(true, FLOAT16)
    checks.check_same_bits(true, np.float32)


@pytest.mark.parametrize(
    ("form", "check"),
    [
        (off, lambda g: checks.check_value(g, FLOAT32, 2500)),
        (off, lambda g: checks.check_value(g, FLOAT64, 2500)),
        (off, lambda g: checks.check_slopes(g, FLOAT64, 1500)),
        (off, lambda g: checks.check_bulk(g, 150_000)),
        (off, lambda g: checks.check_all_gates(g, 0xBFC00000, 0xBFE00000)),
        (flipped, lambda g: checks.check_slopes(g, FLOAT32, 1500)),
        (flipped, lambda g: checks.check_backward(g, np.float32)),
        (flipped, lambda g: checks.check_backward(g, np.float16)),
        (no_sign, lambda g: checks.check_specials(g, FLOAT32)),
        (no_nan, lambda g: checks.check_specials(g, FLOAT64)),
        (no_nan, lambda g: checks.check_16bit(g, BFLOAT16)),
        (flushed, lambda g: checks.check_value(g, FLOAT32, 2500)),
        (flushed, lambda g: checks.check_16bit(g, BFLOAT16)),
    ],
)
def test_a_fault_is_seen(form: Any, check: Any) -> None:
    with pytest.raises(AssertionError):
        check(wrong(form))


def test_other_faults_are_seen() -> None:
    with pytest.raises(AssertionError):  # the derivative of something else
        checks.check_curvature(wrong(TRUE, act=replace(sg.gelu.entry, slope=sg.gelu.entry.value)))
    loose = Gated(replace(sg.geglu.entry, bounds={"float32": Bound(5.0, 5.0)}))
    with pytest.raises(AssertionError, match=r"states 5\.0 ulp"):
        checks.check_value(loose, FLOAT32, 100)

    class Positional(Gated):
        def __call__(self, *operands: Any, **keywords: Any) -> Any:
            y = np.array(super().__call__(*operands, **keywords))
            if y.size > 32:
                y[32:] = np.nextafter(y[32:], np.float32(0))
            return y

    with pytest.raises(AssertionError):
        checks.check_same_bits(Positional(sg.geglu.entry), np.float32)


def test_curvature_is_a_named_tuple() -> None:
    found = sg.glu.curvature(sample(2, 4))
    assert isinstance(found, Curvature)
    assert {x.shape for x in found} == {(2, 2)}
    assert not found.first.any()
