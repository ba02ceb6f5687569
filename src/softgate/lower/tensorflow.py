"""Graphs in TensorFlow operators: stable forms in float32 and float64, definitions in any format.

A stable form is a chain of elementwise operators, which XLA fuses into one pass and TensorFlow
runs one by one. Neither has an fma (`without_fma` describes the replacement); both simplify
(x + K) - K to x and merge constants of consecutive products, which `keep` prevents; and both flush
subnormals to 0 on CPUs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
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
    roots: tuple[Node, ...],
    fmt: Format,
    parameters: tuple[str, ...] = (),
    inputs: tuple[str, ...] = ("x",),
) -> Form:
    """Return stable forms as one function of tensors and parameters of one format, with a tuple."""
    products = _Products(fmt)
    plain = tuple(map(products.copy, without_fma(fmt, *roots)))
    return framework_source.form(ordered(*plain), dialect(fmt), parameters, inputs)


class _Products:
    """Graphs with products act(gate)·other that are exact where act(gate) alone is subnormal.

    TensorFlow and XLA flush that to 0, although the product with a large number is normal. There
    act(gate) is multiplied before its tail is unscaled; the other operand is unscaled in its place.
    """

    def __init__(self, fmt: Format) -> None:
        self.fmt, self.graph = fmt, Graph()
        self.power = Fraction(1 << fmt.scale)
        self.new: dict[Node, Node] = {}
        self.leaves: dict[Node, frozenset[str]] = {}
        self._unscaled: dict[Node, bool] = {}

    def copy(self, root: Node) -> Node:
        """Return the graph of a root with such products."""
        for node in walk(root):
            if node in self.new:
                continue
            own = {str(node.attr)} if node.op == "input" else ()
            self.leaves[node] = frozenset(own).union(*(self.leaves[arg] for arg in node.args))
            args = [self.new[arg] for arg in node.args]
            product = self.graph.node(node.op, *args, attr=node.attr)
            if node.op == "mul":
                for (old, factor), by in ((node.args, args[1]), (node.args[::-1], args[0])):
                    if "gate" in self.leaves[old] and self.leaves[factor] & {"other", "grad"}:
                        product = self._product(product, self.new[old], by)
            self.new[node] = product
        return self.new[root]

    def _product(self, plain: Node, x: Node, factor: Node) -> Node:
        if not self._is_unscaled(x):
            return plain

        def number(exponent: int) -> Node:
            return self.graph.const(Fraction(2) ** exponent)

        scaled, fmt = self._scaled(x), self.fmt
        # What a kernel rounds to 0 stays 0: further out a tail's argument is clamped.
        least = number(fmt.min_exponent - fmt.precision + fmt.scale)
        tiny = number(fmt.min_exponent + fmt.precision + fmt.scale)
        unscaled = self._keep("mul", factor, number(-fmt.scale))
        late = self._keep("mul", self._node("keep", scaled), unscaled)
        size = self._node("abs", scaled)
        for condition in (
            self._node("lt", self.graph.const(1), self._node("abs", factor)),
            self._node("lt", size, tiny),
            self._node("lt", least, size),
        ):
            late = self._node("where", condition, late, plain)
        return late

    def _is_unscaled(self, node: Node) -> bool:
        """Return whether a node has a tail that was unscaled."""
        if node not in self._unscaled:
            parts = {"where": node.args[1:], "copysign": node.args[:1]}.get(node.op, node.args)
            inside = node.op in ("keep", "neg", "copysign", "mul", "add", "sub", "where")
            self._unscaled[node] = (
                node.op == "unscale"
                or (node.op == "const" and abs(Fraction(node.attr or 0)) * self.power == 1)
                or (inside and any(map(self._is_unscaled, parts)))
            )
        return self._unscaled[node]

    def _scaled(self, node: Node) -> Node:
        """Return a node times 2**scale, exact where that is finite."""
        args = list(node.args)
        if node.op == "const":
            assert isinstance(node.attr, Fraction)
            return self.graph.const(node.attr * self.power)
        if node.op == "unscale":
            assert isinstance(args[1].attr, Fraction)
            rest = args[1].attr * self.power
            return args[0] if rest == 1 else self._node("mul", args[0], self.graph.const(rest))
        if node.op == "mul" and any(map(self._is_unscaled, args)):
            i = 0 if self._is_unscaled(args[0]) else 1
            args[i] = self._scaled(args[i])
        elif node.op in ("add", "sub", "where"):
            args[-2:] = map(self._scaled, args[-2:])
        elif node.op in ("keep", "neg", "copysign"):
            args[0] = self._scaled(args[0])
        else:
            return self._keep("mul", node, self.graph.const(self.power))
        return self._node(node.op, *args)

    def _node(self, op: str, *args: Node) -> Node:
        return self.graph.node(op, *args)

    def _keep(self, op: str, *args: Node) -> Node:
        return self._node("keep", self._node(op, *args))


def ordered(*roots: Node) -> tuple[Node, ...]:
    """Return the same graphs with sums and products that Grappler does not reorder.

    It flattens and reorders sums of sums, and factors a·b + a·c to a·(b + c): corrections for
    rounding errors would be lost. Such an x + y becomes `plus`, which subtracts -y. It also turns
    (a·b)·k into a·(b·k), where b·k may be subnormal though a·b·k is not: `keep` prevents that.
    """
    graph, new = Graph(), dict[Node, Node]()
    for node in walk(*roots):
        args = [new[arg] for arg in node.args]
        kinds = [arg.op for arg in args]
        loose = node.op == "add" and ("add" in kinds or kinds == ["mul", "mul"])
        if node.op == "mul" and any(map(scales, node.args)):
            args = [graph.node("keep", arg) if arg.op in ("mul", "div") else arg for arg in args]
        new[node] = graph.node("plus" if loose else node.op, *args, attr=node.attr)
    return tuple(new[root] for root in roots)
