"""Graphs in TensorFlow operators: stable forms in float32 and float64, definitions in any format.

A stable form is a chain of elementwise operators, which XLA fuses into one pass and TensorFlow
runs one by one. Neither has an fma (`without_fma` describes the replacement); both simplify
(x + K) - K to x and merge constants of consecutive products, which `keep` prevents; and both flush
subnormals to 0 on CPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import tensorflow as tf

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import Graph, Node, fold

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


@lru_cache(maxsize=2)
def dialect(fmt: Format) -> framework_source.Dialect:
    """Return the dialect of one format, for stable forms and definitions."""
    real, word = (tf.float32, tf.int32) if fmt is FLOAT32 else (tf.float64, tf.int64)

    def number(x: Any) -> Any:
        """Return a number as a tensor; TensorFlow would convert two Python floats to float32."""
        return tf.convert_to_tensor(x, real)

    bits = framework_source.Bits(
        fmt,
        word=lambda x: tf.bitcast(number(x), word),
        real=lambda bits: tf.bitcast(bits, real),
        integer=lambda value: tf.constant(value, word),
        left=tf.bitwise.left_shift,
        right=tf.bitwise.right_shift,
        where=tf.where,
        # A select that optimisers do not simplify.
        keep=lambda x: tf.where(tf.equal(x, x), x, number(float("nan"))),
    )
    return framework_source.Dialect(
        modules={
            "tf": tf,
            "bits": bits,
            "choose": lambda condition, yes, no: tf.where(condition, number(yes), number(no)),
        },
        operations={**OPERATIONS, **FUNCTIONS, **framework_source.BIT_OPERATIONS},
        whole="tf.zeros_like({like}) + {}",
        scalar="{}",
    )


def definition_form(
    root: Node,
    fmt: Format,
    parameters: tuple[str, ...] = (),
    inputs: tuple[str, ...] = ("x",),
) -> Form:
    """Return a definition, or a derivative of one, as a function of tensors and parameters."""
    return framework_source.form(root, dialect(fmt), parameters, inputs)


def stable_form(
    roots: tuple[Node, ...],
    fmt: Format,
    parameters: tuple[str, ...] = (),
    inputs: tuple[str, ...] = ("x",),
) -> Form:
    """Return stable forms as one function of tensors and parameters of one format, with a tuple."""
    plain = _late_unscaled(fmt, *without_fma(fmt, *roots))
    return framework_source.form(ordered(*plain), dialect(fmt), parameters, inputs)


def _late_unscaled(fmt: Format, *roots: Node) -> list[Node]:
    """Return graphs with products act(gate)·other that are exact where act(gate) is subnormal.

    TensorFlow and XLA flush that to 0, although the product with a large number is normal. There
    act(gate) is multiplied before its tail is unscaled; the other operand is unscaled in its place.
    """
    graph, power = Graph(), Fraction(1 << fmt.scale)
    node, const = graph.node, graph.const

    @cache
    def is_unscaled(x: Node) -> bool:
        """Return whether a node has a tail that was unscaled."""
        parts = {"where": x.args[1:], "copysign": x.args[:1]}.get(x.op, x.args)
        inside = x.op in ("keep", "neg", "copysign", "mul", "add", "sub", "where")
        return (
            x.op == "unscale"
            or (x.op == "const" and abs(Fraction(x.attr or 0)) * power == 1)
            or (inside and any(map(is_unscaled, parts)))
        )

    def scaled(x: Node) -> Node:
        """Return a node times 2**scale, exact where that is finite."""
        args = list(x.args)
        if x.op == "const":
            return const(Fraction(x.attr or 0) * power)
        if x.op == "unscale":
            rest = Fraction(args[1].attr or 0) * power
            return args[0] if rest == 1 else node("mul", args[0], const(rest))
        if x.op == "mul" and any(map(is_unscaled, args)):
            i = 0 if is_unscaled(args[0]) else 1
            args[i] = scaled(args[i])
        elif x.op in ("add", "sub", "where"):
            args[-2:] = map(scaled, args[-2:])
        elif x.op in ("keep", "neg", "copysign"):
            args[0] = scaled(args[0])
        else:
            return node("keep", node("mul", x, const(power)))
        return node(x.op, *args)

    def product(plain: Node, x: Node, factor: Node) -> Node:
        """Return a product, computed from the scaled x where x is tiny and the factor is not."""
        large, size = scaled(x), node("abs", scaled(x))
        # What a kernel rounds to 0 stays 0: further out a tail's argument is clamped.
        least, tiny = (
            const(Fraction(2) ** (fmt.min_exponent + precision + fmt.scale))
            for precision in (-fmt.precision, fmt.precision)
        )
        unscaled = node("keep", node("mul", factor, const(1 / power)))
        late = node("keep", node("mul", node("keep", large), unscaled))
        for condition in (
            node("lt", const(1), node("abs", factor)),
            node("lt", size, tiny),
            node("lt", least, size),
        ):
            late = node("where", condition, late, plain)
        return late

    def leaves_of(x: Node, parts: list[frozenset[str]]) -> frozenset[str]:
        return frozenset([str(x.attr)] if x.op == "input" else ()).union(*parts)

    leaves = fold(leaves_of, *roots)
    of_two = len(frozenset().union(*(leaves[root] for root in roots)) - {"grad"}) > 1

    def visit(x: Node, args: list[Node]) -> Node:
        result = graph.copy(x, args)
        if x.op == "mul":
            for i, factor in ((0, x.args[1]), (1, x.args[0])):
                others = leaves[factor] - leaves[x.args[i]]
                if of_two and others and is_unscaled(args[i]):
                    result = product(result, args[i], args[1 - i])
        return result

    new = fold(visit, *roots)
    return [new[root] for root in roots]


def ordered(*roots: Node) -> tuple[Node, ...]:
    """Return the same graphs with sums and products that Grappler does not reorder.

    It flattens and reorders sums of sums, and factors a·b + a·c to a·(b + c): corrections for
    rounding errors would be lost. Such an x + y becomes `plus`, which subtracts -y. It also turns
    (a·b)·k into a·(b·k), where b·k may be subnormal though a·b·k is not: `keep` prevents that.
    """
    graph = Graph()

    def visit(node: Node, args: list[Node]) -> Node:
        kinds = [arg.op for arg in args]
        loose = node.op == "add" and ("add" in kinds or kinds == ["mul", "mul"])
        if node.op == "mul" and any(map(scales, node.args)):
            args = [graph.node("keep", arg) if arg.op in ("mul", "div") else arg for arg in args]
        return graph.node("plus" if loose else node.op, *args, attr=node.attr)

    new = fold(visit, *roots)
    return tuple(new[root] for root in roots)
