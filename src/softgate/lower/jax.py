"""Graphs in JAX operators: stable forms in float32 and float64, definitions in any format.

A stable form is a chain of elementwise operations, which XLA fuses into one pass. XLA has no fma
operation (`without_fma` describes the replacement), though on CPUs and GPUs it contracts a·b + c to
one. It simplifies (x + K) - K to x and merges constants of consecutive products, also with those of
the code around a form; `reduce_precision` to the same format prevents both. On CPUs it flushes
subnormal numbers to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import Node

from . import framework_source
from .without_fma import without_fma

Form = Callable[..., Any]

OPERATIONS = {
    **framework_source.ARITHMETIC,
    "abs": "lax.abs({})",
    "where": "choose({}, {}, {})",
    "sqrt": "lax.sqrt({})",
}
"""Operations of stable forms and definitions. From lax where possible: functions of jnp are jitted
one by one, which slows tracing."""


def choose(condition: jax.Array, yes: Any, no: Any) -> jax.Array:
    """Return `yes` or `no`, arrays or numbers."""
    whole = [x for x in (yes, no) if getattr(x, "shape", None) == condition.shape]
    if len(whole) == 1 and isinstance(no if whole[0] is yes else yes, float):
        yes, no = (lax.full_like(whole[0], x) if isinstance(x, float) else x for x in (yes, no))
    elif len(whole) != 2:
        return jnp.where(condition, yes, no)
    return lax.select(condition, yes, no)


FUNCTIONS = {
    "exp": "jnp.exp({})",
    "expm1": "jnp.expm1({})",
    "log": "jnp.log({})",
    "log1p": "jnp.log1p({})",
    "tanh": "jnp.tanh({})",
    "sin": "jnp.sin({})",
    "cos": "jnp.cos({})",
    "atan": "jnp.atan({})",
    "sigmoid": "jax.nn.sigmoid({})",
    "softplus": "jnp.logaddexp({}, 0.0)",
    "erf": "lax.erf({})",
    "erfc": "lax.erfc({})",
    "phi": "jnp.exp" + framework_source.NORMAL_DENSITY,
    "Phi": "0.5 * lax.erfc" + framework_source.NORMAL_DISTRIBUTION,
}
"""The functions of definitions; Python numbers take the format of the other operand."""

DEFINITIONS = framework_source.Dialect(
    modules={"jax": jax, "jnp": jnp, "lax": lax, "choose": choose},
    operations={**OPERATIONS, **FUNCTIONS},
    whole="jnp.full_like({like}, {})",
    scalar="jnp.asarray({}, {like}.dtype)",
)


@lru_cache(maxsize=2)
def stable_dialect(fmt: Format) -> framework_source.Dialect:
    """Return the dialect of the stable forms of one format."""
    real, word = (jnp.float32, jnp.int32) if fmt is FLOAT32 else (jnp.float64, jnp.int64)
    bits = framework_source.Bits(
        fmt,
        word=lambda x: lax.bitcast_convert_type(real(x) if isinstance(x, float) else x, word),
        real=lambda bits: lax.bitcast_convert_type(bits, real),
        integer=word,
        left=lax.shift_left,
        right=lax.shift_right_logical,
        where=lax.select,
        keep=lambda x: lax.reduce_precision(x, fmt.bits - fmt.precision, fmt.mantissa_bits),
    )
    return replace(
        DEFINITIONS,
        modules={**DEFINITIONS.modules, "bits": bits},
        operations={**OPERATIONS, **framework_source.BIT_OPERATIONS},
    )


def definition_form(
    root: Node, parameters: tuple[str, ...] = (), inputs: tuple[str, ...] = ("x",)
) -> Form:
    """Return a definition, or a derivative of one, as a function of arrays and parameters."""
    function: Form = framework_source.form(root, DEFINITIONS, parameters, inputs)
    return function


def stable_form(
    roots: tuple[Node, ...],
    fmt: Format,
    parameters: tuple[str, ...] = (),
    inputs: tuple[str, ...] = ("x",),
) -> Form:
    """Return stable forms as a function of arrays and parameters of one format, with a tuple."""
    plain = without_fma(fmt, *roots)
    function: Form = framework_source.form(plain, stable_dialect(fmt), parameters, inputs)
    return function
