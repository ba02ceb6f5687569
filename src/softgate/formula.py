"""The arithmetics a formula is written over: `Definition` for mathematics, `Machine` for floats.

A formula is a short function of an arithmetic `f` and a symbolic `x`. Over `Definition` it keeps
exp, Phi, tanh … as opaque operations on exact numbers: the truth, the LaTeX, the documentation.
Over `Machine` it may only use what one float format does in a few instructions; the
building blocks that stable forms share stand in `blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from .formats import Format
from .graph import Graph, Node, Number

FUNCTIONS = (
    "exp", "expm1", "log", "log1p", "sqrt", "tanh",
    "sigmoid", "softplus", "erf", "erfc", "Phi", "phi",
)  # fmt: skip


class Arithmetic:
    """What every arithmetic has: constants, absolute value, choice."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or Graph()

    def lift(self, value: Node | Number) -> Node:
        """Return `value` as a node; a float stands for the decimal its author wrote."""
        if isinstance(value, Node):
            return value
        return self.graph.const(Fraction(repr(value)) if isinstance(value, float) else value)

    def abs(self, x: Node) -> Node:
        """Return the absolute value of `x`."""
        return self.graph.node("abs", x)

    def where(self, condition: Node, yes: Node | Number, no: Node | Number) -> Node:
        """Return `yes` where the comparison `condition` holds, else `no`. Both are evaluated."""
        return self.graph.node("where", condition, self.lift(yes), self.lift(no))

    def maximum(self, x: Node | Number, y: Node | Number) -> Node:
        """Return the larger of two values; `y` where either is NaN."""
        x, y = self.lift(x), self.lift(y)
        return self.where(x > y, x, y)

    def minimum(self, x: Node | Number, y: Node | Number) -> Node:
        """Return the smaller of two values; `y` where either is NaN."""
        x, y = self.lift(x), self.lift(y)
        return self.where(x < y, x, y)


class Definition(Arithmetic):
    """Exact real arithmetic: every function is one opaque operation."""

    @property
    def pi(self) -> Node:
        """The circle constant."""
        return self.graph.node("pi")

    def __getattr__(self, name: str) -> Callable[[Node | Number], Node]:
        if name not in FUNCTIONS:
            raise AttributeError(
                f"a formula cannot use f.{name}: known are {', '.join(FUNCTIONS)}, "
                "abs, where, maximum, minimum and pi"
            )

        def function(x: Node | Number) -> Node:
            return self.graph.node(name, self.lift(x))

        function.__name__ = name
        return function


class Machine(Arithmetic):
    """One float format as the hardware has it: every operation rounds once, fma included."""

    def __init__(self, fmt: Format, graph: Graph | None = None) -> None:
        super().__init__(graph)
        self.fmt = fmt

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
        """Return x·2**n, n being the integer in the low bits of `t`, near 1.5·2**23 (2**52).

        One integer addition into the exponent field: right only where `x` and the result are
        normal numbers, so keep `x` near 1.
        """
        return self.graph.node("add_exponent", x, t)

    def exponent_only(self, t: Node) -> Node:
        """Return the float whose exponent field is the integer in the low bits of `t`."""
        return self.graph.node("exponent_only", t)

    def polynomial(self, x: Node, coefficients: Sequence[float]) -> Node:
        """Return c0 + c1·x + c2·x² + … by Horner's rule, one fma a step."""
        *rest, total = map(self.lift, coefficients)
        for c in reversed(rest):
            total = self.fma(total, x, c)
        return total
