"""Typical code of users of PyTorch and JAX, as in `user_code.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, assert_type

import softgate as sg

if TYPE_CHECKING:
    import jax
    import torch
    from jax import numpy as jnp


def torch_tensors(x: torch.Tensor, weight: torch.nn.Parameter) -> None:
    assert_type(sg.gelu(x), torch.Tensor)
    assert_type(sg.gelu(weight), torch.Tensor)
    assert_type(sg.elu(x, alpha=0.5), torch.Tensor)
    assert_type(sg.gelu.slope(x), torch.Tensor)
    assert_type(sg.gelu.backward(x, x), torch.Tensor)
    assert_type(sg.swiglu(x), torch.Tensor)
    assert_type(sg.swiglu(x, weight), torch.Tensor)
    assert_type(sg.swiglu.slope(x, x), tuple[torch.Tensor, torch.Tensor])
    assert_type(sg.torch.functional.gelu(x, approximate="tanh"), torch.Tensor)
    assert_type(sg.torch.functional.leaky_relu_(x, 0.2), torch.Tensor)
    assert_type(sg.torch.functional.squareplus(x, b=1.0), torch.Tensor)
    function: Callable[[torch.Tensor], torch.Tensor] = sg.gelu
    module: torch.nn.Module = sg.torch.make("gelu_new")
    layers = torch.nn.Sequential(sg.torch.GELU(approximate="tanh"), module)
    block: torch.nn.Module = sg.torch.FeedForward(8, 32, activation=sg.gelu)
    print(function, layers, block, sg.torch.Activation("elu", alpha=0.5).activation.name)


def jax_arrays(x: jax.Array) -> None:
    assert_type(sg.gelu(x), jax.Array)
    assert_type(sg.jax.gelu(jnp.zeros(3)), jax.Array)
    assert_type(sg.elu(x, alpha=x[0]), jax.Array)
    assert_type(sg.gelu.slope(x), jax.Array)
    assert_type(sg.swiglu(x, x), jax.Array)
    assert_type(jax.vmap(sg.gelu)(x), jax.Array)
    slope: Callable[[jax.Array], jax.Array] = jax.grad(sg.gelu)
    print(slope(x[0]), jax.jit(sg.gelu)(x))


def mistakes(x: torch.Tensor) -> None:
    sg.gelu(x).nosuch  # error
    sg.torch.functional.gelu("1.0")  # error
    sg.torch.functional.leaky_relu(x, slope=0.2)  # error
    sg.torch.functional.gelu_(x, 1.0)  # error
    sg.torch.FeedForward(768)  # error
    sg.torch.GELU(approximat="tanh")  # error
