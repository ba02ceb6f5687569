"""JAX where digits may be lost: derivatives by parameters, derivatives far out, tiny numbers."""

from __future__ import annotations

from typing import Any

import jax
import mpmath
import numpy as np
import pytest
from xla_once import run_once

import softgate as sg

LEARNT = (("silu", "beta"), ("softplus", "beta"), ("celu", "alpha"))
FAR = (-np.inf, -1e30, -1e6, 1e6, 1e30, np.inf)


def by_parameter(name: str, parameter: str, value: float, x: Any) -> np.ndarray:
    function = sg.get(name)
    gradient = jax.grad(lambda value, x: function(x, **{parameter: value}))
    return np.asarray(jax.vmap(gradient, (None, 0))(jax.numpy.float32(value), jax.numpy.asarray(x)))


def true(name: str, parameter: float, x: float) -> float:
    """The derivative by the parameter, to many digits."""
    with mpmath.workdps(60):
        p, x = mpmath.mpf(float(np.float32(parameter))), mpmath.mpf(x)
        if name == "silu":
            result = x * x * mpmath.exp(p * x) / (1 + mpmath.exp(p * x)) ** 2
        elif name == "softplus":
            result = x / (1 + mpmath.exp(-p * x)) / p - mpmath.log1p(mpmath.exp(p * x)) / p**2
        else:
            result = 0 if x > 0 else mpmath.expm1(x / p) - x / p * mpmath.exp(x / p)
        return float(result)


@pytest.mark.parametrize(("name", "parameter"), LEARNT)
@pytest.mark.parametrize("value", [1.0, 0.3, 2.5])
def test_derivatives_by_parameters_do_not_cancel(name: str, parameter: str, value: float) -> None:
    sizes = np.geomspace(1e-6, 30, 60)
    x = np.concatenate([-sizes, sizes]).astype(np.float32)
    result = by_parameter(name, parameter, value, x)
    for item, at in zip(result, x.tolist(), strict=True):
        wanted = true(name, value, at)
        allowed = 2.0**-22 * (2 + abs(at) * max(value, 1 / value))
        assert abs(item - wanted) <= allowed * abs(wanted), (at, item, wanted)


@pytest.mark.parametrize(("name", "parameter"), LEARNT)
def test_derivatives_by_parameters_at_the_ends(name: str, parameter: str) -> None:
    x = np.array(FAR, np.float32)
    left = -1.0 if name == "celu" else 0.0
    result = by_parameter(name, parameter, 1.5, x)
    assert np.array_equal(result, [left] * 3 + [0.0] * 3)
    assert np.isnan(by_parameter(name, parameter, 1.5, np.array([np.nan], np.float32)))


@pytest.mark.parametrize("name", sg.activations())
def test_third_derivatives_far_out(name: str) -> None:
    x = jax.numpy.asarray(FAR, jax.numpy.float32)
    third = jax.vmap(jax.grad(jax.grad(jax.grad(sg.activations()[name]))))
    if name == "exponential":
        x = x[:3]  # it is its own derivative
    # That of sqrtsoftplus falls as x**-2.5, that of log_ndtr as x**-3.
    atol = 1e-15 if name in ("sqrtsoftplus", "log_ndtr") else 1e-18
    assert np.allclose(run_once(third, x), 0.0, rtol=0, atol=atol)


def test_fourth_derivatives_far_out_and_at_nan() -> None:
    fourth = jax.grad(jax.grad(jax.grad(jax.grad(sg.softplus))))
    x = jax.numpy.asarray([*FAR, np.nan], jax.numpy.float32)
    assert np.array_equal(jax.vmap(fourth)(x), [0.0] * 6 + [np.nan], equal_nan=True)


def test_the_smallest_normal_numbers_operator_by_operator() -> None:
    size = np.geomspace(1.2e-38, 1e-36, 500).astype(np.float32)
    x = np.concatenate([-size, size])
    wanted = sg.selu(x)
    with jax.disable_jit():
        result = np.asarray(sg.selu(jax.numpy.asarray(x)))
    assert np.max(np.abs(result - wanted.astype(np.float64)) / np.spacing(np.abs(wanted))) <= 2
