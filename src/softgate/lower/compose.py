"""A definition as a kernel, function by function, for formulas without a stable form.

The catalogue's entries have stable forms written by hand; a user's formula has none. Its value or
derivative is rewritten by identities, its constants are folded with many digits, and each function
becomes the block that computes it for any argument. Cancellation that remains in the formula costs
bits of float64's 53.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

from softgate.blocks import KernelArithmetic, TwoFloat, math_functions
from softgate.catalogue import normal_cdf, normal_pdf, sigmoid, softplus, tanh
from softgate.catalogue.entry import DefinitionForm, StableForms
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.derivative import derivative
from softgate.formula.graph import COMPARISONS, Graph, Node, rebuild
from softgate.formula.rewrite import rewrite
from softgate.formula.trace import LIMITS

ORDERS = ("value", "slope", "curvature")
CONSTANT_BITS = 200
"""More than two floats hold."""
LARGEST_EXPONENT = 16000
"""Constants beyond 2**±16000 are left to machine arithmetic: as fractions they fill the memory."""
FAR = 8
"""Beyond this |x| a result of 0 has underflowed, or stays 0."""
PLAIN = frozenset({"add", "sub", "mul", "div", "neg", "abs", "where", "sqrt", *COMPARISONS})
"""The operations that are single machine operations."""


FUNCTIONS: dict[str, Callable[[KernelArithmetic, Node], Node]] = {
    "exp": math_functions.exp,
    "expm1": math_functions.expm1,
    "log": math_functions.log,
    "log1p": math_functions.log1p,
    "erf": math_functions.erf,
    "erfc": math_functions.erfc,
    "sin": math_functions.sin,
    "cos": math_functions.cos,
    "atan": math_functions.atan,
    "tanh": tanh.value,
    "sigmoid": sigmoid.value,
    "softplus": lambda f, u: softplus.value(f, u, f.number(1)),
    "Phi": normal_cdf.value,
    "phi": normal_pdf.value,
}


class Composition:
    """The stable forms and the limits of one definition; those of two operands have no limits."""

    def __init__(
        self, definition: DefinitionForm, operands: tuple[str, ...], parameters: tuple[str, ...]
    ) -> None:
        self.definition, self.operands, self.parameters = definition, operands, parameters
        self.graphs = lru_cache(maxsize=None)(self._graphs)
        self.limits = lru_cache(maxsize=1024)(self._limits) if len(operands) == 1 else None

    def _graphs(self, quantity: str) -> tuple[Node, ...]:
        """Return the graphs of a quantity's results, still over exact numbers."""
        order = ORDERS.index(quantity)
        if order:
            return tuple(
                rewrite(derivative(root, variable, cancel=True))
                for i, root in enumerate(self.graphs(ORDERS[order - 1]))
                for variable in self.operands[i:]
            )
        f = ExactArithmetic()
        symbols = {name: f.graph.parameter(name) for name in self.parameters}
        return (rewrite(self.definition(f, *map(f.graph.input, self.operands), **symbols)),)

    def _limits(self, quantity: str, key: tuple[tuple[str, float], ...]) -> tuple[float, ...]:
        """Return the values that `LIMITS` names; for `backward` those of the slope."""
        from .limits import limit_at_infinity

        (root,) = self.graphs("slope" if quantity == "backward" else quantity)
        left, right = (limit_at_infinity(root, sign, dict(key)) for sign in (-1, 1))
        return left.limit, right.limit, -left.reached, right.reached

    def form(self, quantity: str) -> StableForms:
        """Return the form of a quantity over a `KernelArithmetic`."""

        def form(
            f: KernelArithmetic, /, *operands: Node, **parameters: TwoFloat
        ) -> Node | tuple[Node, ...]:
            leaves = dict(zip(self.operands, operands, strict=True))
            leaves |= {name: number.hi for name, number in parameters.items()}
            known = constants(parameters)
            roots = [folded(root, known) for root in self.graphs(quantity)]
            results = [kernel_graph(f, root, leaves) for root in roots]
            if len(operands) == 1:
                return self._with_limits(f, *operands, *results)
            # NaN is propagated: a select or a constant would lose it.
            a, b = operands
            return tuple(f.keep_nan(a, f.keep_nan(b, result)) for result in results)

        return form

    @staticmethod
    def _with_limits(f: KernelArithmetic, x: Node, inside: Node) -> Node:
        """Return `inside`, or the limit at infinity where it applies or `inside` overflows."""
        left, right, lowest, highest = map(f.graph.parameter, LIMITS)
        largest = math_functions.largest(f)
        number = f.abs(inside) <= largest
        above = x > f.where(number, largest, f.minimum(highest, largest))
        below = x < f.where(number, -largest, f.maximum(lowest, -largest))
        result = f.where(above, right, f.where(below, left, inside))
        # A result that underflows takes the sign of the limit, which a sum of zeros would lose.
        limit = f.where(x < 0, left, right)
        zero = f.where(f.abs(x) > FAR, f.where(limit.same(0), limit, result), result)
        # NaN is propagated from x: a select or a constant would lose it.
        return f.keep_nan(x, f.where(result.same(0), zero, result))


def constants(parameters: Mapping[str, TwoFloat]) -> dict[str, Fraction]:
    """Return the parameters that are constants of a kernel."""
    values = {}
    for name, (hi, lo) in parameters.items():
        if hi.op == "const":
            parts = [part.attr for part in (hi, lo) if part is not None]
            values[name] = sum((p for p in parts if isinstance(p, Fraction)), Fraction(0))
    return values


def folded(root: Node, values: Mapping[str, Fraction]) -> Node:
    """Return a copy of `root` with constant subexpressions folded to `CONSTANT_BITS` bits."""
    from . import exact

    graph = Graph()

    def visit(node: Node, args: list[Node]) -> Node:
        if node.op == "parameter" and node.attr in values:
            return graph.const(values[str(node.attr)])
        copy = graph.copy(node, args)
        varies = node.op in ("input", "parameter", "const", *COMPARISONS)
        if varies or any(arg.op != "const" for arg in args):
            return copy
        value = exact.number(copy, CONSTANT_BITS)
        if not value.is_finite() or abs(exact.exponent(value)) > LARGEST_EXPONENT:
            return copy
        return graph.const(exact.fraction(value))

    return rebuild(root, visit)


def kernel_graph(f: KernelArithmetic, root: Node, leaves: Mapping[str, Node]) -> Node:
    """Return a definition's graph as operations of one float format."""

    def visit(node: Node, args: list[Node]) -> Node:
        if isinstance(node.attr, Fraction):
            return f.lift(node.attr)
        if node.op in ("input", "parameter"):
            return leaves[str(node.attr)]
        return f.graph.copy(node, args) if node.op in PLAIN else FUNCTIONS[node.op](f, *args)

    return rebuild(root, visit)
