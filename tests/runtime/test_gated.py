"""Gated activations: the numeric contract and PyTorch's results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gated_checks as checks
import ml_dtypes
import numpy as np
import pytest

import softgate as sg
from softgate.blocks import KernelArithmetic
from softgate.catalogue import Entry, ErrorBound, gelu
from softgate.catalogue.gated import gated as gated_entry
from softgate.formula.formats import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Format,
    all_values,
    dtype_of,
    round_to,
)
from softgate.formula.graph import Node
from softgate.runtime.activation import Activation, Curvature

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


def sample(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def bits(x: Any) -> Any:
    x = np.ascontiguousarray(x)
    return x.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[x.itemsize])


# The contract.


@WIDE
@EACH_SET
def test_value_against_arb(gated: Activation, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_value(gated, fmt, 2500, **parameters)


@WIDE
@EACH_SET
def test_slopes_against_arb(gated: Activation, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_slopes(gated, fmt, 1500, **parameters)


@EACH
def test_float32_in_bulk(gated: Activation) -> None:
    checks.check_bulk(gated, 150_000)


@EACH
@pytest.mark.parametrize("sign", [0, 1 << 31], ids=["right", "left"])
def test_some_gates_with_any_other(gated: Activation, sign: int) -> None:
    checks.check_all_gates(gated, sign | 0x40980000, sign | 0x40A00000)


@EACH
@pytest.mark.exhaustive
@pytest.mark.parametrize("sign", [0, 1 << 31], ids=["right", "left"])
def test_all_gates_with_any_other(gated: Activation, sign: int) -> None:
    """From 2**-20, below which everything is linear, to 128, beyond which it is again."""
    checks.check_all_gates(gated, sign | 0x35800000, sign | 0x43000000)


@EACH_SET
def test_curvature_against_arb(gated: Activation, parameters: dict[str, float]) -> None:
    checks.check_curvature(gated, **parameters)


@NARROW
@EACH_SET
def test_all_16bit_gates(gated: Activation, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_16bit(gated, fmt, **parameters)


@ALL
@EACH_SET
def test_special_values(gated: Activation, parameters: dict[str, float], fmt: Format) -> None:
    checks.check_specials(gated, fmt, **parameters)


@EACH_SET
def test_rounded_once(gated: Activation, parameters: dict[str, float]) -> None:
    checks.check_rounded_once(gated, 600, **parameters)


@EACH_DTYPE
@EACH_SET
def test_backward(gated: Activation, parameters: dict[str, float], dtype: Any) -> None:
    checks.check_backward(gated, dtype, **parameters)


# PyTorch's results.


def torch_product(name: str) -> Callable[[Any, Any], Any]:
    """The function of gate and other operand in torch's operators."""
    nn = pytest.importorskip("torch.nn.functional")

    def clamped(gate: Any, other: Any) -> Any:
        g = gate.clamp(max=7.0)
        return g * nn.sigmoid(1.702 * g) * (other.clamp(-7.0, 7.0) + 1)

    products: dict[str, Callable[[Any, Any], Any]] = {
        "glu": lambda x, other: nn.sigmoid(x) * other,
        "reglu": lambda x, other: nn.relu(x) * other,
        "geglu": lambda x, other: nn.gelu(x) * other,
        "geglu_tanh": lambda x, other: nn.gelu(x, approximate="tanh") * other,
        "swiglu": lambda x, other: nn.silu(x) * other,
        "clamped_swiglu": clamped,
    }
    return products[name]


@EACH
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_torch_agrees(gated: Activation, axis: int) -> None:
    torch, product = pytest.importorskip("torch"), torch_product(gated.name)
    x, grad = sample(4, 6, 8), sample(4, 6, 8, seed=1)
    grad = np.split(grad, 2, axis)[0]
    tensor = torch.from_numpy(x).requires_grad_()
    first, second = tensor.chunk(2, axis)
    expected = product(second, first) if gated.name == "glu" else product(first, second)
    if gated.name == "glu":
        assert torch.equal(expected, torch.nn.functional.glu(tensor, axis))
    expected.backward(torch.from_numpy(grad))
    assert tensor.grad is not None
    # torch's gelu loses digits left of 0.
    assert np.allclose(gated(x, axis=axis), expected.detach().numpy(), rtol=1e-14, atol=1e-15)
    result = gated.backward(x, grad, axis=axis)
    assert result.shape == x.shape
    assert np.allclose(result, tensor.grad.numpy(), rtol=1e-12, atol=1e-14)


@EACH
def test_torch_agrees_on_two_arrays(gated: Activation) -> None:
    torch, product = pytest.importorskip("torch"), torch_product(gated.name)
    a, b, grad = (sample(5, 7, seed=seed) for seed in range(3))
    for gate in ("first", "second"):
        ta, tb = (torch.from_numpy(x).requires_grad_() for x in (a, b))
        expected = product(ta, tb) if gate == "first" else product(tb, ta)
        expected.backward(torch.from_numpy(grad))
        value = expected.detach().numpy()
        assert np.allclose(gated(a, b, gate=gate), value, rtol=1e-14, atol=1e-15)
        for result, tensor in zip(gated.backward(a, b, grad, gate=gate), (ta, tb), strict=True):
            assert tensor.grad is not None
            assert np.allclose(result, tensor.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_which_operand_is_the_gate() -> None:
    """As Dauphin 2017 and the frameworks have glu, and Shazeer 2020 the others."""
    for name, gated in GATED.items():
        second = name == "glu"
        assert gated.position(None) == ("second" if second else "first")
        assert f"The {gated.position(None)} operand is the gate" in str(gated.__doc__)
        other = gated.bind(gate="first" if second else "second")
        assert gated(-1.0, 3.0) == other(3.0, -1.0) != gated(3.0, -1.0)
        x = sample(2, 6)
        assert np.array_equal(gated(x), other(np.roll(x, 3, axis=-1)))
        turned = gated(x, gate="first" if second else "second")
        assert np.array_equal(turned, other(x))
        slopes = gated.slope(x), np.roll(other.slope(np.roll(x, 3, axis=-1)), 3, axis=-1)
        assert np.array_equal(*slopes)
        whole, two = gated.curvature(x), other.curvature(np.roll(x, 3, axis=-1))
        assert np.array_equal(whole.first, two.second)
        assert np.array_equal(whole.mixed, two.mixed)
        assert np.array_equal(whole.second, two.first)


def test_slopes_at_the_limits_are_those_of_torch_clamp() -> None:
    """1 at the limit, 0 beyond it; there, an infinite gradient of the result is cut off, too."""
    torch, product = pytest.importorskip("torch"), torch_product("clamped_swiglu")
    gate, other = (x.ravel() for x in np.meshgrid([6.9, 7.0, 7.1, np.inf], [-8, -7.0, 7.0, np.inf]))
    tensors = [torch.from_numpy(x).requires_grad_() for x in (gate, other)]
    product(*tensors).sum().backward()
    for result, tensor in zip(sg.clamped_swiglu.slope(gate, other), tensors, strict=True):
        assert tensor.grad is not None
        assert np.allclose(result, tensor.grad.numpy(), rtol=1e-14)
    by_gate, by_other = sg.clamped_swiglu.backward([7.0, 8.0], [8.0, 7.0], [np.inf, np.inf])
    assert by_gate.tolist() == [np.inf, 0.0]
    assert by_other.tolist() == [0.0, np.inf]
    assert "torch.clamp" in str(sg.clamped_swiglu.__doc__)


@EACH_DTYPE
def test_clamped_operands_propagate_nan(dtype: Any) -> None:
    gate, other = np.array([[np.nan, 1.0], [1.0, np.nan]], dtype)
    assert np.isnan(sg.clamped_swiglu(gate, other)).all()
    for slope in sg.clamped_swiglu.slope(gate, other):
        assert np.isnan(slope).all()


def test_a_limit_near_one_does_not_cancel() -> None:
    """1 - limit is the factor left of -limit: float32 keeps the digits of a limit of two floats."""
    limit = 1 + 2.0**-30
    result = sg.clamped_swiglu(np.float32(3.0), np.float32(-5.0), limit=limit)
    exact = sg.clamped_swiglu(np.float64(3.0), np.float64(-5.0), limit=limit)
    assert exact < 0
    assert result == pytest.approx(exact, rel=1e-6)


def test_infinities_are_documented_and_so() -> None:
    """What is 0 times infinity: NaN, as IEEE has it; an activation that is not 0 gives infinity."""
    assert np.isnan(sg.swiglu(-np.inf, np.inf))
    assert sg.swiglu(-700.0, np.inf) == -np.inf
    assert np.signbit(sg.swiglu(-np.inf, 1.0))
    assert sg.reglu.backward(-1.0, np.inf, np.inf)[0] == 0
    assert "IEEE" in str(sg.swiglu.__doc__)


# Checks of the checks: one fault each, which must be seen.


def wrong(both: Callable[..., tuple[Node, Node]], activation: Entry = sg.gelu.entry) -> Activation:
    generous = {name: ErrorBound(4.0, 4.0) for name in ("float32", "float64")}
    product = gated_entry(activation=activation, both=both, name="wrong", paper="", bounds=generous)
    return Activation(product)


TRUE = gelu.both


def off(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    shift = 16 * 2.0**-f.fmt.mantissa_bits
    inside = f.where(x < -2, 0, f.where(x < -1.5, shift, 0))
    return f.fma(value, inside, value), f.fma(slope, inside, slope)


def flipped(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return value, f.where(x < -2, slope, f.where(x < -1.5, -slope, slope))


def no_sign(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return value + 0, slope


def no_nan(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return f.where(x.same(x), value, 0), slope


def flushed(f: KernelArithmetic, x: Node) -> tuple[Node, Node]:
    value, slope = TRUE(f, x)
    return f.where(f.abs(value) < 2.0**-100, 0 * value, value), slope


def test_the_true_one_passes() -> None:
    true = wrong(TRUE)
    checks.check_value(true, FLOAT32, 1500)
    checks.check_slopes(true, FLOAT64, 800)
    checks.check_specials(true, FLOAT32)
    checks.check_bulk(true, 20_000)
    checks.check_16bit(true, FLOAT16)


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
        checks.check_curvature(wrong(TRUE, replace(sg.gelu.entry, slope=sg.gelu.entry.value)))
    loose = Activation(replace(sg.geglu.entry, bounds={"float32": ErrorBound(5.0, 5.0)}))
    with pytest.raises(AssertionError, match=r"states 5\.0 ulp"):
        checks.check_value(loose, FLOAT32, 100)


@NARROW
def test_16_bit_curvature_is_rounded_once(fmt: Format) -> None:
    """All inputs, signalling NaNs without a warning; bfloat16 not by way of float32."""
    gate = np.arange(1 << 16, dtype=np.uint16).view(dtype_of(fmt))
    other = np.full_like(gate, 1.5)
    wide = sg.swiglu.curvature(all_values(fmt), np.full(1 << 16, 1.5))
    for narrow, exact in zip(sg.swiglu.curvature(gate, other), wide, strict=True):
        expected = round_to(exact, fmt)
        assert np.array_equal(narrow.astype(np.float64), expected, equal_nan=True)


def test_curvature_is_a_named_tuple() -> None:
    result = sg.glu.curvature(sample(2, 4))
    assert isinstance(result, Curvature)
    assert {x.shape for x in result} == {(2, 2)}
    assert not result.first.any()
