"""A stable form without fma: a·b + c rounds twice, except where the sum cancels.

Most fmas of a stable form only save a rounding, and a compiler may reintroduce them. Those that
compute the rounding error of an operation, or subtract a multiple of ln 2 from an argument, must be
exact: there a and b are split in two halves with four exact products, which are added
from the largest. The result is the same whether or not a compiler fuses them.

Three operations are added to those of `formula.FloatArithmetic`:

- `high`: the float with the lower half of its significand cleared;
- `unscale`: the product with a power of two of a large negative exponent, by integer arithmetic on
  the exponent field. In reductions LLVM may merge the factors of products, whatever XLA does;
- `keep`: its operand, as rounded. Compilers replace (x + K) - K by x, and (x·k)·(y·l) by
  (x·y)·(k·l), where k·l may underflow to 0: they must not simplify across a `keep`. Inputs and
  results are wrapped too, so that results do not depend on the surrounding code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from softgate.formula.formats import Format
from softgate.formula.graph import Graph, Node, walk

from .evaluation import ARITHMETIC, COMPARE

SMALL = Fraction(1, 1 << 9)
"""Multiples of a number below this correct an argument and do not cancel against it."""
LARGE = Fraction(1 << 32)
"""Constants above this, or below 1/LARGE, scale a tail; others are coefficients."""
NARROW = 12
"""Bits of the integers n in the argument reduction of exponentials; times half a float they are
exact. Those of sines and cosines have more bits."""


def without_fma(fmt: Format, *roots: Node) -> tuple[Node, ...]:
    """Return the same graphs without fma, constants rounded to the format.

    Examples
    --------
    >>> from softgate.formula.formats import FLOAT32
    >>> from softgate.formula.arithmetic import FloatArithmetic
    >>> f = FloatArithmetic(FLOAT32)
    >>> a, b = f.graph.input("a"), f.graph.input("b")
    >>> without_fma(FLOAT32, f.fma(a, b, 1))
    (keep(add(mul(keep(a), keep(b)), 1)),)
    >>> without_fma(FLOAT32, f.fma(a, a, -(a * a)))[0].args[0].op
    'add'
    """
    copy = _WithoutFma(fmt)
    for node in walk(*roots):
        copy.new[node] = copy.translate(node)
    return tuple(copy.keep(copy.new[root]) for root in roots)


def scales(node: Node) -> bool:
    """Return whether a node is a constant that scales a tail: too large or small to be merged."""
    if node.op != "const" or not _value(node):
        return False
    size = abs(_value(node))
    return not 1 / LARGE < size < LARGE


def _value(node: Node) -> Fraction:
    """Return the value of a constant."""
    assert isinstance(node.attr, Fraction)
    return node.attr


def _bare(node: Node) -> Node:
    """Return a node without `neg`."""
    while node.op == "neg":
        (node,) = node.args
    return node


def _terms(node: Node, depth: int = 3) -> Iterator[Node]:
    """Yield the terms of a sum, without signs."""
    node = _bare(node)
    yield node
    if depth and node.op in ("add", "sub"):
        for arg in node.args:
            yield from _terms(arg, depth - 1)


def _recovers(a: Node, b: Node, c: Node) -> bool:
    """Return whether fma(a, b, c) is the rounding error of a product, a quotient or a root."""
    a, b = _bare(a), _bare(b)
    for term in _terms(c):
        if term.op in ("mul", "fma") and {_bare(arg) for arg in term.args[:2]} == {a, b}:
            return True
    if a is b and a.op == "sqrt":
        return True
    return any(p.op == "div" and _bare(p.args[1]) is q for p, q in ((a, b), (b, a)))


def _amplifies(a: Node, b: Node, c: Node) -> bool:
    """Return whether fma(a, b, c) is a number times a, written as a + (the number - 1)·a."""
    a = _bare(a)
    return b.op == "const" and 0 < abs(_value(b)) < 1 and any(t is a for t in _terms(c))


def _rounding(node: Node) -> Node | None:
    """Return u·k + K if `node` is (u·k + K) - K, which rounds to an integer, else None."""
    if node.op != "sub" or node.args[1].op != "const":
        return None
    total = node.args[0]
    if total.op == "fma" and total.args[2].attr == node.args[1].attr is not None:
        return total
    return None


def _reach(total: Node) -> Fraction:
    """Return the largest integer that u·k + K can hold, from the constant bounds of u."""
    u, k, _ = total.args
    if k.op != "const":
        return Fraction(0)
    largest, stack = Fraction(0), [u]
    while stack:
        node = stack.pop()
        if node.op == "const":
            largest = max(largest, abs(_value(node)))
        elif node.op == "where":
            stack += node.args[1:]
    return largest * abs(_value(k))


def _multiple(node: Node) -> tuple[Node, Fraction] | None:
    """Return n and k where a node is n·k, or n·k + c, with an integer n."""
    if node.op not in ("mul", "fma"):
        return None
    a, b = map(_bare, node.args[:2])
    for n, k in ((a, b), (b, a)):
        if k.op == "const" and _rounding(n) is not None:
            return n, abs(_value(k))
    return None


class _WithoutFma:
    """One graph being copied."""

    def __init__(self, fmt: Format) -> None:
        self.fmt, self.graph = fmt, Graph()
        self.new: dict[Node, Node] = {}

    def translate(self, node: Node) -> Node:
        """Return the copy of a node; its operands must have been copied."""
        if node.op == "const":
            return self.graph.const(Fraction(self.fmt.round(_value(node))))
        if node.op == "input":
            return self.keep(self.graph.node("input", attr=node.attr))
        if node.op == "fma":
            return self._fma(node)
        args = [self.new[arg] for arg in node.args]
        if node.op == "where" and all(arg.op == "const" for arg in args[0].args):
            return args[1] if holds(args[0]) else args[2]
        if node.op in ("add", "sub"):
            args = [
                self.keep(arg)
                if arg.op in ("add", "sub") and any(part.op == "const" for part in arg.args)
                else arg
                for arg in args
            ]
        return self._node(node.op, *args, attr=node.attr)

    def _node(self, op: str, *args: Node, attr: str | Fraction | None = None) -> Node:
        """Return a node, folded to a constant if possible."""
        if op in ARITHMETIC and args and all(arg.op == "const" for arg in args):
            value = ARITHMETIC[op](*map(_value, args))  # exact: rounded once
            if value or op in ("add", "sub"):  # Fractions have no -0
                return self.graph.const(Fraction(self.fmt.round(value)))
        if op == "mul" and any(map(scales, args)):
            value, factor = args if scales(args[1]) else reversed(args)
            number = _value(factor)
            if abs(number.numerator) == 1 and not number.denominator & (number.denominator - 1):
                unscaled = self.graph.node("unscale", value, self.graph.const(abs(number)))
                return self.keep(unscaled if number > 0 else self.graph.node("neg", unscaled))
            return self.keep(self.graph.node("mul", *args))
        return self.graph.node(op, *args, attr=attr)

    def keep(self, node: Node) -> Node:
        """Return a node that compilers do not simplify together with what uses it."""
        return node if node.op in ("keep", "const") else self.graph.node("keep", node)

    def _fma(self, node: Node) -> Node:
        a, b, c = (self.new[arg] for arg in node.args)
        if all(arg.op == "const" for arg in (a, b, c)):
            product, rest = _value(a) * _value(b), _value(c)
            return self.graph.const(Fraction(self.fmt.round(product + rest)))
        if _bare(c).op == "const" and _bare(c).attr == 0:
            return self._node("mul", a, b)
        zero = self.graph.const(0)
        if c.op == "where" and any(arg is zero for arg in c.args[1:]):
            # A product that underflows keeps its sign beside -0.
            condition, *branches = c.args
            signed = (self.graph.node("neg", zero) if arg is zero else arg for arg in branches)
            c = self.graph.node("where", condition, *signed)
        if _amplifies(*node.args):
            return self._amplified(a, b, c)
        halves = self._halves(*node.args)
        if halves is None:
            return self._node("add", self._node("mul", a, b), c)
        (ah, al), (bh, bl) = halves
        total = self._node("add", c, self._node("mul", ah, bh))
        if a is b and al is not None:
            total = self._node("add", total, self._node("mul", self._node("add", ah, ah), al))
            return self._node("add", total, self._node("mul", al, al))
        for x, y in ((ah, bl), (al, bh), (al, bl)):
            if x is not None and y is not None:
                total = self._node("add", total, self._node("mul", x, y))
        return total

    def _amplified(self, a: Node, b: Node, c: Node) -> Node:
        """Return a·b + c, computed from operands times 2**k where a·b would be subnormal."""
        plain = self._node("add", self._node("mul", a, b), c)
        factor = Fraction(2) ** self.fmt.precision
        large, larger = (self._node("mul", part, self.graph.const(factor)) for part in (a, c))
        scaled = self._node("add", self._node("mul", large, b), larger)
        scaled = self._node("mul", self.keep(scaled), self.graph.const(1 / factor))
        # Selected by c, not by a: a tiny a is negligible beside a large c, and c·2**k would
        # overflow.
        return self.graph.node("where", self._tiny(c), scaled, plain)

    def _tiny(self, node: Node) -> Node:
        least = self.graph.const(Fraction(2) ** (self.fmt.min_exponent + self.fmt.precision))
        return self.graph.node("lt", self.graph.node("abs", node), least)

    def _halves(
        self, a: Node, b: Node, c: Node
    ) -> tuple[tuple[Node, Node | None], tuple[Node, Node | None]] | None:
        """Return the halves of a and b where their product must be exact, else None."""
        multiple = _multiple(a.graph.node("mul", a, b))
        if multiple is not None:
            n, k = multiple
            again = _multiple(_bare(c))
            if k < SMALL or (again is not None and again[0] is n):
                return None
            total = _rounding(n)
            assert total is not None
            wide = _reach(total) > 1 << NARROW
            return self._cut(a, whole=not wide), self._cut(b, whole=not wide)
        multiples = [multiple[1] for term in _terms(c) if (multiple := _multiple(term))]
        if any(k >= SMALL for k in multiples) or _recovers(a, b, c):
            square = a is b  # a subnormal square is negligible
            return self._cut(a, small=not square), self._cut(b, small=not square)
        return None

    def _cut(
        self, old: Node, *, whole: bool = False, small: bool = False
    ) -> tuple[Node, Node | None]:
        """Return a factor in two halves, or (factor, None) if it is short, like a small integer.

        A factor that may be `small` is not split where its second half would be subnormal: where
        subnormals are flushed to 0, the product would be worse than without halves.
        """
        node = self.new[old]
        if node.op == "const":
            value = _value(node)
            unit = Fraction(2) ** (math.frexp(value)[1] - self.fmt.precision // 2)
            high = abs(value) // unit * unit * (1 if value > 0 else -1)
            low = value - high
            return self.graph.const(high), self.graph.const(low) if low else None
        if whole and _rounding(_bare(old)) is not None:
            return node, None
        if old.op == node.op == "neg":  # one mask serves both signs
            (bare,) = old.args
            first, second = self._cut(bare, small=small)
            return self._node("neg", first), None if second is None else self._node("neg", second)
        upper = self.graph.node("high", node)
        if small:
            upper = self.graph.node("where", self._tiny(node), node, upper)
        return upper, self.graph.node("sub", node, upper)


def holds(comparison: Node) -> bool:
    """Return the truth of a comparison of two numbers."""
    return bool(COMPARE[comparison.op](*map(_value, comparison.args)))
