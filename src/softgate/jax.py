"""softgate for JAX: every function of softgate by its name, and `get` for other frameworks' names.

`softgate.jax.gelu` is `softgate.gelu`: the same call takes JAX's arrays and tracers, under jit,
grad, jvp, vmap, scan and on sharded arrays, with derivatives of every order, also with respect to
parameters that are arrays. Importing this module raises if JAX is missing or too old.

On CPUs XLA calls the kernels that NumPy arrays use: the same bits, subnormal numbers included. On
other platforms, in exported programs, in programs partitioned over several devices, with parameters
that are arrays, and within `prefer_operators`, functions consist of JAX operators: the last bits
differ, on CPUs XLA flushes subnormal numbers to 0 there, and float16 and bfloat16 are computed in
float32 and rounded twice. `softgate.explain` prints which of them runs.

Examples
--------
>>> import jax, softgate.jax
>>> jax.jit(softgate.jax.gelu)(jax.numpy.array([-1.0, 1.0]))
Array([-0.15865526,  0.8413447 ], dtype=float32)
>>> float(jax.grad(softgate.jax.gelu)(0.0))
0.5
"""

from __future__ import annotations

from typing import Any

from .frameworks.jax.cpu_kernels import prefer_operators
from .runtime.activation import Activation
from .runtime.lookup import lookup, nearest
from .runtime.registry import functions

__all__ = ["get", "prefer_operators"]


def get(name: str, source: str | None = None, **parameters: Any) -> Activation | Any:
    """Return a function by name: softgate's, else JAX's, else any framework's.

    Parameters
    ----------
    name : str
        "gelu", "gelu_new", "hard_silu", "jax.nn.leaky_relu".
    source : str, optional
        The framework that the name belongs to, as in `softgate.get`. `jax.nn.gelu` is the tanh form
        by default: get("gelu", source="jax").
    **parameters
        softgate's parameters, or those of the framework.

    Returns
    -------
    Activation
        With the parameters bound.

    Examples
    --------
    >>> get("gelu").name, get("gelu_new").name, get("gelu", source="jax").name
    ('gelu', 'gelu_tanh', 'gelu_tanh')
    >>> get("hard_silu").name
    'hard_swish'
    """
    return lookup(name, parameters, source=source, prefer=["jax"])


def __getattr__(name: str) -> Any:
    """Return one of softgate's functions."""
    function = functions().get(name)
    if function is None:
        near = " or ".join(map(repr, nearest(name, functions())))
        meant = f"did you mean {near}? " if near else ""
        known = f"choose from {', '.join(functions())}"
        raise AttributeError(f"softgate.jax has no {name!r}: {meant}{known}")
    return function


def __dir__() -> list[str]:
    return sorted(["get", "prefer_operators", *functions()])
