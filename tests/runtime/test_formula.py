"""A user's own formula: every function it may use, its limits, formats, parameters and pickles."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import checks
import formulas
import mpmath_oracle
import numpy as np
import pytest

import softgate as sg
from softgate.blocks.math_functions import FAR
from softgate.formula.arithmetic import FUNCTIONS, ExactArithmetic
from softgate.formula.derivative import derivative
from softgate.formula.formats import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Format,
    all_values,
    near_tie,
    round_to,
    ulp,
)
from softgate.formula.rewrite import rewrite
from softgate.lower import compose, exact
from softgate.lower.notation import infix
from softgate.runtime.activation import Activation
from softgate.runtime.registry import label
from softgate.runtime.tables import truth_graph
from softgate.studies import accuracy
from softgate.studies.accuracy import samples

WHERE = ((-1.0, 1.0), (0.6, 1.5), (-20.0, 20.0), (-1.1, -0.9), (-750.0, 710.0), (-110.0, 90.0))
LARGE = 1e30
"""Formulas may overflow inside beyond it, in float32 already its square does."""


def function(name: str, **options: Any) -> Activation:
    """Return one function of `f` as an activation."""
    return sg.activation(name=name, **options)(lambda f, x: getattr(f, name)(x))


def errors_ulp(name: str, fmt: Format, x: Any, y: Any) -> Any:
    """Return the error at each point; infinite where a result is a number and should not be."""
    f, errors = ExactArithmetic(), np.zeros(x.size)
    root = f.graph.node(name, f.graph.input("x"))
    for i, (point, result) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        if undefined(name, point):
            errors[i] = np.inf if np.isfinite(result) else 0.0
            continue
        ball = exact.truth(root, x=point)
        truth = float(ball.mid())
        if result == float(round_to(np.float64(truth), fmt)):
            continue  # overflow to infinity included
        unit = float(ulp(np.float64(truth), fmt))
        wrong = abs(ball - result).mid() if np.isfinite(result) else np.inf
        errors[i] = float(wrong) / unit
    return errors


def undefined(name: str, x: float) -> bool:
    """Tell whether a function has no value at `x`."""
    return (name == "log" and x <= 0) or (name == "log1p" and x <= -1) or (name == "sqrt" and x < 0)


@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_on_any_argument(name: str, fmt: Format) -> None:
    assert name == "sqrt" or name in compose.FUNCTIONS
    x = samples.stratified(fmt, WHERE, 1500, seed=7)
    x = np.random.default_rng(8).permutation(x[np.isfinite(x)])[:2500]
    if name in ("sin", "cos"):
        x = x[np.abs(x) < FAR[fmt.name]]
    y = function(name, fast=True)(x)
    assert y.dtype == x.dtype
    errors = errors_ulp(name, fmt, x, y)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 3.0, f"{name} at {x[worst]!r}: {y[worst]!r}, {errors[worst]} ulp"


def test_the_error_of_a_function_is_seen() -> None:
    x = np.array([0.5, 2.0])
    assert errors_ulp("exp", FLOAT64, x, np.exp(x) * (1 + 2.0**-48)).min() > 4
    assert errors_ulp("log", FLOAT64, np.array([-1.0]), np.array([0.0]))[0] == np.inf


@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
def test_sin_and_cos_stay_bounded_where_the_phase_is_lost(fmt: Format) -> None:
    x = samples.exponents(fmt, 4, seed=9)
    for name in ("sin", "cos"):
        y = function(name, fast=True)(x)
        assert np.all(np.abs(y) <= 1.0)


@pytest.mark.parametrize("quantity", ["value", "slope", "curvature"])
@pytest.mark.parametrize("activation_", formulas.ALL, ids=lambda a: a.name)
def test_float32_is_rounded_once(activation_: Activation, quantity: str) -> None:
    """Within 0.51 ulp of arb: what these formulas cancel, identities take out."""
    x = samples.stratified(FLOAT32, activation_.entry.intervals, 500, seed=1)
    x = np.random.default_rng(2).permutation(x[np.abs(x) < LARGE])[:600]
    if activation_.name == "snake":
        x = x[np.abs(x) < 1e13]
    y = checks.call(activation_, quantity, x)
    wide = checks.call(activation_, quantity, x.astype(np.float64))
    assert np.array_equal(y.astype(np.float64), round_to(wide, FLOAT32))
    parameters = dict(activation_.parameters)
    errors = accuracy.Reference(activation_.entry, quantity, parameters).against_arb(x, y, FLOAT32)
    scale = 2.0 if quantity == "slope" else 1.0  # ulps of the scale, which may be half the slope's
    checks.holds(errors, checks.ONCE_ULP * scale, f"{activation_.name} {quantity}")


@pytest.mark.parametrize("activation_", formulas.SAME, ids=lambda a: a.name)
def test_the_catalogue_says_the_same(activation_: Activation) -> None:
    other = sg.activations()[formulas.SAME[activation_]]
    x = samples.stratified(FLOAT32, ((-10.0, 10.0),), 3000, seed=3)
    x = x[np.isfinite(x)]
    for quantity in ("value", "slope"):
        ours = checks.call(activation_, quantity, x)
        theirs = checks.call(other, quantity, x, arithmetic="float64")
        wide = theirs.astype(np.float64)
        assert np.all(np.abs(ours - wide) <= ulp(wide, FLOAT32))
        assert np.mean(ours == theirs) > 0.995


def test_an_error_in_a_composed_kernel_is_seen() -> None:
    x = np.linspace(-5, 5, 101, dtype=np.float32)
    wrong = formulas.gelu(x) * np.float32(1 + 2.0**-22)
    errors = accuracy.Reference(formulas.gelu.entry, "value").against_arb(x, wrong, FLOAT32)
    with pytest.raises(AssertionError):
        checks.holds(errors, checks.ONCE_ULP, "gelu")


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("quantity", ["value", "slope"])
def test_16_bits(quantity: str, fmt: Format) -> None:
    checks.check_16bit(formulas.swish, quantity, fmt)


def test_16_bits_of_all() -> None:
    for activation_ in formulas.ALL:
        x = all_values(FLOAT16).astype(np.float16)
        x = x[np.isfinite(x)]
        wide = activation_(x.astype(np.float64))
        sure = ~near_tie(wide, FLOAT16, 2.0**-40)
        y = activation_(x).astype(np.float64)
        assert np.array_equal(y[sure], round_to(wide, FLOAT16)[sure])
        assert "rounded from the float64 kernel" in str(sg.explain(x, activation_))


INF, NAN = np.inf, np.nan
ENDS = {
    "swish": ((-0.0, INF), (-0.0, 1.0), (-0.0, -0.0)),
    "gelu": ((-0.0, INF), (-0.0, 1.0), (-0.0, -0.0)),
    "gelu_tanh": ((-0.0, INF), (-0.0, 1.0), (-0.0, -0.0)),
    "mish": ((-0.0, INF), (-0.0, 1.0), (-0.0, -0.0)),
    "softplus": ((0.0, INF), (0.0, 1.0), (0.0, 0.0)),
    "elu": ((-1.0, INF), (0.0, 1.0), (0.0, 0.0)),
    "tanh": ((-1.0, 1.0), (0.0, 0.0), (0.0, -0.0)),
    "softsign": ((-1.0, 1.0), (0.0, 0.0), (0.0, -0.0)),
    "isru": ((-1.0, 1.0), (0.0, 0.0), (0.0, -0.0)),
    "snake": ((-INF, INF), (NAN, NAN), (NAN, NAN)),
    "arctan": ((-np.pi / 2, np.pi / 2), (0.0, 0.0), (0.0, -0.0)),
    "tanhexp": ((-0.0, INF), (-0.0, 1.0), (-0.0, -0.0)),
    "gaussian": ((0.0, 0.0), (0.0, -0.0), (0.0, 0.0)),
    "square_relu": ((0.0, INF), (0.0, INF), (0.0, 2.0)),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("activation_", formulas.ALL, ids=lambda a: a.name)
def test_infinity_gives_the_limits_and_nan_nan(activation_: Activation, dtype: Any) -> None:
    for quantity, expected in zip(compose.ORDERS, ENDS[activation_.name], strict=True):
        y = checks.call(activation_, quantity, np.array([-INF, INF, NAN, -NAN], dtype))
        assert np.isnan(y[2:]).all()
        for result, limit in zip(y[:2], np.array(expected).astype(dtype), strict=True):
            assert np.isnan(result) == np.isnan(limit)
            if not np.isnan(limit):
                assert (result, np.signbit(result)) == (limit, np.signbit(limit)), quantity


def test_limits_follow_the_parameters() -> None:
    @sg.activation
    def step(f: Any, x: Any, height: float = 1.0, turn: float = 1.0) -> Any:
        return height * f.tanh(turn * x)

    for height in (1.0, 2.5, -3.0, 0.1):
        for kind in (np.float32, np.float64):
            y = step(np.array([-INF, INF], kind), height=height)
            assert y.tolist() == [-kind(height), kind(height)]
            turned = step(np.array([-INF, INF], kind), height=height, turn=-2.0)
            assert turned.tolist() == [kind(height), -kind(height)]
    assert step.bind(height=7.0)(INF) == 7.0
    fast = sg.activation(name="fast", fast=True)(lambda f, x, a=1.0: a * f.tanh(x))
    assert fast(np.float32(INF), a=0.1) == np.float32(0.1)
    assert np.isinf(fast(np.float32(INF), a=1e300))


def test_a_formula_that_overflows_inside_has_reached_its_limit() -> None:
    y = formulas.tanhexp.slope(np.array([100.0, 800.0, 1e30], np.float32))
    assert y.tolist() == [1.0, 1.0, 1.0]
    bump = sg.activation(name="bump")(lambda f, x: f.where(x > 50, f.where(x < 60, 2, 1), 1))
    assert bump(np.array([9.0, 55.0, 70.0, INF, -INF])).tolist() == [1.0, 2.0, 1.0, 1.0, 1.0]
    ratio = sg.activation(name="ratio")(lambda f, x: x**3 / (1 + x**2))
    assert np.isclose(ratio(np.float32(3e38)), np.float32(3e38))
    assert np.isnan(ratio(1e200))  # x**3 is beyond float64: said in the documentation
    assert ratio.slope(1e200) == 1.0


def test_zeros() -> None:
    for activation_ in (formulas.swish, formulas.gelu, formulas.softsign, formulas.arctan):
        for kind in (np.float16, np.float32, np.float64):
            y = activation_(np.array([-0.0, 0.0], kind))
            assert y.tolist() == [0.0, 0.0]
            assert np.signbit(y).tolist() == [True, False]


def test_fast_computes_in_float32() -> None:
    x = samples.stratified(FLOAT32, ((-10.0, 10.0),), 2000, seed=4)
    x = x[np.isfinite(x)]
    fast = sg.activation(name="gelu", fast=True)(lambda f, x: x * f.Phi(x))
    assert "the float32 kernel" in str(sg.explain(x, fast))
    assert "the float64 kernel, rounded once" in str(sg.explain(x, formulas.gelu))
    y = fast(x)
    errors = accuracy.Reference(fast.entry, "value").against_arb(x[:800], y[:800], FLOAT32)
    checks.holds(errors, 4.0, "fast")
    assert errors.max_ulp > 0.51
    rounded = fast(x, arithmetic="float64")
    assert np.array_equal(rounded, formulas.gelu(x))


def test_parameters_are_swept_by_one_kernel() -> None:
    x = np.linspace(-4, 4, 33)
    before = len(compiled())
    formulas.swish(x, beta=0.5)
    after = len(compiled())
    for beta in np.linspace(0.1, 3, 20):
        expected = x / (1 + np.exp(-beta * x))
        assert np.allclose(formulas.swish(x, beta=beta), expected, rtol=1e-14)
    assert len(compiled()) == after <= before + 1
    assert np.array_equal(formulas.swish.bind(beta=2.0)(x), formulas.swish(x, beta=2.0))
    with pytest.raises(TypeError, match="swish has no parameter 'gamma'"):
        formulas.swish(x, gamma=1.0)
    with pytest.raises(ValueError, match="expected a finite number"):
        formulas.swish(x, beta=INF)


def compiled() -> dict[object, Any]:
    from softgate.runtime import kernels

    return kernels._by_entry.get(formulas.swish.entry, {})


def test_backward_is_slope_times_grad() -> None:
    x = np.linspace(-4, 4, 33)
    grad = np.linspace(1, 2, 33)
    assert np.array_equal(
        formulas.gelu.backward(x, grad), formulas.gelu.slope(x) * grad
    )  # fma(slope, grad, 0) rounds the same product once
    assert formulas.gelu.backward(np.array([-INF, INF]), np.ones(2)).tolist() == [0.0, 1.0]


def test_bits_do_not_depend_on_the_neighbours() -> None:
    checks.check_same_bits(formulas.snake, "value", np.float32)
    checks.check_same_bits(formulas.mish, "slope", np.float64)


def test_names_documents_and_representation() -> None:
    assert repr(formulas.swish) == "<formulas.swish(x, beta=1) = x/(1 + exp(-beta*x))>"
    assert formulas.swish.__doc__ == "A gate of its own argument."
    assert (formulas.swish.__name__, formulas.swish.__module__) == ("swish", "formulas")
    assert "0.5*x*(1 + erf(x/sqrt(2)))" in str(formulas.gelu.__doc__)
    assert "Hendrycks" in str(formulas.gelu_tanh.__doc__)
    assert "swish" not in sg.activations()
    named = sg.activation(name="bent", formula="bent(x)")(lambda f, x: x + f.sqrt(x * x + 1))
    assert repr(named).endswith(".bent(x) = bent(x)>")
    assert formulas.gelu.latex


def test_the_same_name_twice() -> None:
    def make(factor: float) -> Activation:
        @sg.activation
        def again(f: Any, x: Any) -> Any:
            return factor * x

        return again

    first, second = make(2.0), make(3.0)
    assert (first(1.0), second(1.0), first(2.0)) == (2.0, 3.0, 4.0)


def test_the_formula_is_what_it_was_when_it_was_traced() -> None:
    scale = [2.0]
    late = sg.activation(name="late")(lambda f, x: scale[0] * x)
    scale[0] = 5.0
    assert late(1.0) == 2.0
    assert late.slope(1.0) == 2.0


def test_pickles_name_an_activation() -> None:
    assert pickle.loads(pickle.dumps(formulas.swish)) is formulas.swish
    bound = formulas.swish.bind(beta=0.25)
    again = pickle.loads(pickle.dumps(bound))
    assert again.parameters == {"beta": 0.25}
    assert np.array_equal(again(np.ones(3)), bound(np.ones(3)))
    local = sg.activation(name="local")(lambda f, x: 2 * x)
    with pytest.raises(TypeError, match="define it at the top of a module"):
        pickle.dumps(local)
    assert copy.deepcopy([local])[0] is local
    assert copy.copy(local) is local


def test_first_calls_from_many_threads() -> None:
    shared = sg.activation(name="shared")(lambda f, x, a=1.5: f.erf(a * x) * f.log1p(x * x))
    x = np.linspace(-3, 3, 1001)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: shared.slope(x, a=1.0 + i % 2), range(24)))
    for i, result in enumerate(results):
        assert np.array_equal(result, results[i % 2])


def test_numpy_numbers_are_numbers() -> None:
    half = sg.activation(name="half")(lambda f, x: np.float64(0.5) * x + x * np.int64(2))
    assert half(2.0) == 5.0
    single = sg.activation(name="single")(lambda f, x: np.float32(0.1) * x)
    assert single(1.0) == float(np.float32(0.1))


def test_operators() -> None:
    powers = sg.activation(name="powers")(lambda f, x: x**2 + x**-1 + x**5 - (+x) ** 0 + 2**x)
    assert powers(2.0) == 4.0 + 0.5 + 32.0 - 1.0 + 4.0
    root = sg.activation(name="root")(lambda f, x: x**0.5 + f.clip(x, -1, 1) + f.sign(-x))
    assert root(4.0) == 2.0
    equal = sg.activation(name="sinc")(lambda f, x: f.where(x == 0, 1, f.sin(x) / x))
    assert equal([0.0, 2.0]).tolist() == pytest.approx([1.0, np.sin(2.0) / 2])
    assert equal.entry.user is not None


@pytest.mark.parametrize("activation_", formulas.ALL, ids=lambda a: a.name)
def test_what_is_computed_equals_what_is_defined(activation_: Activation) -> None:
    """Identities and cancelled quotients against the definition, with many digits."""
    names = tuple(activation_.parameters)
    composition = compose.Composition(activation_.entry.definition, ("x",), names)
    values = dict(activation_.parameters)
    for quantity in compose.ORDERS:
        (ours,), truth = composition.graphs(quantity), truth_graph(activation_.entry, quantity)
        for point in (-7.25, -1.125, -0.03125, 0.375, 2.5, 11.0):
            known = mpmath_oracle.evaluate(truth, 300, x=point, **values)
            result = mpmath_oracle.evaluate(ours, 300, x=point, **values)
            assert abs(result - known) <= 1e-60 * (1 + abs(known))


def test_identities() -> None:
    f = ExactArithmetic()
    x = f.graph.input("x")
    for written, computed in {
        1 / (1 + f.exp(-x)): f.sigmoid(x),
        f.exp(x) / (f.exp(x) + 1): f.sigmoid(x),
        f.log(f.exp(x) + 1): f.softplus(x),
        f.log(1 + x): f.log1p(x),
        f.exp(x) - 1: f.expm1(x),
        1 - f.exp(x): -f.expm1(x),
        1 + f.erf(x): f.erfc(-x),
        1 - f.erf(x): f.erfc(x),
        1 - f.sigmoid(x): f.sigmoid(-x),
        1 - f.tanh(x): 2 * f.sigmoid(-2 * x),
        f.erfc(x / f.sqrt(2)): 2 * f.Phi(-x),
        2 + f.exp(x): 2 + f.exp(x),
    }.items():
        assert rewrite(written) is computed, infix(written)
    assert rewrite(derivative(f.tanh(x))) is derivative(f.tanh(x))


def test_a_label_names_only_what_was_changed() -> None:
    assert label(formulas.snake) == "snake"
    assert label(formulas.snake.bind(a=0.5)) == "snake:a=0.5"
    assert label(formulas.snake.bind(a=0.5).bind(a=1.0)) == "snake"
