"""Users' formulas of two operands: values and derivatives against arb, calls, errors, pickles."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import softgate as sg
from softgate.lower import exact
from softgate.runtime.activation import Activation, Curvature


@sg.activation
def my_gate(f: Any, gate: Any, up: Any, limit: float = 7.0) -> Any:
    """Return silu(gate) times up, which is at most `limit`."""
    return gate * f.sigmoid(gate) * f.minimum(up, limit)


@sg.activation
def bump(f: Any, a: Any, b: Any) -> Any:
    return f.exp(-(a * a) - b * b) * f.tanh(a - b)


@sg.activation
def softmax_of_two(f: Any, a: Any, b: Any) -> Any:
    return 1 / (1 + f.exp(b - a))


FORMULAS = pytest.mark.parametrize(
    "function", [my_gate, bump, softmax_of_two], ids=lambda f: f.name
)
POINTS = [(-3.5, 0.25), (0.0, 8.0), (0.5, -0.75), (2.0, 2.0), (6.0, 1e-3)]


def truth(function: Activation, variables: tuple[str, ...], a: float, b: float) -> float:
    """Return a derivative of the definition by some operands."""
    first, second = function.entry.operands
    names = [{"a": first, "b": second}[variable] for variable in variables]
    root = function.entry.derivative(*names)
    point = {first: a, second: b, **function.parameters}
    return float(exact.truth(root, 80, **point).mid())


@FORMULAS
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_results_are_those_of_the_definition(
    function: Activation, point: tuple[float, float]
) -> None:
    def close(result: Any, *variables: str) -> bool:
        return bool(np.isclose(result, truth(function, variables, *point), rtol=4e-15, atol=1e-300))

    assert close(function(*point))
    by_a, by_b = function.slope(*point)
    assert close(by_a, "a")
    assert close(by_b, "b")
    curvature = function.curvature(*point)
    assert isinstance(curvature, Curvature)
    assert close(curvature.first, "a", "a")
    assert close(curvature.mixed, "a", "b")
    assert close(curvature.second, "b", "b")
    assert function.backward(*point, 2.0) == (2 * by_a, 2 * by_b)


@FORMULAS
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_narrow_arrays_are_rounded_from_float64(function: Activation, dtype: Any) -> None:
    a, b = (np.random.default_rng(seed).standard_normal(500).astype(dtype) for seed in (0, 1))
    wide = a.astype(np.float64), b.astype(np.float64)
    assert np.array_equal(function(a, b), function(*wide).astype(dtype))
    for result, exact_ in zip(function.slope(a, b), function.slope(*wide), strict=True):
        assert np.array_equal(result, exact_.astype(dtype))


@FORMULAS
def test_nan_of_each_operand_is_propagated(function: Activation) -> None:
    for operands in ((np.nan, 1.0), (1.0, np.nan)):
        assert np.isnan(function(*operands))
        assert np.isnan(function.slope(*operands)).all()


def test_halves_parameters_and_out() -> None:
    x = np.linspace(-4, 4, 24).reshape(4, 6)
    assert np.array_equal(my_gate(x), my_gate(x[:, :3], x[:, 3:]))
    assert np.array_equal(my_gate(x, axis=0), my_gate(x[:2], x[2:]))
    assert np.array_equal(my_gate.slope(x)[:, :3], my_gate.slope(x[:, :3], x[:, 3:])[0])
    assert my_gate(1.0, 20.0, limit=2.0) == my_gate.bind(limit=2.0)(1.0, 20.0) == my_gate(1.0, 2.0)
    limits = np.array([1.0, 2.0, 3.0])
    expected = [my_gate(1.0, 20.0, limit=limit) for limit in limits]
    assert my_gate(1.0, 20.0, limit=limits).tolist() == expected
    out = np.empty(3)
    assert my_gate(x[0, :3], x[0, 3:], out=out) is out
    assert pickle.loads(pickle.dumps(my_gate)) is my_gate
    assert pickle.loads(pickle.dumps(my_gate.bind(limit=2.0)))(1.0, 20.0) == my_gate(1.0, 2.0)


def test_it_is_described() -> None:
    assert repr(my_gate).endswith("my_gate(gate, up, limit=7) = gate*sigmoid(gate)*min(up, limit)>")
    assert "silu(gate)" in str(my_gate.__doc__)
    assert "my_gate of float64[3]: the float64 kernel" in str(
        sg.explain((1.0, np.ones(3)), my_gate)
    )
    assert "gate" in my_gate.latex
    assert "up" in my_gate.latex
    assert "<svg" not in my_gate._repr_html_()


@pytest.mark.parametrize("language", ["c", "js", "opencl"])
def test_it_is_emitted(language: str) -> None:
    text = sg.emit(my_gate, language)
    assert "my_gate(gate, up) = gate*sigmoid(gate)*min(up, limit)" in text


@pytest.mark.parametrize(
    ("operands", "keywords", "error", "message"),
    [
        ((), {}, TypeError, r"with 0 operands: expected my_gate\(gate, up\)"),
        ((1.0, 2.0, 3.0), {}, TypeError, "with 3 operands"),
        ((np.ones(3), np.ones(4)), {}, ValueError, r"do not broadcast: gate \(3,\), up \(4,\)"),
        ((np.ones(3),), {}, ValueError, "the odd length 3"),
        ((np.ones(4), np.ones(4)), {"axis": 0}, TypeError, "axis = 0 with two operands"),
        ((1.0, 2.0), {"gate": "second"}, TypeError, "no parameter 'gate'"),
        ((1.0, 2.0), {"out": np.empty(2, np.int8)}, TypeError, "out has dtype int8"),
        ((1.0, 2.0), {"limit": "x"}, TypeError, "my_gate's limit"),
    ],
)
def test_errors_are_one_line(
    operands: Any, keywords: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        my_gate(*operands, **keywords)
    assert "\n" not in str(raised.value)


def test_studies_of_one_operand_refuse_it() -> None:
    for study in (sg.certify, sg.properties, sg.identify):
        with pytest.raises((ValueError, TypeError), match="takes two arrays"):
            study(my_gate)
    with pytest.raises(ValueError, match="formula of two operands"):
        sg.compare("digits", activations=[my_gate], seeds=1)


def test_a_formula_of_one_operand_may_have_a_parameter_called_gate() -> None:
    @sg.activation
    def scaled(f: Any, x: Any, gate: float = 1.0) -> Any:
        return x * gate

    assert scaled(2.0, gate=3.0) == scaled.bind(gate=3.0)(2.0) == 6.0
