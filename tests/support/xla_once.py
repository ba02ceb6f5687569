"""Compiling with XLA for one run: most of a test's time is otherwise spent optimising its code."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax

OPTIONS = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
"""XLA's own passes over the graph run in full; code generation does as little as possible."""


@lru_cache
def quick_options() -> dict[str, Any]:
    """Return those of the options that this version of XLA has."""
    identity = jax.jit(lambda x: x).lower(1.0)

    def known(option: dict[str, Any]) -> bool:
        try:
            identity.compile(compiler_options=option)
        except jax.errors.JaxRuntimeError as error:
            if "No such compile option" not in str(error):
                raise
            return False
        return True

    return {name: value for name, value in OPTIONS.items() if known({name: value})}


def quick_flags() -> dict[str, str]:
    """Return these options as an environment for another process."""
    return {"XLA_FLAGS": " ".join(f"--{name}={value}" for name, value in quick_options().items())}


def run_once(
    call: Callable[..., Any], *arguments: Any, options: dict[str, Any] | None = None
) -> Any:
    """Return call(*arguments), compiled as a whole; `options` are `quick_options()` by default."""
    options = quick_options() if options is None else options
    return jax.jit(call).lower(*arguments).compile(compiler_options=options)(*arguments)
