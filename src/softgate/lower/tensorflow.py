"""Graphs in TensorFlow operators: stable forms in float32 and float64, definitions in any format.

A stable form is a chain of elementwise operators, which XLA fuses into one pass and TensorFlow
runs one by one. Neither has an fma (`without_fma` describes the replacement); both simplify
(x + K) - K to x and merge constants of consecutive products, which `keep` prevents; and both flush
subnormals to 0 on CPUs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import tensorflow as tf

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import Graph, Node, walk

from . import framework_source
from .without_fma import scales, without_fma

Form = Callable[..., Any]

OPERATIONS = {
    **framework_source.ARITHMETIC,
    "eq": "tf.equal({}, {})",
    "abs": "tf.abs({})",
    "where": "choose({}, {}, {})",
    "sqrt": "tf.sqrt({})",
    "plus": "{} - {} * -1.0",
}

FUNCTIONS = {
    "exp": "tf.exp({})",
    "expm1": "tf.math.expm1({})",
    "log": "tf.math.log({})",
    "log1p": "tf.math.log1p({})",
    "tanh": "tf.tanh({})",
    "sin": "tf.sin({})",
    "cos": "tf.cos({})",
    "atan": "tf.atan({})",
    "sigmoid": "tf.sigmoid({})",
    "softplus": "tf.nn.relu({0}) + tf.math.log1p(tf.exp(-tf.abs({0})))",
    "erf": "tf.math.erf({})",
    "erfc": "tf.math.erfc({})",
    "phi": "tf.exp" + framework_source.NORMAL_DENSITY,
    "Phi": "0.5 * tf.math.erfc" + framework_source.NORMAL_DISTRIBUTION,
}
"""The functions of definitions. Python numbers take the format of the other operand, in full
precision; `tf.nn.gelu` rounds its constants to float32 first."""


class Bits:
    """The operations on numbers and bits of one float format."""

    def __init__(self, fmt: Format) -> None:
        self.fmt = fmt
        single = fmt is FLOAT32
        self.real, self.word = (tf.float32, tf.int32) if single else (tf.float64, tf.int64)

    def number(self, x: Any) -> Any:
        """Return a number as a tensor; TensorFlow would convert two Python floats to float32."""
        return tf.convert_to_tensor(x, self.real)

    def _bits(self, x: Any) -> Any:
        return tf.bitcast(self.number(x), self.word)

    def _float(self, bits: Any) -> Any:
        return tf.bitcast(bits, self.real)

    def _mask(self, value: int) -> Any:
        signed = value - (1 << self.fmt.bits) if value >> (self.fmt.bits - 1) else value
        return tf.constant(signed, self.word)

    def _shifted(self, bits: Any) -> Any:
        return tf.bitwise.left_shift(bits, self._mask(self.fmt.mantissa_bits))

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        """Return `yes` where the condition holds, else `no`."""
        return tf.where(condition, self.number(yes), self.number(no))

    def add_exponent(self, x: Any, t: Any) -> Any:
        """Return x·2**n, n in the low bits of t."""
        return self._float(self._bits(x) + self._shifted(self._bits(t)))

    def exponent_only(self, t: Any) -> Any:
        """Return the float with the low bits of t as its exponent field."""
        return self._float(self._shifted(self._bits(t)))

    def exponent_field(self, x: Any) -> Any:
        """Return 2**mantissa_bits plus the exponent field of x >= 0."""
        mantissa = self.fmt.mantissa_bits
        field = tf.bitwise.right_shift(self._bits(x), self._mask(mantissa))  # x >= 0: no sign bit
        whole = (self.fmt.max_exponent + mantissa) << mantissa
        return self._float(tf.bitwise.bitwise_or(field, self._mask(whole)))

    def copysign(self, magnitude: Any, sign: Any) -> Any:
        """Return the magnitude with the sign bit of `sign`."""
        top = 1 << (self.fmt.bits - 1)
        size = tf.bitwise.bitwise_and(self._bits(magnitude), self._mask(top - 1))
        bit = tf.bitwise.bitwise_and(self._bits(sign), self._mask(top))
        return self._float(tf.bitwise.bitwise_or(size, bit))

    def high(self, x: Any) -> Any:
        """Return x with the lower half of its significand cleared."""
        low = (1 << (self.fmt.precision - self.fmt.precision // 2)) - 1
        mask = self._mask((1 << self.fmt.bits) - 1 - low)
        return self._float(tf.bitwise.bitwise_and(self._bits(x), mask))

    def unscale(self, x: Any, factor: float) -> Any:
        """Return x·factor, a power of two below 1, without a product where that is normal."""
        shift, mantissa = 1 - math.frexp(factor)[1], self.fmt.mantissa_bits
        bits = self._bits(x)
        size = tf.bitwise.bitwise_and(bits, self._mask((1 << (self.fmt.bits - 1)) - 1))
        low, high = (self._mask(n << mantissa) for n in (shift + 1, 2 * self.fmt.max_exponent + 1))
        normal = tf.logical_and(size >= low, size < high)
        return tf.where(normal, self._float(bits - self._mask(shift << mantissa)), x * factor)

    def keep(self, x: Any) -> Any:
        """Return x through a select that optimisers do not simplify."""
        return tf.where(tf.equal(x, x), x, self.number(float("nan")))


@lru_cache(maxsize=2)
def dialect(fmt: Format) -> framework_source.Dialect:
    """Return the dialect of one format, for stable forms and definitions."""
    bits = Bits(fmt)
    calls = {name: name + arguments for name, arguments in framework_source.BIT_OPERATIONS.items()}
    return framework_source.Dialect(
        modules={"tf": tf, **{name: getattr(bits, name) for name in ("choose", *calls)}},
        operations={**OPERATIONS, **FUNCTIONS, **calls},
        whole="tf.zeros_like(x) + {}",
        scalar="{}",
    )


def definition_form(root: Node, fmt: Format, parameters: tuple[str, ...] = ()) -> Form:
    """Return a definition, or a derivative of one, as a function of tensors and parameters."""
    return framework_source.form(root, dialect(fmt), parameters)


def stable_form(
    root: Node, fmt: Format, parameters: tuple[str, ...] = (), inputs: tuple[str, ...] = ("x",)
) -> Form:
    """Return a stable form as a function of tensors and parameters of one format."""
    (plain,) = without_fma(fmt, root)
    return framework_source.form(ordered(plain), dialect(fmt), parameters, inputs)


def ordered(root: Node) -> Node:
    """Return the same graph with sums and products that Grappler does not reorder.

    It flattens and reorders sums of sums, and factors a·b + a·c to a·(b + c): corrections for
    rounding errors would be lost. Such an x + y becomes `plus`, which subtracts -y. It also turns
    (a·b)·k into a·(b·k), where b·k may be subnormal though a·b·k is not: `keep` prevents that.
    """
    graph, new = Graph(), dict[Node, Node]()
    for node in walk(root):
        args = [new[arg] for arg in node.args]
        kinds = [arg.op for arg in args]
        loose = node.op == "add" and ("add" in kinds or kinds == ["mul", "mul"])
        if node.op == "mul" and any(map(scales, node.args)):
            args = [graph.node("keep", arg) if arg.op in ("mul", "div") else arg for arg in args]
        new[node] = graph.node("plus" if loose else node.op, *args, attr=node.attr)
    return new[root]
