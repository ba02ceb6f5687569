"""Graphs in JAX operators: stable forms in float32 and float64, definitions in any format.

A stable form is a chain of elementwise operations, which XLA fuses into one pass. XLA has no fma
operation (`without_fma` describes the replacement), though on CPUs and GPUs it contracts a·b + c to
one. It simplifies (x + K) - K to x and merges constants of consecutive products, also with those of
the code around a form; `reduce_precision` to the same format prevents both. On CPUs it flushes
subnormal numbers to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import Node

from . import framework_source
from .without_fma import without_fma

Form = Callable[..., jax.Array]

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
    whole="jnp.full_like(x, {})",
    scalar="jnp.asarray({}, x.dtype)",
)


class Bits:
    """The operations on the bits of one float format."""

    def __init__(self, fmt: Format) -> None:
        self.fmt = fmt
        self.real = jnp.float32 if fmt is FLOAT32 else jnp.float64
        self.word = jnp.int32 if fmt is FLOAT32 else jnp.int64
        self.exponent_bits = fmt.bits - fmt.precision

    def _bits(self, x: Any) -> jax.Array:
        number = isinstance(x, float)
        return lax.bitcast_convert_type(self.real(x) if number else x, self.word)

    def _float(self, bits: jax.Array) -> jax.Array:
        return lax.bitcast_convert_type(bits, self.real)

    def _mask(self, value: int) -> Any:
        signed = value - (1 << self.fmt.bits) if value >> (self.fmt.bits - 1) else value
        return self.word(signed)

    def add_exponent(self, x: Any, t: jax.Array) -> jax.Array:
        """Return x·2**n, n in the low bits of t."""
        return self._float(self._bits(x) + (self._bits(t) << self.fmt.mantissa_bits))

    def exponent_only(self, t: jax.Array) -> jax.Array:
        """Return the float with the low bits of t as its exponent field."""
        return self._float(self._bits(t) << self.fmt.mantissa_bits)

    def exponent_field(self, x: jax.Array) -> jax.Array:
        """Return 2**mantissa_bits plus the exponent field of x >= 0."""
        mantissa = self.fmt.mantissa_bits
        whole = (self.fmt.max_exponent + mantissa) << mantissa
        return self._float(lax.shift_right_logical(self._bits(x), self.word(mantissa)) | whole)

    def copysign(self, magnitude: Any, sign: Any) -> jax.Array:
        """Return the magnitude with the sign bit of `sign`."""
        top = 1 << (self.fmt.bits - 1)
        size = self._bits(magnitude) & self._mask(top - 1)
        return self._float(size | (self._bits(sign) & self._mask(top)))

    def high(self, x: jax.Array) -> jax.Array:
        """Return x with the lower half of its significand cleared."""
        low = (1 << (self.fmt.precision - self.fmt.precision // 2)) - 1
        return self._float(self._bits(x) & self._mask((1 << self.fmt.bits) - 1 - low))

    def unscale(self, x: jax.Array, factor: float) -> jax.Array:
        """Return x·factor, a power of two below 1, without a product where that is normal."""
        shift, mantissa = 1 - math.frexp(factor)[1], self.fmt.mantissa_bits
        bits = self._bits(x)
        field = (bits & self._mask((1 << (self.fmt.bits - 1)) - 1)) >> mantissa
        normal = (field > shift) & (field < 2 * self.fmt.max_exponent + 1)
        return lax.select(normal, self._float(bits - self._mask(shift << mantissa)), x * factor)

    def keep(self, x: jax.Array) -> jax.Array:
        """Return x; XLA does not simplify across it."""
        return lax.reduce_precision(x, self.exponent_bits, self.fmt.mantissa_bits)


@lru_cache(maxsize=2)
def stable_dialect(fmt: Format) -> framework_source.Dialect:
    """Return the dialect of the stable forms of one format."""
    bits = Bits(fmt)
    calls = {name: name + arguments for name, arguments in framework_source.BIT_OPERATIONS.items()}
    return framework_source.Dialect(
        modules={**DEFINITIONS.modules, **{name: getattr(bits, name) for name in calls}},
        operations={**OPERATIONS, **calls},
        whole=DEFINITIONS.whole,
        scalar=DEFINITIONS.scalar,
    )


def definition_form(root: Node, parameters: tuple[str, ...] = ()) -> Form:
    """Return a definition, or a derivative of one, as a function of arrays and parameters."""
    function: Form = framework_source.form(root, DEFINITIONS, parameters)
    return function


def stable_form(
    root: Node, fmt: Format, parameters: tuple[str, ...] = (), inputs: tuple[str, ...] = ("x",)
) -> Form:
    """Return a stable form as a function of arrays and parameters of one format."""
    (plain,) = without_fma(fmt, root)
    function: Form = framework_source.form(plain, stable_dialect(fmt), parameters, inputs)
    return function
