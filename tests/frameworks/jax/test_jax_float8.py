"""float8 and float4 arrays of JAX: the bits of NumPy's, under jit and with derivatives."""

from __future__ import annotations

from typing import Any

import float8
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import softgate as sg

NAMES = tuple(name for name in float8.NAMES if "float6" not in name)
"""XLA has no arrays of 6 bits."""


def bits(x: Any) -> Any:
    """The bit patterns of an array."""
    return np.asarray(x).view(np.uint8)


@pytest.mark.parametrize("name", NAMES)
def test_bits_are_those_of_numpy(name: str) -> None:
    array = float8.patterns(name)
    x = jnp.asarray(array)
    assert np.array_equal(bits(sg.gelu(x)), bits(sg.gelu(array)))
    assert np.array_equal(bits(jax.jit(sg.gelu.slope)(x)), bits(sg.gelu.slope(array)))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_every_quantity_under_jit_and_autodiff(name: str) -> None:
    array = float8.patterns(name)
    x = jnp.asarray(array)
    pairs = jnp.broadcast_arrays(x[:, None], x[None])
    for function in (sg.sigmoid, sg.relu):
        for compute in (function, function.slope, function.curvature):
            expected = compute(array).view(np.uint8)
            assert compute(x).dtype == array.dtype
            assert np.array_equal(bits(compute(x)), expected)
            assert np.array_equal(bits(jax.jit(lambda v, f=compute: f(v) * 1)(x)), expected)
        products = function.backward(array[:, None], array[None])
        assert np.array_equal(bits(function.backward(x[:, None], x[None])), bits(products))
        # The same products by autodiff; a zero may have another sign.
        (gradients,) = jax.jit(lambda v, g, f=function: jax.vjp(f, v)[1](g))(*pairs)
        assert gradients.dtype == array.dtype
        wide = np.asarray(gradients).astype(np.float32)
        np.testing.assert_array_equal(wide, products.astype(np.float32))


def test_transformations() -> None:
    x = jnp.asarray(float8.patterns("float8_e4m3fn")).reshape(16, 16)
    assert np.array_equal(bits(jax.vmap(sg.gelu)(x)), bits(sg.gelu(x)))
    _, tangents = jax.jvp(sg.gelu, (x,), (jnp.ones_like(x),))
    finite = np.isfinite(np.asarray(x).astype(np.float32))
    slopes = np.asarray(sg.gelu.slope(x)).astype(np.float32)
    assert np.array_equal(np.asarray(tangents).astype(np.float32)[finite], slopes[finite])
    value = jnp.float8_e5m2(0.5)
    twice = jax.grad(jax.grad(lambda v: sg.tanh(v).astype(jnp.float32)))(value)
    assert twice == sg.tanh.curvature(value)
    third = jax.grad(lambda v: sg.tanh.curvature(v).astype(jnp.float32))(value)
    expected = jax.grad(sg.tanh.curvature)(0.5)
    assert third == expected.astype(jnp.float8_e5m2)
    by_x, by_grad = jax.grad(
        lambda v, g: sg.tanh.backward(v, g).astype(jnp.float32), argnums=(0, 1)
    )(value, value)
    assert by_grad == sg.tanh.slope(value)
    assert by_x == (sg.tanh.curvature(jnp.float32(0.5)) * 0.5).astype(jnp.float8_e5m2)


def test_parameters_and_explain() -> None:
    x = jnp.array([-1.0, 2.0], jnp.float8_e4m3fn)
    assert sg.leaky_relu(x, slope=0.5).tolist() == [-0.5, 2.0]
    assert sg.gelu.backward(x, 0.5).dtype == x.dtype
    table = "a table of the 256 float8_e4m3fn results, correctly rounded, gathered by XLA"
    assert sg.explain(x).computed_by == table
    with pytest.raises(TypeError, match="tables need numbers as parameters"):
        sg.leaky_relu(x, slope=jnp.array([0.1, 0.2]))
    with pytest.raises(TypeError, match="has dtype float8_e4m3fn: expected"):
        sg.swiglu(x, x)
    with pytest.raises(TypeError, match="has dtype float8_e8m0fnu: expected"):
        sg.gelu(jnp.ones(2, jnp.float8_e8m0fnu))
