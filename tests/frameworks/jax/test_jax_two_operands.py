"""Users' formulas of two operands in JAX: bits of NumPy, derivatives, transformations, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from xla_once import run_once

import softgate as sg
import softgate.jax
from softgate.runtime.activation import Activation

NARROW = [np.float16, ml_dtypes.bfloat16]
WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


@sg.activation
def capped_gate(f: Any, gate: Any, up: Any, limit: float = 7.0) -> Any:
    return f.sigmoid(gate) * f.minimum(up, limit)


@sg.activation
def bent(f: Any, x: Any, y: Any, k: float = 0.5) -> Any:
    return f.exp(-k * x * x) * f.tanh(y) + x * y * y


@sg.activation(fast=True)
def fast_gate(f: Any, jnp: Any, t0: Any) -> Any:
    return f.softplus(jnp) * f.sin(t0)


FORMULAS = [capped_gate, bent, fast_gate]
each_formula = pytest.mark.parametrize("function", FORMULAS, ids=[f.name for f in FORMULAS])


def arrays(dtype: Any, count: int = 3) -> list[Any]:
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, 1e-40, -30.0, np.nan, np.inf, -np.inf, 7.0, 6e-8, 9.0])
    columns = []
    for place in range(count):
        values = np.concatenate([rng.normal(0, 3, 590), np.roll(special, place)])
        columns.append(values.astype(dtype).reshape(3, 200))
    return columns


def assert_same_bits(result: Any, expected: Any) -> None:
    """Raise unless all results have the same bits; every NaN is equal to every other."""
    results, wanted = jax.tree.leaves(result), jax.tree.leaves(expected)
    for x, y in zip(map(np.asarray, results), map(np.asarray, wanted), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        with np.errstate(invalid="ignore"):
            nan = np.isnan(x.astype(np.float64)) & np.isnan(y.astype(np.float64))
        word = WORDS[x.itemsize]
        assert not np.any((x.view(word) != y.view(word)) & ~nan)


def quantities(function: Activation, a: Any, b: Any, grad: Any) -> tuple[Any, ...]:
    half = grad[:, :100]
    of_pair = function(a, b), function.slope(a, b), function.backward(a, b, grad)
    of_halves = function(a, axis=-1), function.slope(a), function.backward(a, half)
    return *of_pair, tuple(function.curvature(a, b)), *of_halves, tuple(function.curvature(a))


@each_formula
@pytest.mark.parametrize("dtype", [np.float32, np.float64, *NARROW])
def test_bits_are_those_of_numpy(function: Activation, dtype: Any) -> None:
    with np.errstate(all="ignore"), jax.enable_x64(dtype is np.float64):
        a, b, grad = arrays(dtype)
        expected = quantities(function, a, b, grad)
        eager = [jnp.asarray(x) for x in (a, b, grad)]
        assert_same_bits(quantities(function, *eager), expected)
        assert_same_bits(jax.jit(quantities, static_argnums=0)(function, a, b, grad), expected)
        pull = jax.jit(lambda a, b, grad: jax.vjp(function, a, b)[1](grad))(a, b, grad)
        assert_same_bits(pull, function.backward(a, b, grad))


@pytest.mark.parametrize("dtype", [np.float32, *NARROW])
def test_parameters(dtype: Any) -> None:
    a, b, grad = arrays(dtype)
    with np.errstate(all="ignore"):
        for limit in (2.5, 0.3):
            results = jax.vjp(lambda a, b, limit=limit: capped_gate(a, b, limit=limit), a, b)
            assert_same_bits(results[0], capped_gate(a, b, limit=limit))
            assert_same_bits(results[1](grad), capped_gate.backward(a, b, grad, limit=limit))
        bound = capped_gate.bind(limit=2.5)
        assert_same_bits(jax.jit(bound)(a, b), bound(a, b))


def test_derivatives_by_array_parameters() -> None:
    a, b = (jnp.asarray(x[:, :50]) for x in arrays(np.float32, 2))

    def total(k: Any) -> Any:
        return bent(a, b, k=k).sum()

    slopes = jax.grad(total)(jnp.float32(0.7)), jax.grad(jax.grad(total))(jnp.float32(0.7))
    decay = np.exp(-0.7 * a * a) * np.tanh(b)
    assert np.allclose(slopes, [np.sum(-a * a * decay), np.sum(a**4 * decay)], rtol=1e-4)
    row = jnp.linspace(1, 8, 50)
    expected = capped_gate(np.asarray(a), np.asarray(b), limit=np.asarray(row))
    assert np.allclose(capped_gate(a, b, limit=row), expected, rtol=1e-6)
    slope = jax.grad(lambda row: capped_gate(a, b, limit=row).sum())(row)
    wanted = np.where(np.asarray(b) > row, 1 / (1 + np.exp(-np.asarray(a))), 0).sum(0)
    assert np.allclose(slope, wanted, rtol=1e-5)
    with pytest.raises(ValueError, match=r"limit has shape \(3,\): expected one that broadcasts"):
        capped_gate(a, b, limit=jnp.ones(3))


def plain(x: Any, y: Any) -> Any:
    return jnp.exp(-0.5 * x * x) * jnp.tanh(y) + x * y * y


@pytest.mark.parametrize("path", ["kernels", "operators"])
def test_higher_derivatives(path: str) -> None:
    def evaluated(x: Any, y: Any) -> list[Any]:
        results = []
        for function in (bent, plain):
            second = jax.hessian(function, (0, 1))
            third = jax.jacfwd(second, (0, 1))
            pulled = jax.grad(lambda x, y, f=function: jax.grad(f, 1)(x, y), (0, 1))(x, y)
            results.append([second(x, y), third(x, y), pulled])
        for slopes in (bent.backward, lambda x, y, grad: jax.vjp(plain, x, y)[1](grad)):
            results.append([jax.jacfwd(slopes, (0, 1, 2))(x, y, 2.0)])
            results.append([jax.jacrev(slopes, (0, 1, 2))(x, y, 2.0)])
        return results

    with jax.enable_x64(True):
        if path == "operators":
            with softgate.jax.prefer_operators():
                results = run_once(evaluated, 0.7, -0.3)
        else:
            results = run_once(evaluated, 0.7, -0.3)
    derivatives, expected, forward, reverse, *backward = results
    for found, wanted in ((derivatives, expected), ([forward, reverse], backward)):
        assert np.allclose(jax.tree.leaves(found), jax.tree.leaves(wanted), rtol=1e-10)


@pytest.mark.parametrize("function", sg.gated().values(), ids=sg.gated())
@pytest.mark.parametrize("path", ["kernels", "operators"])
def test_third_derivatives_of_gated_functions(function: Activation, path: str) -> None:
    """Compared with differences of the second ones."""
    point, step = np.array([0.7, -0.4]), 1e-5

    def curvature(a: Any, b: Any) -> Any:
        return jnp.stack(jax.tree.leaves(jax.hessian(function, (0, 1))(a, b)))

    def third(point: Any) -> Any:
        return jnp.stack(jax.jacfwd(curvature, (0, 1))(*point))

    with jax.enable_x64(True):
        if path == "operators":
            with softgate.jax.prefer_operators():
                found = run_once(third, point)
        else:
            found = run_once(third, point)
    for place in range(2):
        moved = step * np.eye(2)[place]
        aa, ab, bb = (
            (np.array(x) - np.array(y)) / (2 * step)
            for x, y in zip(
                function.curvature(*(point + moved)),
                function.curvature(*(point - moved)),
                strict=True,
            )
        )
        assert np.allclose(found[place], [aa, ab, ab, bb], rtol=1e-6, atol=1e-8)


def test_transformations_keep_the_bits() -> None:
    a, b, grad = arrays(np.float32)
    with np.errstate(all="ignore"):
        value, backward = bent(a, b), bent.backward(a, b, grad)
        row = bent.backward(a, np.broadcast_to(b[:1], a.shape), grad)

    def scanned(a: Any, b: Any) -> Any:
        return jax.lax.scan(lambda carry, rows: (carry, bent(*rows)), 0, (a, b))[1]

    results: dict[str, tuple[Any, Any]] = {
        "vmap": (jax.vmap(bent, 1, 1)(a, b), value),
        "vmap of one": (jax.vmap(bent.backward, (0, None, 0))(a, b[0], grad), row),
        "vmap of grad": (
            jax.vmap(jax.vmap(jax.grad(bent, (0, 1))))(a, b),
            bent.backward(a, b, np.ones_like(a)),
        ),
        "linearize": (jax.linearize(lambda a: bent(a, b), a)[1](grad), backward[0]),
        "scan": (scanned(a, b), value),
        "vjp of scan": (jax.vjp(scanned, a, b)[1](grad), backward),
        "checkpoint": (jax.vjp(jax.checkpoint(bent), a, b)[1](grad), backward),
    }
    for name, (found, expected) in results.items():
        try:
            assert_same_bits(found, expected)
        except AssertionError as error:
            raise AssertionError(name) from error


@each_formula
def test_operators_and_exports(function: Activation) -> None:
    a, b = (np.nan_to_num(x, posinf=3, neginf=-3) for x in arrays(np.float32, 2))

    @jax.jit
    def call(a: Any, b: Any) -> Any:
        return function(a, b), *jax.vjp(function, a, b)[1](a)

    expected = function(a, b), *function.backward(a, b, a)
    exported = jax.export.export(call, platforms=["cpu", "cuda"])(a, b)
    assert "custom_call" not in exported.mlir_module()
    with softgate.jax.prefer_operators():
        preferred = jax.jit(lambda a, b: (function(a, b), *function.backward(a, b, a)))(a, b)
    for results in (exported.call(a, b), preferred):
        for found, wanted in zip(results, expected, strict=True):
            assert np.allclose(found, wanted, rtol=2e-5, atol=1e-6)


def test_symbolic_shapes() -> None:
    shape = jax.export.symbolic_shape("n, 2*m")
    halves: Callable[..., Any] = jax.jit(sg.swiglu.slope)
    exported = jax.export.export(halves)(jax.ShapeDtypeStruct(shape, np.float32))
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(2, 6)
    assert np.allclose(exported.call(x), sg.swiglu.slope(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda x: bent(x, x, x), TypeError, r"with 3 operands: expected bent\(x, y\), or one arr"),
        (bent.backward, TypeError, "with 1 operand: expected bent.backward"),
        (lambda x: bent(x, x[:2]), ValueError, r"do not broadcast: x \(7,\), y \(2,\)"),
        (lambda x: sg.glu(x, x[:2]), ValueError, r"do not broadcast: a \(7,\), b \(2,\)"),
        (lambda x: bent(x, x, gate="second"), TypeError, "bent has no parameter 'gate'"),
        (bent, ValueError, "two equal halves, and x has the odd length 7"),
        (lambda x: bent.backward(x[:6], x), ValueError, r"grad has shape \(7,\): a half of x has"),
        (lambda x: bent(x, x, axis=0), TypeError, "splits one array along an axis"),
        (
            lambda x: bent(x, x.astype(complex)),
            TypeError,
            "y has dtype complex64: expected",
        ),
        (lambda x: bent(x, x, k="1"), TypeError, "expected a real number"),
        (lambda x: bent(x, x, out=x), TypeError, "cannot be written to"),
    ],
)
def test_wrong_input_is_named(wrong: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as raised:
        wrong(jnp.ones(7))
    assert "\n" not in str(raised.value)


def test_explain() -> None:
    x = jnp.ones(8)
    text = str(sg.explain((x, x), bent, quantity="backward"))
    assert "the float64 kernel, rounded once to float32, called by XLA for cpu" in text
    half = str(sg.explain(x.astype(jnp.float16), bent))
    assert "bent of float16[8]: the float64 kernel, rounded once to float16" in half
    assert "the stable form in JAX operators, float32" in str(sg.explain((x, x), bent, k=x[0]))
