"""The worst float64 inputs that are known: within the bounds stated, with the errors recorded.

`make accuracy` searches for them with arb, and writes worst_inputs.json. Here the exact results
come from mpmath: the formulas are written again, and differentiated numerically. Of functions that
`FORMULAS` lacks, mpmath evaluates the definition.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from mpmath.libmp import to_rational
from mpmath_oracle import evaluate

import softgate as sg
from softgate.catalogue import Entry
from softgate.formula.graph import Node
from softgate.studies.accuracy.errors import scale_graphs

FILE = Path(__file__).with_name("worst_inputs.json")
PAGE = Path(__file__).resolve().parents[2] / "docs/accuracy.md"
WORST = json.loads(FILE.read_text(encoding="utf-8"))
QUANTITIES = ("value", "slope", "curvature")
DIGITS = 700
Real = Any


def Phi(x: Real) -> Real:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def sigmoid(x: Real) -> Real:
    return 1 / (1 + mp.exp(-x))


def clip(x: Real, low: Real, high: Real) -> Real:
    return min(max(x, mpf(low)), mpf(high))


def elu(x: Real) -> Real:
    return x if x > 0 else mp.expm1(x)


def tanh_argument(x: Real) -> Real:
    return mp.sqrt(8 / mp.pi) * (x + mpf("0.044715") * x**3)


def sloped(slope: float) -> Callable[[Real], Real]:
    return lambda x: x if x > 0 else mpf(slope) * x


SCALE = "1.0507009873554804934193349852946"
ALPHA = "1.6732632423543772848170429916717"
FORMULAS: dict[str, Callable[[Real], Real]] = {
    "celu": elu,
    "clip": lambda x: clip(x, 0, 1),
    "elu": elu,
    "exponential": mp.exp,
    "gelu": lambda x: x * Phi(x),
    "gelu_10": lambda x: clip(x * Phi(x), -10, 10),
    "gelu_sigmoid": lambda x: x * sigmoid(mpf("1.702") * x),
    "gelu_tanh": lambda x: x * sigmoid(tanh_argument(x)),
    "hard_mish": lambda x: x * clip(x + 2, 0, 2) / 2,
    "hard_sigmoid": lambda x: clip(x / 6 + mpf(1) / 2, 0, 1),
    "hard_swish": lambda x: x * clip(x / 6 + mpf(1) / 2, 0, 1),
    "hard_tanh": lambda x: clip(x, -1, 1),
    "hardshrink": lambda x: x if abs(x) > 0.5 else mpf(0),
    "identity": lambda x: x,
    "laplace": lambda x: Phi((x - mpf(0.707107)) / mpf(0.282095)),
    "leaky_relu": sloped(0.01),
    "log_ndtr": lambda x: mp.log(Phi(x)),
    "log_sigmoid": lambda x: -mp.log1p(mp.exp(-x)),
    "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
    "Phi": Phi,
    "phi": mp.npdf,
    "prelu": sloped(0.25),
    "relu": lambda x: max(x, mpf(0)),
    "relu6": lambda x: clip(x, 0, 6),
    "rrelu": lambda x: x if x > 0 else (mpf(0.125) + mpf(1 / 3)) / 2 * x,
    "selu": lambda x: mpf(SCALE) * (x if x > 0 else mpf(ALPHA) * mp.expm1(x)),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "softshrink": lambda x: mp.sign(x) * max(abs(x) - mpf(1) / 2, mpf(0)),
    "softsign": lambda x: x / (1 + abs(x)),
    "sparse_plus": lambda x: mpf(0) if x <= -1 else x if x >= 1 else (x + 1) ** 2 / 4,
    "sparse_sigmoid": lambda x: clip((x + 1) / 2, 0, 1),
    "sqrtsoftplus": lambda x: mp.sqrt(mp.log1p(mp.exp(x))),
    "squared_relu": lambda x: max(x, mpf(0)) ** 2,
    "squareplus": lambda x: (x + mp.sqrt(x**2 + 4)) / 2,
    "tanh": mp.tanh,
    "tanhshrink": lambda x: x - mp.tanh(x),
    "threshold": lambda x: x if x > 1 else mpf(0),
    "xielu": lambda x: sum(xielu_terms(x)),
}
PRODUCTS = {"gelu", "gelu_10", "gelu_sigmoid", "gelu_tanh", "hard_mish", "hard_swish"}
PRODUCTS |= {"mish", "silu"}
"""Those of the form x·g(x): the ulp of the slope is that at max(|g|, |x·g'|)."""


def xielu_terms(x: Real) -> tuple[Real, Real]:
    """The summands of xielu: its ulp is that of the larger one."""
    bent = mpf(0.8) * (x * x if x > 0 else mp.expm1(x) - x)
    return bent, mpf(0.5) * x


def formula(name: str) -> Callable[[Real], Real]:
    """The function in mpmath: written again, or its definition."""
    if name in FORMULAS:
        return FORMULAS[name]
    return by_mpmath(sg.activations()[name].entry, sg.activations()[name].entry.define())


def by_mpmath(entry: Entry, graph: Node) -> Callable[[Real], Real]:
    """A graph over the input as a function of an mpf, with the parameters at their defaults."""
    defaults = {parameter.name: parameter.default for parameter in entry.parameters}

    def function(x: Real) -> Real:
        exact = Fraction(*to_rational(mpf(x)._mpf_))
        return mpf(evaluate(graph, mp.prec, x=exact, **defaults))

    return function


def derivative(f: Callable[[Real], Real], x: Real, order: int) -> Real:
    return mp.diff(f, x, order, h=mpf(10) ** (-DIGITS // 6) * min(abs(x), 1)) if order else f(x)


def error_in_ulps(name: str, quantity: str, x: float, computed: float) -> float:
    """The error of a result in ulps, as docs/accuracy.md defines them."""
    order = QUANTITIES.index(quantity)
    with mp.workdps(DIGITS):
        place, f = mpf(x), formula(name)
        exact = derivative(f, place, order)
        sizes = [exact]
        if name not in FORMULAS:
            entry = sg.activations()[name].entry
            sizes += [by_mpmath(entry, graph)(place) for graph in scale_graphs(entry, quantity)]
        if name in PRODUCTS and quantity == "slope":
            g = f(place) / place
            sizes = [g, exact - g]
        if name == "xielu" and quantity != "curvature":
            parts = [lambda x, i=i: xielu_terms(x)[i] for i in range(2)]
            sizes += [derivative(part, place, order) for part in parts]
        largest = max(map(abs, sizes))
        exponent = mp.frexp(largest)[1] - 1 if largest else -1022
        return float(abs(mpf(computed) - exact) / mpf(2) ** (max(exponent, -1022) - 52))


def result(name: str, quantity: str, x: float) -> float:
    activation = sg.activations()[name]
    method = activation if quantity == "value" else getattr(activation, quantity)
    return float(method(np.array([x]))[0])


CASES = [(name, quantity) for name in sorted(WORST) for quantity in WORST[name]]


@pytest.mark.parametrize(("name", "quantity"), CASES)
def test_the_worst_input_has_the_recorded_error_within_its_bound(name: str, quantity: str) -> None:
    x = float.fromhex(WORST[name][quantity]["x"])
    error = error_in_ulps(name, quantity, x, result(name, quantity, x))
    assert math.isclose(error, WORST[name][quantity]["error_ulp"], rel_tol=1e-4, abs_tol=1e-5)
    if quantity != "curvature":
        assert error <= getattr(sg.activations()[name].entry.bounds["float64"], quantity)


def test_every_function_has_worst_inputs() -> None:
    assert set(WORST) == set(sg.activations()) >= set(FORMULAS)


@pytest.mark.parametrize(("name", "quantity"), CASES)
def test_the_definition_is_the_formula_written_again(
    name: str, quantity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that functions without such a formula are measured alike."""
    x = float.fromhex(WORST[name][quantity]["x"])
    y = result(name, quantity, x)
    expected = error_in_ulps(name, quantity, x, y)
    monkeypatch.delitem(FORMULAS, name)
    assert math.isclose(error_in_ulps(name, quantity, x, y), expected, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize(("name", "quantity"), CASES)
def test_the_bound_is_the_worst_error_times_1_1_or_more(name: str, quantity: str) -> None:
    error = WORST[name][quantity]["error_ulp"]
    if quantity == "curvature" or error <= 0.5:  # of at most half an ulp more is not to be found
        return
    stated = getattr(sg.activations()[name].entry.bounds["float64"], quantity)
    assert stated >= math.ceil(11 * error - 1e-4) / 10 - 1e-9


def test_the_check_sees_an_error_of_an_ulp() -> None:
    x = float.fromhex(WORST["gelu"]["value"]["x"])
    right = float(mpmath.mpf(0) + error_in_ulps("gelu", "value", x, result("gelu", "value", x)))
    shifted = np.nextafter(result("gelu", "value", x), 0.0)
    assert abs(abs(error_in_ulps("gelu", "value", x, float(shifted)) - right) - 1) < 0.01


def test_the_page_lists_no_error_above_its_bound() -> None:
    """The table of the catalogue in docs/accuracy.md, and the functions it names above 4 ulp."""
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", page)
    assert {row[0] for row in rows} == set(sg.activations())
    for name, *errors in rows:
        bounds = sg.activations()[name].entry.bounds
        stated = [getattr(bounds[d], q) for d in ("float32", "float64") for q in QUANTITIES[:2]]
        listed = [float(error) for error in errors]
        assert all(e <= s for e, s in zip(listed, stated, strict=True)), (name, listed, stated)
        worst = [round(WORST[name][q]["error_ulp"], 2) for q in QUANTITIES[:2]]
        assert all(e >= w for e, w in zip(listed[2:], worst, strict=True)), (name, listed, worst)


def test_the_page_names_the_bounds_above_4_ulp() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("\n", " ")
    for name, function in (sg.activations() | sg.gated()).items():
        for quantity in QUANTITIES[:2]:
            bound = getattr(function.entry.bounds["float64"], quantity)
            assert (f" {name} {quantity} {bound:g}" in page) == (bound > 4), (name, quantity)


@pytest.mark.parametrize("name", ["gelu", "laplace", "log_ndtr", "tanh"])
def test_certify_finds_errors_near_the_worst_by_itself(name: str) -> None:
    """Without the recorded inputs: a sample alone finds 2.2 of gelu's 3.7 ulp."""
    certificate = sg.certify(name, name, dtype="float64", quantity="value", samples=20_000)
    measured = certificate.find("value", "float64")
    assert measured.max_ulp >= 0.9 * WORST[name]["value"]["error_ulp"]
    assert measured.max_ulp <= measured.stated_ulp
    assert not certificate.failures()
    worst = measured.worst
    error = error_in_ulps(name, "value", worst.worst, worst.computed)
    assert math.isclose(error, worst.max_ulp, rel_tol=1e-6)


GATES = {
    "glu": ("sigmoid", "-0x1.232a1cfccdb57p+5", 2.8),
    "geglu": ("gelu", "-0x1.c4f954a95561ap+0", 4.3),
    "geglu_tanh": ("gelu_tanh", "-0x1.5ebc48b259e90p+1", 2.9),
    "swiglu": ("silu", "-0x1.8d76391b794d6p+1", 3.0),
}
"""Of a gated function, its activation, the worst gate known, and what the error there reaches."""


@pytest.mark.parametrize("name", GATES)
def test_the_worst_gate_with_products_just_below_a_power_of_2(name: str) -> None:
    act, text, reached = GATES[name]
    gate = float.fromhex(text)
    with mp.workdps(60):
        exact = FORMULAS[act](mpf(gate))
        below = float(mpf(2) ** mp.ceil(mp.log(abs(exact), 2)) / abs(exact))
    others = below * np.linspace(0.9, 0.999, 1000)
    gates = np.full(others.shape, gate)
    operands = (others, gates) if name == "glu" else (gates, others)
    with mp.workdps(60):
        truth = [exact * mpf(other) for other in others.tolist()]
        units = [mpf(2) ** (mp.frexp(t)[1] - 53) for t in truth]
        results = sg.gated()[name](*operands).tolist()
        errors = zip(results, truth, units, strict=True)
        error = max(float(abs(y - t) / unit) for y, t, unit in errors)
    assert reached <= error <= sg.gated()[name].entry.bounds["float64"].value
