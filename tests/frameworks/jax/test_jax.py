"""Activations on JAX arrays: derivatives, transformations, parameters, gated functions, models.

Tests with the fixture `path` run with softgate's kernels and with JAX operators;
test_jax_cpu_kernels.py compares the bits of the kernels, test_jax_accuracy.py measures the
operators.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import equinox
import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from xla_once import quick_flags, quick_options, run_once

import softgate as sg
import softgate.jax
from softgate.runtime.activation import Activation

SMOOTH = np.array([-2.3, -1.1, -0.4, 0.3, 0.9, 1.7, 3.6], np.float32)
"""Points at none of which any activation of the catalogue has a kink."""


@pytest.fixture(params=["kernels", "operators"])
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    """What computes activations in traces."""
    with softgate.jax.prefer_operators() if request.param == "operators" else nullcontext():
        yield request.param


def test_the_callers_own_type_comes_back() -> None:
    y = sg.gelu(jnp.asarray(SMOOTH))
    assert isinstance(y, jax.Array)
    assert y.dtype == jnp.float32
    assert np.array_equal(y, sg.gelu(SMOOTH))
    assert sg.gelu(jnp.zeros((2, 0, 3))).shape == (2, 0, 3)
    assert sg.gelu(jnp.asarray(0.5)).shape == ()


def derivatives(activation: Activation, x: Any) -> tuple[Any, ...]:
    """Return the gradient, the tangent and `backward` for an incoming 2."""

    def evaluated(x: Any) -> tuple[Any, ...]:
        twos = jnp.full_like(x, 2.0)
        backward = activation.backward(x, twos)
        return jax.vjp(activation, x)[1](twos)[0], jax.jvp(activation, (x,), (twos,))[1], backward

    return tuple(run_once(evaluated, x))


def test_derivatives_are_those_of_numpy(activation: Activation) -> None:
    x = np.append(SMOOTH, np.float32(0))
    expected = activation.backward(x, np.full_like(x, 2.0))
    assert all(np.array_equal(result, expected) for result in derivatives(activation, x))


@pytest.mark.parametrize("name", ["gelu", "relu", "leaky_relu", "elu", "softplus", "mish"])
def test_derivatives_of_operators(name: str) -> None:
    activation, x = sg.activations()[name], np.append(SMOOTH, np.float32(0))
    with softgate.jax.prefer_operators():
        slopes, *others = derivatives(activation, x)
    assert np.allclose(slopes, 2 * activation.slope(x), rtol=1e-6, atol=1e-7)
    assert all(np.array_equal(slopes, other) for other in others)


def test_second_and_third_derivatives(activation: Activation) -> None:
    step = 1e-5

    def derivatives(x: Any, beside: Any) -> tuple[Any, ...]:
        second = jax.grad(jax.grad(activation))
        return jax.vmap(second)(beside), jax.vmap(jax.jacfwd(second))(x)

    x = SMOOTH.astype(np.float64)
    beside = np.stack([x + step, x - step]).ravel()
    with jax.enable_x64(True):
        second, third = run_once(derivatives, x, beside)
    assert np.allclose(second, activation.curvature(beside), rtol=1e-9, atol=1e-12)
    after, before = np.split(np.asarray(second), 2)
    assert np.allclose(third, (after - before) / (2 * step), rtol=1e-6, atol=1e-7)


PARAMETERS = [
    (activation, parameter.name)
    for activation in sg.activations().values()
    for parameter in activation.entry.parameters
]


@pytest.mark.parametrize(
    ("activation_", "name"), PARAMETERS, ids=[f"{a.name}-{name}" for a, name in PARAMETERS]
)
def test_array_parameters_have_gradients(activation_: Activation, name: str) -> None:
    at, step = activation_.parameters[name] * 1.1 + 0.01, 1e-6

    def derivatives(x: Any, at: Any) -> tuple[Any, ...]:
        def total(value: Any) -> Any:
            return (activation_(x, **{name: value}) * jnp.arange(1.0, 8.0)).sum()

        difference = (total(at + step) - total(at - step)) / (2 * step)
        return total(at), jax.grad(total)(at), jax.jacfwd(total)(at), difference

    with jax.enable_x64(True):
        x = SMOOTH.astype(np.float64) * 1.25
        total, backwards, forwards, difference = run_once(derivatives, x, at)
    assert np.isclose(total, (activation_(x, **{name: at}) * np.arange(1.0, 8.0)).sum(), 1e-12)
    assert np.isclose(backwards, forwards, rtol=1e-12)
    assert np.isclose(backwards, difference, rtol=1e-5, atol=1e-7)


def test_mixed_derivatives_and_parameters_under_jit() -> None:
    def slope(beta: Any, x: Any) -> Any:
        return jax.grad(lambda x: sg.silu(x, beta=beta))(x)

    def plain(beta: Any, x: Any) -> Any:
        return jax.grad(lambda x: x * jax.nn.sigmoid(beta * x))(x)

    result = jax.jit(jax.grad(slope))(1.5, 0.7)
    assert np.isclose(result, jax.grad(plain)(1.5, 0.7), rtol=1e-5)
    values = jax.vmap(lambda beta: sg.silu(jnp.float32(0.7), beta=beta))(jnp.array([0.5, 1.0, 2.0]))
    assert np.allclose(values, [sg.silu(0.7, beta=beta) for beta in (0.5, 1.0, 2.0)], rtol=1e-6)


def test_a_parameter_for_each_channel() -> None:
    x, slopes = -jnp.ones((2, 3)), jnp.array([0.1, 0.2, 0.3])
    assert np.allclose(sg.leaky_relu(x, slope=slopes), -np.array([[0.1, 0.2, 0.3]] * 2))
    gradient = jax.grad(lambda s: sg.leaky_relu(x, slope=s).sum())(slopes)
    assert np.array_equal(gradient, [-2.0, -2.0, -2.0])
    half = jax.grad(lambda s: sg.leaky_relu(x, slope=s).sum())(slopes.astype(jnp.bfloat16))
    assert half.dtype == jnp.bfloat16
    wide = sg.hard_tanh(jnp.linspace(-3, 3, 7), low=jnp.float32(-2.5), high=-2.0)
    assert np.array_equal(wide, [-2.5, -2, -2, -2, -2, -2, -2])


def test_a_sweep_over_a_parameter_compiles_once(path: str) -> None:
    compiled = []

    def listen(event: str, duration_secs: float, **_: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(duration_secs)

    x, y = jnp.ones(17), jnp.ones(18)
    gradient = jax.grad(lambda x, beta: sg.silu(x, beta=beta).sum())
    for beta in (2.0, 2.5):
        gradient(x, beta)
    sg.silu(x, beta=2.0)
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        for beta in (0.5, 0.6, 0.7):
            sg.silu(x, beta=beta)
        assert not compiled
        sg.silu(y, beta=0.5)
        assert len(compiled) == 1
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def test_flat_pieces_stop_any_gradient() -> None:
    x = jnp.array([-1.0, 2.0])
    _, pull = jax.vjp(sg.relu, x)
    assert np.array_equal(pull(jnp.array([jnp.inf, jnp.inf]))[0], [0.0, np.inf])
    assert np.isnan(jax.grad(sg.relu)(jnp.nan))
    assert np.array_equal(sg.relu.backward(x, jnp.full(2, jnp.nan)), [0.0, np.nan], equal_nan=True)


def scanned(x: Any) -> Any:
    return jax.lax.scan(lambda carry, row: (sg.gelu(carry + row), sg.tanh(row)), x[0], x)[0]


Unary = Callable[[Any], Any]

TRANSFORMED: dict[str, Callable[[Unary, Any], Any]] = {
    "jit": lambda f, x: jax.jit(f)(x),
    "vmap": lambda f, x: jax.vmap(f)(x),
    "vmap of columns": lambda f, x: jax.vmap(f, in_axes=1, out_axes=1)(x),
    "checkpoint": lambda f, x: jax.checkpoint(f)(x),
    "linearize": lambda f, x: jax.linearize(f, x)[0],
    "map": jax.lax.map,
    "cond": lambda f, x: jax.lax.cond(x[0, 0] < 9, f, jnp.negative, x),
    "pmap": lambda f, x: jax.pmap(f)(x[None])[0],
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations(name: str, path: str) -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7)), jnp.float32)
    function = partial(sg.gelu)  # jit would reuse the other path's trace of sg.gelu
    result, expected = TRANSFORMED[name](function, x), sg.gelu(np.asarray(x))
    assert np.allclose(result, expected, rtol=1e-6, atol=1e-8)
    assert path == "operators" or np.array_equal(result, expected)


def test_scan_and_its_gradient(path: str) -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7)), jnp.float32)
    result = jax.jit(jax.grad(lambda x: scanned(x).sum()))(x)

    def unrolled(x: Any) -> Any:
        carry = x[0]
        for row in x:
            carry = jax.nn.gelu(carry + row, approximate=False)
        return carry.sum()

    assert np.allclose(result, jax.grad(unrolled)(x), rtol=1e-4, atol=1e-6)


def test_hessians(path: str) -> None:
    x = jnp.asarray(SMOOTH)
    hessian = jax.hessian(lambda x: sg.mish(x).sum())(x)
    assert np.allclose(hessian, np.diag(sg.mish.curvature(SMOOTH)), rtol=1e-5, atol=1e-6)


SHARDED = """
import os
os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=4"
import json, sys, jax, numpy as np, softgate as sg
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
x = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
x[0, 0] = 1e-40
ones, specs = np.ones_like(x), P("a", "b")
with sg.jax.prefer_operators():
    alone = np.asarray(sg.gelu(jax.numpy.asarray(x)))

def facts(kind):
    mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(kind, kind))
    where = NamedSharding(mesh, specs)
    with jax.set_mesh(mesh):
        placed = jax.device_put(x, where)
        mapped = jax.jit(jax.shard_map(sg.gelu, mesh=mesh, in_specs=specs, out_specs=specs))
        slope = jax.jit(jax.grad(lambda x: sg.gelu(x).sum()))
        results = [sg.gelu(placed), jax.jit(sg.gelu)(placed), mapped(placed), slope(placed)]
        results += [sg.leaky_relu(placed, slope=jax.numpy.float32(0.5)), sg.swiglu(placed, placed)]
        programs = [f.lower(placed).compile().as_text() for f in (jax.jit(sg.gelu), slope)]
        text = "".join(programs)
        within = jax.shard_map(lambda x, w: jax.vjp(sg.swiglu, x, w)[1](x), mesh=mesh,
            in_specs=(specs, P(None, "b")), out_specs=(specs, P(None, "b")))
        shared = jax.device_put(x[:4], NamedSharding(mesh, P(None, "b")))
        by_x, _ = jax.jit(within)(placed, shared)
        called = mapped.lower(placed).compile().as_text()
        path = str(sg.explain(placed))
    same = [y.sharding.is_equivalent_to(where, 2) for y in results]
    collective = ("all-gather", "all-reduce", "collective", "custom-call")
    moved = [word for word in collective if word in text]
    halves = np.tile(x[:4], (2, 1))
    bits = [
        np.array_equal(results[0], alone) and np.array_equal(results[1], alone),
        np.asarray(results[2]).tobytes() == sg.gelu(x).tobytes(),
        np.asarray(by_x).tobytes() == sg.swiglu.backward(x, halves, x)[0].tobytes(),
    ]
    return same, bits, moved, "custom-call" in called, path

of_all = jax.pmap(jax.grad(lambda x: sg.gelu(x).sum()))(x.reshape(4, -1))
mapped = np.asarray(of_all).tobytes() == sg.gelu.backward(x, ones).tobytes()
print(json.dumps([jax.device_count(), mapped, facts(AxisType.Auto), facts(AxisType.Explicit)]))
"""


def test_sharded_arrays_stay_where_they_are() -> None:
    """On meshes with axes of both types."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", SHARDED],
        env=os.environ | quick_flags(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    devices, mapped, *meshes = json.loads(result.stdout)
    assert (devices, mapped, len(meshes)) == (4, True, 2)
    for *facts, path in meshes:
        assert facts == [[True] * 6, [True] * 3, [], True]
        assert "takes subnormal numbers for 0 (the array is on 4 devices)" in path


def test_exported_for_any_length() -> None:
    (length,) = jax.export.symbolic_shape("n")
    shape = jax.ShapeDtypeStruct((length, 3), jnp.float32)
    exported = jax.export.deserialize(jax.export.export(jax.jit(sg.gelu))(shape).serialize())
    x = np.ones((5, 3), np.float32)
    with softgate.jax.prefer_operators():
        expected = sg.gelu(jnp.asarray(x))
    assert np.array_equal(exported.call(x), expected)


def test_integers_and_weak_types() -> None:
    for kind in (jnp.int8, jnp.int32, jnp.bool_):
        assert sg.gelu(jnp.ones(2, kind)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert sg.gelu(jnp.ones(2, jnp.int32)).dtype == jnp.float64
        assert sg.gelu(jnp.ones(2, jnp.float32)).dtype == jnp.float32
    weak = jnp.asarray(1.0)
    assert weak.weak_type
    assert sg.gelu(weak).weak_type == jax.nn.gelu(weak, approximate=False).weak_type
    assert sg.gelu(jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
    assert jax.grad(lambda x: sg.gelu(x).sum())(jnp.ones(2, jnp.float16)).dtype == jnp.float16


GATED = list(sg.gated().values())


@pytest.mark.parametrize("function", GATED, ids=[function.name for function in GATED])
def test_gated_functions(function: Activation) -> None:
    rng = np.random.default_rng(1)
    a, b, grad = (rng.normal(size=(3, 4)).astype(np.float32) for _ in range(3))
    arrays = [jnp.asarray(x) for x in (a, b, grad)]
    near: dict[str, float] = {"rtol": 2e-6, "atol": 1e-7}
    assert np.allclose(function(*arrays[:2]), function(a, b), **near)
    assert np.allclose(function(arrays[0], axis=0 - 1), function(a), **near)
    assert np.allclose(function(arrays[0], 2.0), function(a, 2.0), **near)
    assert np.allclose(function(*arrays[:2], gate="second"), function(a, b, gate="second"), **near)
    for quantity, operands in (("slope", 2), ("curvature", 2), ("backward", 3)):
        method = getattr(function, quantity)
        results, expected = method(*arrays[:operands]), method(*(a, b, grad)[:operands])
        for mine, theirs in zip(results, expected, strict=True):
            assert isinstance(mine, jax.Array)
            assert np.allclose(mine, theirs, rtol=1e-5, atol=1e-6), quantity
    assert np.allclose(function.slope(arrays[0]), function.slope(a), **near)
    pull = jax.vjp(function, *arrays[:2])[1](arrays[2])
    for mine, theirs in zip(pull, function.backward(a, b, grad), strict=True):
        assert np.allclose(mine, theirs, **near)


def test_gated_parameters() -> None:
    a, b = jnp.asarray(SMOOTH), jnp.asarray(SMOOTH[::-1].copy())
    result = sg.swiglu(a, b, beta=jnp.float32(1.5))
    assert np.allclose(result, sg.swiglu(np.asarray(a), np.asarray(b), beta=1.5), rtol=1e-6)
    assert np.allclose(sg.swiglu.bind(beta=1.5)(a, b), result, rtol=1e-6)
    slope = jax.grad(lambda beta: sg.swiglu(a, b, beta=beta).sum())(1.5)
    plain = jax.grad(lambda beta: (a * jax.nn.sigmoid(beta * a) * b).sum())(1.5)
    assert np.isclose(slope, plain, rtol=1e-4)


def test_a_formula_of_ones_own() -> None:
    @sg.activation
    def mine(f: Any, x: Any, *, k: float = 2.0) -> Any:
        return x * f.sigmoid(k * x) + f.maximum(x, 0)

    x = jnp.asarray(SMOOTH)
    assert np.allclose(mine(x), mine(SMOOTH), rtol=1e-6)
    assert np.allclose(jax.vmap(jax.grad(mine))(x), mine.slope(SMOOTH), rtol=1e-5)
    assert np.allclose(mine(x, k=jnp.float32(1.5)), mine(SMOOTH, k=1.5), rtol=1e-5)
    assert np.isfinite(jax.grad(lambda k: mine(x, k=k).sum())(1.5))
    ends = np.array([np.inf, -np.inf], np.float32)
    assert np.array_equal(mine(jnp.asarray(ends)), mine(ends))
    with jax.enable_x64(True):  # there it is computed in float64 and rounded once, as in NumPy
        assert np.array_equal(mine(jnp.asarray(SMOOTH)), mine(SMOOTH))


def test_parameters_named_like_what_the_source_uses() -> None:
    @sg.activation
    def odd(f: Any, x: Any, *, t0: float = 2.0, jnp: float = 3.0, lax: float = 1.0) -> Any:
        return t0 * f.tanh(x) + jnp * x + lax

    x = np.linspace(-1, 1, 5, dtype=np.float32)
    array = jax.numpy.asarray(x)
    assert np.allclose(odd(array, t0=array.sum() + 4), odd(x, t0=4.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda x: sg.gelu(x.astype(complex)), TypeError, "complex64: expected.*integers"),
        (lambda x: sg.gelu(x.astype(complex)), TypeError, "become float32, or float64 with jax"),
        (lambda x: sg.gelu(x, out=np.ones(7)), TypeError, "cannot be written to"),
        (lambda x: sg.gelu(x, beta=2), TypeError, "gelu has no parameter 'beta'"),
        (lambda x: sg.silu(x, b=x), TypeError, "silu has no parameter 'b'"),
        (lambda x: sg.silu(x, beta=jnp.ones(3)), ValueError, r"beta has shape \(3,\): expected"),
        (lambda x: sg.silu(x, beta=jnp.ones((2, 7))), ValueError, r"broadcasts to x's \(7,\)"),
        (lambda x: sg.silu(x, beta="1"), TypeError, "expected a real number"),
        (lambda x: sg.hard_tanh(x, low=2, high=1), ValueError, "must be greater than low"),
        (lambda x: sg.gelu(x, arithmetic="float64"), ValueError, "jax_enable_x64"),
        (lambda x: sg.gelu(x, arithmetic="float16"), ValueError, "expected"),
        (sg.glu, ValueError, "two equal halves, and x has the odd length 7"),
        (lambda x: sg.glu(x[0]), ValueError, "0 dimensions"),
        (lambda x: sg.glu(x, x, axis=0), TypeError, "splits one array along an axis"),
        (lambda x: sg.glu(x[:6], out=x), TypeError, "cannot be written to"),
        (lambda x: sg.silu(np.ones(3), beta=x[0]), TypeError, "expected a real number"),
        (lambda x: softgate.jax.get("no_such"), ValueError, "no_such"),
        (lambda x: softgate.jax.no_such, AttributeError, "no_such"),
    ],
)
def test_wrong_input_is_named(wrong: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        wrong(jnp.asarray(SMOOTH))


def test_explain() -> None:
    x = jnp.asarray(SMOOTH)
    assert str(sg.explain(x)) == (
        "gelu of float32[7]: the float32 kernel, called by XLA for cpu; as JAX has it; 1 thread"
    )
    assert sg.explain(jnp.ones((1 << 20, 2))).threads == min(64, os.cpu_count() or 1)
    tabulated = str(sg.explain(x.astype(jnp.bfloat16), "tanh", quantity="slope"))
    assert "a table of the 65,536 bfloat16 results, correctly rounded, called by XLA" in tabulated
    messages = []
    jax.jit(lambda x: (messages.append(str(sg.explain(x, "mish"))), x)[1])(x)
    assert "the float32 kernel, called by XLA for cpu; JAX operators if the pr" in messages[0]
    for text in (
        str(sg.explain((x, x), "swiglu", quantity="slope")),
        str(sg.explain(x[1:], "glu")),
    ):
        assert ": the float32 kernel, called by XLA for cpu" in text
    assert sg.explain(jnp.ones(14), "glu").shape == (14,)


def test_explain_operators() -> None:
    x = jnp.asarray(SMOOTH)
    messages = [str(sg.explain(x, "silu", beta=x[0]))]
    jax.jit(lambda x: (messages.append(str(sg.explain(x, "silu", beta=x[0]))), x)[1])(x)
    for text in messages:
        assert "stable form in JAX operators, float32, compiled by XLA for cpu" in text
        assert "takes subnormal numbers for 0 (a parameter is an array)" in text
    with softgate.jax.prefer_operators():
        narrow = str(sg.explain(x.astype(jnp.bfloat16), "tanh"))
        pair = str(sg.explain((x, x), "swiglu", quantity="slope"))
    assert "rounded once to bfloat16" in narrow
    assert "(prefer_operators is active)" in narrow
    assert "the stable form of silu, times the other operand, in JAX" in pair
    half = x.astype(jnp.float16)
    wide = str(sg.explain((half, half), "swiglu", quantity="curvature"))
    assert "the float64 kernel, rounded once to float16, called by XLA" in wide

    @sg.activation
    def square(f: Any, x: Any, *, k: float = 2.0) -> Any:
        return k * x * x

    assert "the definition in JAX operators" in str(sg.explain(x, square, k=x[0]))


def test_names() -> None:
    assert softgate.jax.gelu is sg.gelu is softgate.jax.get("gelu")
    assert softgate.jax.swiglu is sg.swiglu
    assert softgate.jax.get("gelu_new") is sg.gelu_tanh
    assert softgate.jax.get("gelu", source="jax") is sg.gelu_tanh
    assert softgate.jax.get("hard_silu") is sg.hard_swish
    assert softgate.jax.get("jax.nn.leaky_relu", negative_slope=0.2).parameters == {"slope": 0.2}
    assert "gelu" in dir(softgate.jax)
    assert sg.jax is softgate.jax


def fit(model: Callable[[Any, Any], Any], weights: Any) -> list[float]:
    """Fit y = sin(3x) by gradient descent, jitted; return the losses."""
    x = jnp.linspace(-1, 1, 64)[:, None]

    def loss(weights: Any) -> Any:
        return ((model(weights, x) - jnp.sin(3 * x)) ** 2).mean()

    def step(weights: Any) -> tuple[Any, Any]:
        value, slope = jax.value_and_grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, slope), value

    losses, program = [], jax.jit(step).lower(weights).compile(compiler_options=quick_options())
    for _ in range(60):
        weights, value = program(weights)
        losses.append(float(value))
    return losses


def test_a_flax_model_learns() -> None:
    class Model(flax.linen.Module):
        activation: Callable[[Any], Any]

        @flax.linen.compact
        def __call__(self, x: Any) -> Any:
            x = self.activation(flax.linen.Dense(16)(x))
            return flax.linen.Dense(1)(x)

    model = Model(sg.gelu)
    weights = model.init(jax.random.key(0), jnp.ones((1, 1)))
    losses = fit(model.apply, weights)
    assert losses[-1] < 0.5 * losses[0]
    exact = Model(lambda x: jax.nn.gelu(x, approximate=False))
    assert np.allclose(losses, fit(exact.apply, weights), rtol=1e-3)


def test_an_equinox_model_learns() -> None:
    model = equinox.nn.MLP(1, 1, 16, 1, activation=sg.silu, key=jax.random.key(0))
    arrays, rest = equinox.partition(model, equinox.is_array)

    def apply(arrays: Any, x: Any) -> Any:
        return jax.vmap(equinox.combine(arrays, rest))(x)

    losses = fit(apply, arrays)
    assert losses[-1] < 0.5 * losses[0]


def test_an_array_of_numpy_may_stand_on_either_side() -> None:
    x, y = np.linspace(-2, 2, 5, dtype=np.float32), jax.numpy.ones(5)
    wanted = sg.swiglu(jax.numpy.asarray(x), y)
    for result in (sg.swiglu(x, y), sg.swiglu(y, x, gate="second")):
        assert isinstance(result, jax.Array)
        assert np.array_equal(result, wanted)


def test_a_mistyped_name() -> None:
    with pytest.raises(AttributeError, match="did you mean 'gelu'"):
        softgate.jax.geluu  # noqa: B018
