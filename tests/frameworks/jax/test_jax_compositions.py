"""Operators inside larger jitted expressions: XLA must not simplify across their boundaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compositions import (
    QUANTITIES,
    SHAPES,
    expressions,
    in_turn,
    mismatches,
    operands,
    reductions,
)
from xla_once import quick_options, run_once

import softgate as sg
from softgate.blocks import KernelArithmetic
from softgate.formula.formats import FLOAT32
from softgate.lower import framework_source
from softgate.lower.jax import stable_dialect
from softgate.lower.without_fma import without_fma
from softgate.runtime.activation import Activation

pytestmark = pytest.mark.usefixtures("jax_operators")


def derivative(call: Callable[[Any], Any], x: Any) -> Any:
    return jax.jvp(call, (x,), (jnp.ones_like(x),))[1]


ARRAYS = [shape for shape in SHAPES if shape != "scalar"]
PLACES = {name: i for i, name in enumerate(sg.activations())}


def test_expressions_of_a_scalar(activation: Activation) -> None:
    """Of one quantity, in turn; `make exhaustive` looks at all quantities in all shapes."""
    check_expressions(activation, "scalar", in_turn(activation))


def test_expressions_of_an_array(activation: Activation) -> None:
    """One of the shapes, in turn."""
    shape = ARRAYS[PLACES[activation.name] // len(QUANTITIES) % len(ARRAYS)]
    check_expressions(activation, shape, in_turn(activation))


@pytest.mark.parametrize("name", ["sigmoid", "elu", "softplus", "tanh"])
@pytest.mark.parametrize("shape", ARRAYS)
def test_expressions_of_every_shape(name: str, shape: str) -> None:
    check_expressions(sg.activations()[name], shape, QUANTITIES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", SHAPES)
def test_expressions_of_every_activation_and_shape(activation: Activation, shape: str) -> None:
    check_expressions(activation, shape, QUANTITIES)


def check_expressions(activation: Activation, shape: str, quantities: tuple[str, ...]) -> None:
    x, y = operands(shape)
    narrow = [jnp.asarray(v, jnp.float32) for v in (x, y)]
    thorough = shape == "scalar"
    calls = expressions(activation, derivative, thorough, quantities=quantities)

    def evaluated(calls: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        def program(x: Any, y: Any) -> dict[str, Any]:
            return {name: call(x, y) for name, call in calls.items()}

        results: dict[str, Any] = run_once(program, *narrow, options=options)
        return results

    results = evaluated(calls, quick_options())
    if shape == "several":  # LLVM unrolls reductions, and merges what they reduce
        results |= evaluated(reductions(activation, jnp.sum, jnp.prod, quantities), {})
    assert not mismatches(activation, x, y, results)


def test_expressions_in_float64() -> None:
    with jax.enable_x64(True):
        for f in (sg.sigmoid, sg.elu.slope, sg.softplus.slope):
            scaled = jax.jit(lambda x, f=f: f(x) * 1e-280 * f(-x))(jnp.float64(0.3))
            assert np.isclose(float(scaled), f(0.3) * 1e-280 * f(-0.3), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("n", [2, 3, 8, 16, 30])
def test_reductions_of_any_length(n: int) -> None:
    # How LLVM unrolls a reduction depends on its length.
    x = np.linspace(-1.4, -0.6, n, dtype=np.float32)
    functions = [sg.sigmoid, sg.elu.slope, sg.tanh.slope, sg.softplus.slope]

    @jax.jit
    def reduced(x: Any) -> Any:
        small = [(jnp.sum(f(x) * 1e-20), jnp.mean(f(x) / 1e22), jnp.prod(f(x))) for f in functions]
        slopes = jax.grad(lambda x: jnp.sum(sg.softplus(x) * 1e-20))(x)
        return small, jnp.sum(slopes)

    small, total = reduced(x)
    for f, results in zip(functions, small, strict=True):
        exact = f(x.astype(np.float64))
        expected = exact.sum() * 1e-20, exact.mean() / 1e22, exact.prod()
        assert np.allclose(results, expected, rtol=1e-5, atol=1e-38), f
    assert np.isclose(total, sg.softplus.slope(x).sum() * 1e-20, rtol=1e-5, atol=0.0)


def test_xla_merges_constants_across_forms_that_are_not_kept() -> None:
    # Why the tests above exist: without `unscale` and `keep`, 2**-64 times 2**-64 is flushed to 0.
    kernel = KernelArithmetic(FLOAT32, fused=False)
    (graph,) = without_fma(FLOAT32, *sg.sigmoid.entry.trace("value", kernel))
    assert [graph.op, graph.args[0].op] == ["keep", "unscale"]
    product = graph.graph.node("mul", *graph.args[0].args)
    form = framework_source.form(product, stable_dialect(FLOAT32))
    for options in ({}, quick_options()):
        alone, squared = run_once(
            lambda x: (form(x), form(x) * form(-x)), jnp.float32(0.3), options=options
        )
        assert np.isclose(alone, sg.sigmoid(0.3))
        if np.isclose(squared, sg.sigmoid(0.3) * sg.sigmoid(-0.3)):
            pytest.skip(f"XLA of JAX {jax.__version__} does not merge these constants")
        assert squared == 0.0
