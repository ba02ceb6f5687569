"""Functions that jax.nn has no name for, composed of what it has as people do."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def gelu_sigmoid(x: Any) -> Any:
    """x·σ(1.702·x)."""
    return x * jax.nn.sigmoid(1.702 * x)


def squared_relu(x: Any) -> Any:
    """max(x, 0)²."""
    return jnp.square(jax.nn.relu(x))


def tanhshrink(x: Any) -> Any:
    """X - tanh(x)."""
    return x - jnp.tanh(x)
