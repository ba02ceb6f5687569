"""Functions of JAX arrays; derivatives by reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import Array, Plain


class Jax(Plain):
    """A function of a JAX array, which is a copy: strides and addresses are not preserved."""

    framework = "jax"
    packages = ("jax", "jaxlib", "numpy")
    strides = False
    addresses = False
    quantities = ("value", "slope", "curvature")

    def __init__(self, function: Callable[..., Any], packages: tuple[str, ...] = ()) -> None:
        super().__init__(function, packages)
        slope = _derivative(function)
        self.forms = {"value": function, "slope": slope, "curvature": _derivative(slope)}

    def call(self, quantity: str, x: Array) -> Any:
        """Return a quantity at `x`; float64 is switched on for float64 arrays only."""
        jax.config.update("jax_enable_x64", x.dtype == np.float64)  # type: ignore[no-untyped-call]
        result = self.forms[quantity](jnp.array(x))
        return np.asarray(result) if isinstance(result, jax.Array) else result


def _derivative(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return the derivative of an elementwise function."""

    def derivative(x: Any) -> Any:
        y, pull_back = jax.vjp(function, x)
        (slope,) = pull_back(jnp.ones_like(y))
        return slope

    return derivative
