"""The numeric contract, for every activation there is."""

from __future__ import annotations

from typing import Any

import checks
import ml_dtypes
import numpy as np
import pytest

from softgate._activation import Activation
from softgate.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format
from softgate.lower import arb
from softgate.tables import truth_graph

VALUE_AND_SLOPE = pytest.mark.parametrize("quantity", ["value", "slope"])
ALL = pytest.mark.parametrize("quantity", ["value", "slope", "curvature"])
Variant = tuple[Activation, dict[str, float]]


@VALUE_AND_SLOPE
@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT64], ids=["float32", "float64"])
def test_within_the_bound_of_arb(variant: Variant, quantity: str, fmt: Format) -> None:
    activation, parameters = variant
    checks.check_against_arb(activation, quantity, fmt, 2500, **parameters)


@VALUE_AND_SLOPE
def test_float32_sample(variant: Variant, quantity: str) -> None:
    activation, parameters = variant
    checks.check_float32_sample(activation, quantity, 400_000, **parameters)


@VALUE_AND_SLOPE
def test_arithmetic_in_float64_rounds_once(variant: Variant, quantity: str) -> None:
    activation, parameters = variant
    checks.check_rounded_once(activation, quantity, 1500, **parameters)


@VALUE_AND_SLOPE
@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
def test_16_bits_are_correctly_rounded(variant: Variant, quantity: str, fmt: Format) -> None:
    activation, parameters = variant
    checks.check_16bit(activation, quantity, fmt, **parameters)


@ALL
@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
def test_special_values(variant: Variant, quantity: str, fmt: Format) -> None:
    activation, parameters = variant
    checks.check_specials(activation, quantity, fmt, **parameters)


@ALL
@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64], ids=lambda d: d.__name__
)
def test_the_same_bits_everywhere(activation: Activation, quantity: str, dtype: Any) -> None:
    checks.check_same_bits(activation, quantity, dtype)


def test_curvature_against_arb(variant: Variant) -> None:
    activation, parameters = variant
    values = dict(activation.check_parameters(parameters))
    graph = truth_graph(activation.entry, "curvature")
    tiny = np.logspace(-300, -3, 40)
    x = np.concatenate([np.linspace(-12, 12, 401), tiny, -tiny, [-300.0, -30.0, 30.0, 300.0]])
    truth = np.array([float(arb.truth(graph, 60, x=float(p), **values).mid()) for p in x])
    computed = activation.curvature(x, **parameters)
    # Relative to the size of the curvature nearby, so that its roots do not count.
    away = np.abs(x) > 0.01
    scale = np.where(away, np.maximum(np.abs(truth), 1e-3 * np.exp(-x * x)), np.abs(truth))
    assert np.max(np.abs(computed - truth) / np.maximum(scale, 1e-300)) < 1e-11
    short = x[np.abs(x) > 1e-30].astype(np.float32)
    single = activation.curvature(short, **parameters)
    assert single.dtype == np.float32
    wide = activation.curvature(short.astype(np.float64), **parameters)
    assert np.array_equal(single, wide.astype(np.float32))


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
        backward = activation.backward(x, grad, **parameters).astype(np.float64)
        eps = float(ml_dtypes.finfo(dtype).eps)
        smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        assert np.all(np.abs(backward - exact) <= 0.501 * eps * np.abs(exact) + 0.51 * smallest)


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
