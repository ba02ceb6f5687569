"""The arithmetics that a formula is written over: exact real numbers, or floats.

A formula is a short function of an arithmetic `f` and a symbolic `x`. Over `ExactArithmetic` it
keeps exp, Phi, tanh … as opaque operations on exact numbers: for the reference, LaTeX,
documentation. Over `FloatArithmetic` it may use only operations that take a few instructions in one
float format; the building blocks that stable forms share are in `blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from .formats import Format
from .graph import COMPARISONS, FormulaError, Graph, Node, Number, check_numbers, exact

FUNCTIONS = (
    "exp", "expm1", "log", "log1p", "sqrt", "tanh",
    "sigmoid", "softplus", "erf", "erfc", "Phi", "phi",
    "sin", "cos", "atan",
)  # fmt: skip
OTHERS = ("abs", "where", "maximum", "minimum", "clip", "relu", "sign", "square", "pi")
"""Other operations of formulas."""
SPELLINGS = {
    "max": "maximum", "min": "minimum", "clamp": "clip", "ln": "log", "arctan": "atan",
    "logistic": "sigmoid", "expit": "sigmoid", "ndtr": "Phi", "fabs": "abs", "absolute": "abs",
    "select": "where", "root": "sqrt",
}  # fmt: skip
"""Names that other libraries use."""
BY_HAND = {
    "pow": "x**2 or f.exp(p*f.log(x))", "power": "x**2 or f.exp(p*f.log(x))",
    "tan": "f.sin(x)/f.cos(x)", "sinh": "(f.exp(x) - f.exp(-x))/2",
    "cosh": "(f.exp(x) + f.exp(-x))/2", "log2": "f.log(x)/f.log(2)",
    "log10": "f.log(x)/f.log(10)", "exp2": "2**x", "cbrt": "f.exp(f.log(x)/3)",
    "softsign": "x/(1 + f.abs(x))", "gelu": "x*f.Phi(x)", "silu": "x*f.sigmoid(x)",
    "swish": "x*f.sigmoid(x)", "heaviside": "f.where(x > 0, 1, 0)", "e": "f.exp(1)",
}  # fmt: skip
"""Functions that formulas do not have, and how to write them."""


class UnknownFunction(AttributeError, FormulaError):
    """A formula uses an unknown function."""


def spelling(name: str) -> str | None:
    """Return the notation in formulas of a function called `name` elsewhere, or None."""
    known = SPELLINGS.get(name, name)
    if known in FUNCTIONS or known in OTHERS:
        return f"f.{known}"
    if name in BY_HAND:
        return BY_HAND[name]
    near = get_close_matches(name, [*FUNCTIONS, *OTHERS], 1, 0.7)
    return f"f.{near[0]}" if near else None


class Arithmetic:
    """Operations of every arithmetic: constants, absolute value, `where`, maximum, minimum."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or Graph()

    def lift(self, value: Node | Number) -> Node:
        """Return `value` as a node; a float means its shortest decimal, not the nearest double."""
        if isinstance(value, Node):
            return value
        number = exact(value)
        if number is None:
            kind = type(value).__name__
            raise FormulaError(f"a {kind} in a formula: expected a number or a node")
        return self.graph.const(number)

    def abs(self, x: Node) -> Node:
        """Return the absolute value of `x`."""
        return self.graph.node("abs", x)

    def where(self, condition: Any, yes: Node | Number, no: Node | Number) -> Node:
        """Return `yes` where the comparison `condition` holds, else `no`. Both are evaluated."""
        if not isinstance(condition, Node) or condition.op not in COMPARISONS:
            raise FormulaError("f.where(condition, a, b): the condition must compare, as in x > 0")
        yes, no = self.lift(yes), self.lift(no)
        check_numbers(yes, no)
        return self.graph.node("where", condition, yes, no)

    def maximum(self, x: Node | Number, y: Node | Number) -> Node:
        """Return the larger of two values; `y` where either is NaN."""
        x, y = self.lift(x), self.lift(y)
        return self.where(x > y, x, y)

    def minimum(self, x: Node | Number, y: Node | Number) -> Node:
        """Return the smaller of two values; `y` where either is NaN."""
        x, y = self.lift(x), self.lift(y)
        return self.where(x < y, x, y)


class ExactArithmetic(Arithmetic):
    """Exact real arithmetic: every function is one opaque operation."""

    @property
    def pi(self) -> Node:
        """The circle constant."""
        return self.graph.node("pi")

    def clip(self, x: Node | Number, low: Node | Number, high: Node | Number) -> Node:
        """Return `x`, or `low` where it is smaller and `high` where it is larger."""
        return self.minimum(self.maximum(x, low), high)

    def relu(self, x: Node | Number) -> Node:
        """Return `x` where it is positive, else 0."""
        return self.maximum(x, 0)

    def sign(self, x: Node | Number) -> Node:
        """Return 1, -1, or 0 at 0."""
        x = self.lift(x)
        return self.where(x > 0, 1, self.where(x < 0, -1, 0))

    def square(self, x: Node | Number) -> Node:
        """Return x·x."""
        x = self.lift(x)
        return x * x

    def __getattr__(self, name: str) -> Callable[[Node | Number], Node]:
        if name not in FUNCTIONS:
            instead = spelling(name)
            raise UnknownFunction(
                f"a formula cannot use f.{name}: choose from {', '.join((*FUNCTIONS, *OTHERS))}"
                + (f"; write {instead} instead" if instead else "")
            )

        def function(x: Node | Number) -> Node:
            x = self.lift(x)
            check_numbers(x)
            return self.graph.node(name, x)

        function.__name__ = function.__qualname__ = f"f.{name}"
        return function


class FloatArithmetic(Arithmetic):
    """Hardware arithmetic of one float format: every operation, fma included, rounds once."""

    def __init__(self, fmt: Format, graph: Graph | None = None, fused: bool = True) -> None:
        super().__init__(graph)
        self.fmt = fmt
        self.fused = fused
        """Whether fma rounds once: False for frameworks without fma (`lower.without_fma`)."""

    def fma(self, a: Node | Number, b: Node | Number, c: Node | Number) -> Node:
        """Return a·b + c, rounded once."""
        return self.graph.node("fma", self.lift(a), self.lift(b), self.lift(c))

    def product(self, x: Node | Number, y: Node | Number) -> Node:
        """Return x·y where it may underflow; 0 has the sign +.

        On Zen CPUs a multiplication with a subnormal result or operand is slow; an fma is not.
        """
        return self.fma(x, y, 0)

    def sqrt(self, x: Node) -> Node:
        """Return the square root of `x`, rounded once."""
        return self.graph.node("sqrt", x)

    def copysign(self, magnitude: Node, sign: Node) -> Node:
        """Return `magnitude` with the sign bit of `sign`."""
        return self.graph.node("copysign", magnitude, sign)

    def add_exponent(self, x: Node, t: Node) -> Node:
        """Return x·2**n; n is the integer in the low bits of `t`, which is near 1.5·2**23 (2**52).

        One integer addition to the exponent field, valid only if `x` and the result are normal
        numbers: keep `x` near 1.
        """
        return self.graph.node("add_exponent", x, t)

    def exponent_only(self, t: Node) -> Node:
        """Return the float with the integer in the low bits of `t` as its exponent field."""
        return self.graph.node("exponent_only", t)

    def exponent_field(self, x: Node) -> Node:
        """Return 2**mantissa_bits plus the exponent field of `x` >= 0, as a float."""
        return self.graph.node("exponent_field", x)

    def polynomial(self, x: Node, coefficients: Sequence[Number]) -> Node:
        """Return c0 + c1·x + c2·x² + … by Horner's rule, one fma a step."""
        *rest, total = map(self.lift, coefficients)
        for c in reversed(rest):
            total = self.fma(total, x, c)
        return total
