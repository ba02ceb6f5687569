"""The numeric contract, for every activation there is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import checks
import ml_dtypes
import numpy as np
import pytest

import softgate as sg
from softgate.formula.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format, format_of, ulp
from softgate.lower import exact
from softgate.runtime import tables
from softgate.runtime.activation import Activation
from softgate.runtime.routes import Route
from softgate.runtime.tables import truth_graph
from softgate.studies import accuracy

VALUE_AND_SLOPE = ("value", "slope")
EACH_QUANTITY = pytest.mark.parametrize("quantity", VALUE_AND_SLOPE)
FORMATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
Variant = tuple[Activation, dict[str, float]]


@pytest.fixture(scope="module", autouse=True)
def _every_table_is_cached() -> Iterator[None]:
    """Build each table once: tests of `activation` run long after those of `variant`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "table", cache(tables.table.__wrapped__))
        yield


@EACH_QUANTITY
def test_within_the_bound_of_arb(variant: Variant, quantity: str) -> None:
    activation, parameters = variant
    for fmt in (FLOAT32, FLOAT64):
        checks.check_against_arb(activation, quantity, fmt, 2500, **parameters)


@EACH_QUANTITY
def test_float32_sample(variant: Variant, quantity: str) -> None:
    activation, parameters = variant
    checks.check_float32_sample(activation, quantity, 100_000, **parameters)


@EACH_QUANTITY
def test_arithmetic_in_float64_rounds_once(variant: Variant, quantity: str) -> None:
    activation, parameters = variant
    checks.check_rounded_once(activation, quantity, 1500, **parameters)


@EACH_QUANTITY
@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
def test_16_bits_are_correctly_rounded(variant: Variant, quantity: str, fmt: Format) -> None:
    # At a random part of the inputs: the digests of test_reproducibility pin the results at all of
    # them, and `make exhaustive` compares all with arb.
    activation, parameters = variant
    checks.check_16bit(activation, quantity, fmt, every=32 if parameters else 8, **parameters)


@pytest.mark.exhaustive
@EACH_QUANTITY
@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
def test_16_bits_are_correctly_rounded_at_all_parameters(
    variant: Variant, quantity: str, fmt: Format
) -> None:
    activation, parameters = variant
    checks.check_16bit(activation, quantity, fmt, **parameters)


def test_special_values(variant: Variant) -> None:
    activation, parameters = variant
    for quantity in (*VALUE_AND_SLOPE, "curvature"):
        for fmt in FORMATS:
            checks.check_specials(activation, quantity, fmt, **parameters)


def test_the_same_bits_everywhere(activation: Activation) -> None:
    for quantity in (*VALUE_AND_SLOPE, "curvature"):
        for dtype in checks.KINDS.values():
            checks.check_same_bits(activation, quantity, dtype)


def test_curvature_against_arb(variant: Variant) -> None:
    activation, parameters = variant
    values = dict(activation.check_parameters(parameters))
    graph = truth_graph(activation.entry, "curvature")
    tiny = np.logspace(-300, -3, 40)
    x = np.concatenate([np.linspace(-12, 12, 401), tiny, -tiny, [-300.0, -30.0, 30.0, 300.0]])
    truth = np.array([float(exact.truth(graph, 60, x=float(p), **values).mid()) for p in x])
    computed = activation.curvature(x, **parameters)
    # Relative to the size of the curvature nearby, so that its roots do not count.
    away = np.abs(x) > 0.01
    scale = np.where(away, np.maximum(np.abs(truth), 1e-3 * np.exp(-x * x)), np.abs(truth))
    assert np.max(np.abs(computed - truth) / np.maximum(scale, 1e-300)) < 1e-11
    short = x[np.abs(x) > 1e-30].astype(np.float32)
    with np.errstate(over="ignore"):  # exp(300)
        single = activation.curvature(short, **parameters)
        wide = activation.curvature(short.astype(np.float64), **parameters).astype(np.float32)
    assert single.dtype == np.float32
    assert np.array_equal(single, wide)


def test_backward_is_slope_times_grad(variant: Variant) -> None:
    activation, parameters = variant
    rng = np.random.default_rng(6)
    for dtype, tolerance in ((np.float32, 2.0**-23), (np.float64, 2.0**-52)):
        x = (rng.standard_normal(5000) * 3).astype(dtype)
        grad = rng.standard_normal(5000).astype(dtype)
        product = activation.slope(x, **parameters) * grad
        backward = activation.backward(x, grad, **parameters)
        assert backward.dtype == dtype
        assert np.allclose(backward, product, rtol=tolerance, atol=0)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        x, grad = (rng.standard_normal((2, 5000)) * 3).astype(dtype)
        exact = activation.slope(x.astype(np.float64), **parameters) * grad.astype(np.float64)
        with np.errstate(over="ignore"):
            backward = activation.backward(x, grad, **parameters).astype(np.float64)
        eps = float(ml_dtypes.finfo(dtype).eps)
        smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        small = np.abs(exact) < float(ml_dtypes.finfo(dtype).max)  # exp(12) is not in float16
        allowed = 0.501 * eps * np.abs(exact) + 0.51 * smallest
        assert np.all(np.abs(backward - exact)[small] <= allowed[small])


CHEAP = [
    (activation, quantity, fmt)
    for activation in sg.activations().values()
    for quantity, formats in activation.entry.cheap.items()
    for fmt in formats
]


@pytest.mark.parametrize(
    "cheap", CHEAP, ids=lambda cheap: f"{cheap[0].name}-{cheap[1]}-{cheap[2].name}"
)
def test_what_arithmetic_does_sooner_needs_no_table(cheap: tuple[Activation, str, Format]) -> None:
    function, quantity, fmt = cheap
    # A value or slope that is not correctly rounded by arithmetic would come from a table.
    assert not Route(function.entry, quantity, fmt).uses_table


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda d: d.__name__)
def test_16_bit_backward_within_an_ulp_at_every_input(activation: Activation, dtype: Any) -> None:
    """Infinite and NaN x included; grad = 1 and -3 are exact, so only the slope can err."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    # float32 is computed at the NaNs of x, signalling ones included, and 2·x overflows.
    with np.errstate(invalid="ignore", over="ignore"):
        slope = activation.slope(x.astype(np.float32), arithmetic="float64").astype(np.float64)
        for factor in (1.0, -3.0):
            expected = (slope * factor).astype(dtype).astype(np.float64)
            result = activation.backward(x, np.full(x.shape, factor, dtype)).astype(np.float64)
            if activation.name == "identity":
                assert np.all(result == factor)
                continue
            assert np.array_equal(np.isnan(result), np.isnan(expected))
            number = np.isfinite(expected)
            assert np.array_equal(result[~number], expected[~number], equal_nan=True)
            unit = ulp(expected[number], format_of(np.dtype(dtype)))
            assert np.all(np.abs(result[number] - expected[number]) <= unit)


@pytest.mark.parametrize(
    "dtype",
    [np.float16, ml_dtypes.bfloat16, np.float32, np.float64],
    ids=lambda dtype: dtype.__name__,
)
def test_the_gradient_is_the_slope(activation: Activation, dtype: Any) -> None:
    """What is certified is the slope; what training runs is `backward`."""
    if np.dtype(dtype).itemsize == 2:
        x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    else:
        ends = np.concatenate(
            [np.linspace(*interval, 1000) for interval in activation.entry.intervals]
        )
        x = np.concatenate([ends, -np.logspace(-40, 4, 4000), np.logspace(-40, 4, 4000)])
        x = np.append(x, [0.0, -0.0, np.inf, -np.inf]).astype(dtype)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        x = x[~np.isnan(x)]
        slope, gradient = activation.slope(x), activation.backward(x, np.ones_like(x))
        wide, expected = gradient.astype(np.float64), slope.astype(np.float64)
    assert np.array_equal(wide, expected, equal_nan=True)  # a slope of -0 times 1 may be 0


def test_backward_of_identity_is_grad() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        grad = np.array([1.5, -0.0, np.inf, np.nan], dtype)
        result = sg.identity.backward(np.full(4, np.nan, dtype), grad)
        assert result is not grad
        assert result.tobytes() == grad.tobytes()


def test_symmetry_is_exact(variant: Variant) -> None:
    activation, parameters = variant
    for quantity in VALUE_AND_SLOPE:
        for fmt in (FLOAT32, FLOAT64):
            checks.check_odd(activation, quantity, fmt, **parameters)


def test_clipped_functions_are_each_other() -> None:
    x = np.random.default_rng(8).standard_normal(2000).astype(np.float32) * 4
    for quantity in ("value", "slope"):
        relu6 = checks.call(sg.relu6, quantity, x)
        assert np.array_equal(checks.call(sg.hard_tanh, quantity, x, low=0.0, high=6.0), relu6)
        relu = checks.call(sg.relu, quantity, x)
        assert np.array_equal(checks.call(sg.squareplus, quantity, x, b=0.0), relu)
        assert np.array_equal(checks.call(sg.celu, quantity, x), checks.call(sg.elu, quantity, x))
    assert np.array_equal(sg.softshrink(x, threshold=0.0), x)
    assert np.array_equal(sg.hardshrink(x, threshold=0.0), x)
    assert np.array_equal(sg.identity(x), x)


def test_a_bound_between_two_floats_is_compared_exactly() -> None:
    """0.3 lies between two float32 numbers: the one below is inside, the one above is not."""
    above = np.float32(0.3)  # 0.30000001192092896
    below = np.nextafter(above, np.float32(0))
    pair = np.array([below, above])
    assert sg.hard_tanh.slope(pair, high=0.3).tolist() == [1, 0]
    assert sg.hard_tanh.slope(-pair, low=-0.3).tolist() == [1, 0]
    assert sg.softshrink.slope(pair, threshold=0.3).tolist() == [0, 1]
    assert sg.hardshrink(pair, threshold=0.3).tolist() == [0, float(above)]
    assert sg.hard_sigmoid.slope(pair, width=0.6).astype(bool).tolist() == [True, False]
    exact = (float(above) - 0.3, float(below) - 0.3)
    assert float(sg.softshrink(above, threshold=0.3)) == float(np.float32(exact[0]))
    corner = sg.hard_sigmoid(-below, width=0.6)
    assert float(corner) == pytest.approx(-exact[1] / 0.6, rel=1e-6)


@pytest.mark.parametrize("b", [1e-300, 5e-324, 1e29])
def test_squareplus_is_exact_however_small_or_large_b_is(b: float) -> None:
    """b and x² may underflow or overflow long before the result does."""
    middle = np.logspace(-3, 3, 25) * np.sqrt(b)
    x = np.concatenate([middle, -middle, [0.0, -1.0, 1.0, -1e-300, 1e300, -1e300]])
    for quantity in ("value", "slope"):
        y = checks.call(sg.squareplus, quantity, x, b=b)
        errors = accuracy.Reference(sg.squareplus.entry, quantity, {"b": b}).against_arb(
            x, y, FLOAT64
        )
        checks.holds(errors, 3.0, f"squareplus {quantity} with b = {b}")
    assert float(sg.squareplus.curvature(0.0, b=b)) == pytest.approx(0.5 / np.sqrt(b), rel=1e-12)


def test_parameters_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match=r"low = 2\.0 and high = 1\.0: high must be greater"):
        sg.hard_tanh(1.0, low=2.0)
    with pytest.raises(ValueError, match="high must be greater than low"):
        sg.hard_tanh.bind(low=1.0, high=1.0)
    assert float(sg.hard_tanh.bind(low=2.0, high=3.0)(9.0)) == 3
    for shrink in (sg.softshrink, sg.hardshrink):
        with pytest.raises(ValueError, match=r"threshold = -0\.5 is out of range: .* >= 0"):
            shrink(1.0, threshold=-0.5)
    with pytest.raises(ValueError, match=r"b = -1\.0 is out of range"):
        sg.squareplus(1.0, b=-1.0)
    with pytest.raises(ValueError, match=r"width = 0\.0 is out of range"):
        sg.hard_sigmoid(1.0, width=0.0)
    with pytest.raises(ValueError, match=r"alpha = -1\.0 is out of range"):
        sg.celu(1.0, alpha=-1.0)


def test_selu_has_the_constants_of_the_paper() -> None:
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    assert float(sg.selu(1.0)) == scale
    assert float(sg.selu(-100.0)) == pytest.approx(-alpha * scale, rel=1e-15)


def test_every_entry_says_what_it_is(activation: Activation) -> None:
    entry = activation.entry
    assert entry.paper
    assert entry.formula
    assert entry.intervals
    assert entry.name in repr(activation)
    assert entry.paper in str(activation.__doc__)
    for parameter in entry.parameters:
        parameter.check(parameter.default)
        assert parameter.tested, f"{entry.name}'s {parameter.name} is tested at its default only"
