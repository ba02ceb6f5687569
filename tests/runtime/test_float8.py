"""Formats of at most 8 bits: all inputs against arb, rounding and limits of ml_dtypes."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from functools import cache
from typing import Any

import float8
import ml_dtypes
import numpy as np
import pytest

import softgate as sg
from softgate.formula.formats import BYTE_FORMATS
from softgate.runtime.activation import Activation
from softgate.runtime.tables import factors32, truth_graph

E4M3FN, E5M2 = float8.dtype("float8_e4m3fn"), float8.dtype("float8_e5m2")
POINTS = sorted(
    {
        float(x)
        for name in float8.NAMES
        for x in float8.patterns(name).astype(np.float64)
        if np.isfinite(x)
    }
)
rounding = cache(float8.Rounding)


def same(results: Any, expected: Any) -> Any:
    """Which results equal `expected`, NaN included."""
    wide = results.astype(np.float64)
    return (wide == expected) | (np.isnan(wide) & np.isnan(expected))


@pytest.mark.parametrize("name", float8.NAMES)
def test_constants_of_the_formats(name: str) -> None:
    fmt, finfo = BYTE_FORMATS[name], ml_dtypes.finfo(float8.dtype(name))
    assert (fmt.bits, fmt.mantissa_bits) == (finfo.bits, finfo.nmant)
    assert fmt.largest == float(finfo.max)
    assert 2.0**fmt.min_exponent == float(finfo.smallest_normal)
    assert 2.0**fmt.smallest_exponent == float(finfo.smallest_subnormal)
    for value in (0.7, -1.3, 1e9, -1e9, fmt.largest * (1 + 2.0**-fmt.precision / 2)):
        with np.errstate(all="ignore"):
            converted = np.array([fmt.round(Fraction(value)), value]).astype(float8.dtype(name))
        assert same(converted[:1], converted[1:].astype(np.float64)).all()


def test_all_inputs_are_correctly_rounded(activation: Activation) -> None:
    for quantity in ("value", "slope", "curvature"):
        check_all_inputs(activation, quantity)


def check_all_inputs(activation: Activation, quantity: str) -> None:
    """Results in every format are those of arb, rounded; limits and NaN are kept."""
    graph = truth_graph(activation.entry, quantity)
    truth = float8.truths(graph, POINTS, **activation.parameters)
    compute = activation if quantity == "value" else getattr(activation, quantity)
    for name in float8.NAMES:
        x = float8.patterns(name)
        wide = x.astype(np.float64)
        finite = np.isfinite(wide)
        y = compute(x)
        assert y.dtype == x.dtype
        exact = [truth[v] for v in wide[finite].tolist()]
        right = same(y[finite], rounding(name)(exact))
        assert right.all(), f"{quantity} in {name}: {x[finite][~right]} give {y[finite][~right]}"
        # A result that underflows has the sign of the truth, where the format has a -0.
        signed = np.array([abs(q) > float8.TINY for q in exact]) & ("uz" not in name)
        negative = np.array([q < 0 for q in exact])
        assert np.array_equal(np.signbit(y[finite][signed]), negative[signed])
        ends = np.isinf(wide)
        with np.errstate(all="ignore"):
            limits = compute(wide[ends]).astype(x.dtype).astype(np.float64)
        assert same(y[ends], limits).all()
        assert np.isnan(y[np.isnan(wide)].astype(np.float64)).all()


def check_backward(activation: Activation, name: str) -> None:
    """slope(x)·grad is correctly rounded for all pairs; of 8 bits, from float32 slopes too."""
    x = float8.patterns(name)
    wide = x.astype(np.float64)
    finite = np.flatnonzero(np.isfinite(wide))
    graph = truth_graph(activation.entry, "slope")
    slopes = float8.truths(graph, wide[finite], **activation.parameters)
    results = activation.backward(x[:, None], x[None])
    assert results.dtype == x.dtype
    assert not np.signbit(results[results == 0]).any()
    rounded, key = rounding(name), tuple(activation.parameters.items())
    factors = factors32(activation.entry, "slope", BYTE_FORMATS[name], key)
    grads = [Fraction(g) for g in wide[finite].tolist()]
    for i in finite:
        expected = rounded([slopes[float(wide[i])] * g for g in grads])
        assert same(results[i, finite], expected).all()
        if BYTE_FORMATS[name].bits < 8:
            continue
        with np.errstate(all="ignore"):
            products = (factors[i] * wide[finite].astype(np.float32)).astype(x.dtype)
        assert same(products, expected).all()


def test_backward_is_correctly_rounded(activation: Activation) -> None:
    check_backward(activation, "float6_e3m2fn")
    check_backward(activation, "float4_e2m1fn")


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3fnuz"])
def test_backward_of_8_bits(name: str) -> None:
    for activation in (sg.sigmoid, sg.squared_relu):
        check_backward(activation, name)


def test_the_first_calls_raise_no_floating_point_errors() -> None:
    """In a new process: NumPy's error state matters while tables are computed."""
    program = f"""
import ml_dtypes, numpy as np, softgate as sg
with np.errstate(all="raise"):
    for name in {float8.NAMES}:
        x = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))[:16]
        for f in sg.activations().values():
            for call in (f, f.slope, f.curvature):
                assert call(x).dtype == x.dtype
            assert f.backward(x, x).dtype == x.dtype
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_a_flat_slope_gives_zero_whatever_the_gradient_is() -> None:
    grad = np.array([np.inf, -np.inf, np.nan], E5M2)
    assert sg.relu.backward(np.full(3, -1.0, E5M2), grad).tobytes() == bytes(3)
    assert np.isnan(sg.gelu.backward(np.full(3, np.inf, E5M2), grad)[2])


def test_beyond_the_range_results_are_those_of_a_conversion_by_ml_dtypes() -> None:
    expected = {"float8_e4m3fn": np.nan, "float8_e5m2": np.inf, "float4_e2m1fn": 6.0}
    expected |= {"float8_e4m3fnuz": np.nan, "float6_e2m3fn": 7.5, "float8_e3m4": np.inf}
    for name, result in expected.items():
        largest = np.array([ml_dtypes.finfo(float8.dtype(name)).max], float8.dtype(name))
        assert same(sg.squared_relu(largest), np.array([result])).all(), name
    x = np.array([22.0, 20.0], E4M3FN)  # 484 is NaN, 400 is rounded to even
    assert np.isnan(sg.squared_relu(x)[0])
    assert sg.squared_relu(x)[1] == 384
    # Formats without -0 return 0.
    tiny = np.array([-1.0], ml_dtypes.float8_e4m3fnuz)
    assert sg.relu(tiny).tobytes() == sg.gelu(np.array([-240.0], tiny.dtype)).tobytes() == b"\0"


def test_nan_keeps_its_bits_and_is_quiet() -> None:
    for name in float8.NAMES:
        x = float8.patterns(name)
        nan = np.isnan(x.astype(np.float64))
        bits, results = x[nan].view(np.uint8), sg.gelu(x[nan]).view(np.uint8)
        if np.isinf(x.astype(np.float64)).any():
            bits = bits | (1 << (ml_dtypes.finfo(x.dtype).nmant - 1))
        assert np.array_equal(results, bits), name


def test_a_formula_that_is_nan_gives_the_nan_of_the_format() -> None:
    @sg.activation
    def root(f: Any, x: Any) -> Any:
        return f.sqrt(x)

    results = root(np.array([-1.0, 4.0], E4M3FN)).view(np.uint8)
    assert results.tolist() == [0x7F, np.array([2.0], E4M3FN).view(np.uint8)[0]]
    four = float8.dtype("float4_e2m1fn")
    assert root(np.array([-1.0, 4.0], four)).tolist() == [0.0, 2.0]  # it has no NaN


def test_shapes_strides_and_out() -> None:
    x = np.tile(float8.patterns("float8_e4m3fn"), 300).reshape(300, 16, 16)
    expected = sg.gelu(float8.patterns("float8_e4m3fn")).view(np.uint8)
    y = sg.gelu(x)
    assert np.array_equal(y.view(np.uint8), expected[x.view(np.uint8)])
    turned = x.transpose(2, 0, 1)[::2]
    assert np.array_equal(sg.gelu(turned).view(np.uint8), expected[turned.view(np.uint8)])
    out = x.copy()
    assert sg.gelu(out, out=out) is out
    assert out.tobytes() == y.tobytes()
    assert sg.gelu.backward(x, 0.5).dtype == x.dtype
    with pytest.raises(TypeError, match="out has dtype int32"):
        sg.gelu(x, out=np.empty(x.shape, np.int32))
    scalar = sg.gelu(E4M3FN.type(1.0))
    assert scalar == E4M3FN.type(0.8125)
    assert type(scalar) is E4M3FN.type


def test_parameters_and_arithmetic() -> None:
    x = np.array([-1.0, 2.0], E5M2)
    assert sg.leaky_relu(x, slope=0.5).tolist() == [-0.5, 2.0]
    assert sg.leaky_relu.bind(slope=0.5)(x, arithmetic="float64").tolist() == [-0.5, 2.0]
    assert sg.leaky_relu.backward(x, x, slope=0.5).tolist() == [-0.5, 2.0]


def test_explain() -> None:
    x = np.zeros(3, E4M3FN)
    table = "a table of the 256 float8_e4m3fn results, correctly rounded"
    assert sg.explain(x).computed_by == table
    products = "a table of float8_e4m3fn slopes times grad, correctly rounded"
    assert sg.explain(x, quantity="backward").computed_by == products
    four = np.zeros(3, ml_dtypes.float4_e2m1fn)
    assert "the 16 float4_e2m1fn results" in sg.explain(four).computed_by


def test_what_has_no_tables() -> None:
    for count in (3, 2000):
        powers = np.full(count, 2.0, ml_dtypes.float8_e8m0fnu)  # as integers, they become float64
        assert sg.gelu(powers).tolist() == [sg.gelu(2.0)] * count
    for operands in ((np.ones(4, E4M3FN),), (np.ones(4, E4M3FN), np.ones(4, E4M3FN))):
        with pytest.raises(TypeError, match=r"swiglu of float8_e4m3fn: .* convert the operands"):
            sg.swiglu(*operands)
    with pytest.raises(TypeError, match="no common format"):
        sg.gelu.backward(np.ones(3, E4M3FN), np.ones(3, E5M2))
