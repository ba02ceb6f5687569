"""Identities such as 1 + erf(u) = erfc(-u) that avoid cancellation and overflow.

Formulas are written as in textbooks: 1/(1 + exp(-x)), log(1 + exp(x)), (1 + erf(x/√2))/2. Composed
directly from floats, they lose all digits where 1 + erf is small or exp overflows. Each rule holds
for all real numbers, so the definition is unchanged; only its computation differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from .arithmetic import ExactArithmetic
from .derivative import call
from .graph import Node, is_constant, rebuild

Rule = Callable[[ExactArithmetic, Node], Node | None]


def rewrite(root: Node) -> Node:
    """Return a node of the same graph that equals `root` and can be computed with less loss.

    Examples
    --------
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> rewrite(x / (1 + f.exp(-x)))
    mul(x, sigmoid(x))
    >>> rewrite(f.log(1 + f.exp(x)))
    softplus(x)
    """
    f = ExactArithmetic(root.graph)
    return rebuild(root, lambda node, args: _apply(f, f.graph.copy(node, args)))


def _apply(f: ExactArithmetic, node: Node) -> Node:
    """Return a node by the first rule that applies to it."""
    # x + (-y) as x - y, x - (-y) as x + y, x·(-1) as -x, which the rules match
    if node.op == "mul" and is_constant(node.args[1], -1):
        node = negative(node.args[0])
    elif node.op in ("add", "sub") and node.args[1].op == "neg":
        x, y = node.args[0], node.args[1].args[0]
        node = x - y if node.op == "add" else x + y
    results = (rule(f, node) for rule in RULES.get(node.op, ()))
    return next((result for result in results if result is not None), node)


def negative(node: Node) -> Node:
    """Return -node with double negation removed and the sign of a product combined."""
    if node.op == "neg":
        return node.args[0]
    if node.op == "const":
        assert isinstance(node.attr, Fraction)
        return node.graph.const(-node.attr)
    if node.op in ("mul", "div"):
        first, second = node.args
        if first.op in ("neg", "const"):
            return node.graph.node(node.op, negative(first), second)
    return -node


def _one_and(node: Node) -> Iterator[tuple[Node, int]]:
    """Yield (u, ±1) for each way to write a sum or difference as ±u + 1."""
    x, y = node.args
    if node.op == "add":
        if is_constant(x, 1):
            yield (y.args[0], -1) if y.op == "neg" else (y, 1)
        if is_constant(y, 1):
            yield (x.args[0], -1) if x.op == "neg" else (x, 1)
    elif is_constant(x, 1):
        yield y, -1
    elif is_constant(y, -1):
        yield x, 1


def _complement(f: ExactArithmetic, node: Node) -> Node | None:
    """Rewrite 1 ± u, which cancels where the function u approaches ∓1; None if no rule applies."""
    for u, sign in _one_and(node):
        if u.op == "erf":
            return _apply(f, call(f, "erfc", negative(u.args[0]) if sign > 0 else u.args[0]))
        if u.op == "tanh":
            twice = 2 * u.args[0]
            return 2 * call(f, "sigmoid", twice if sign > 0 else negative(twice))
        if u.op in ("sigmoid", "Phi") and sign < 0:
            return call(f, u.op, negative(u.args[0]))
        if u.op == "exp" and sign < 0:
            return negative(call(f, "expm1", u.args[0]))
        if u.op == "cos" and sign < 0:
            half = call(f, "sin", u.args[0] / 2)
            return 2 * (half * half)
    return None


def _minus_one(f: ExactArithmetic, node: Node) -> Node | None:
    """Rewrite u - 1 as -(1 - u), and exp(u) - exp(-u), which cancels near 0; else None."""
    x, y = node.args
    if x.op == y.op == "exp" and x.args[0] is negative(y.args[0]):
        return call(f, "expm1", x.args[0]) - call(f, "expm1", y.args[0])
    if not is_constant(y, 1):
        return None
    if x.op == "exp":
        return call(f, "expm1", x.args[0])
    complement = _complement(f, f.lift(1) - x)
    return None if complement is None else negative(complement)


def _logarithm(f: ExactArithmetic, node: Node) -> Node | None:
    """Rewrite log(1 ± u); None if no rule applies."""
    (inside,) = node.args
    if node.op == "log1p":
        return call(f, "softplus", inside.args[0]) if inside.op == "exp" else None
    if inside.op not in ("add", "sub"):
        return None
    for u, sign in _one_and(inside):
        if u.op == "exp" and sign > 0:
            return call(f, "softplus", u.args[0])
        return call(f, "log1p", u if sign > 0 else negative(u))
    return None


def _quotient(f: ExactArithmetic, node: Node) -> Node | None:
    """Rewrite n/(1 + exp(u)) as n·sigmoid(-u), else None."""
    above, below = node.args
    if below.op != "add":
        return None
    for u, sign in _one_and(below):
        if u.op != "exp" or sign < 0:
            continue
        if above is u:
            return call(f, "sigmoid", u.args[0])
        gate = call(f, "sigmoid", negative(u.args[0]))
        return gate if is_constant(above, 1) else above * gate
    return None


def _normal_tail(f: ExactArithmetic, node: Node) -> Node | None:
    """Rewrite erfc(u/sqrt(2)) as 2·Phi(-u), else None."""
    (inside,) = node.args
    minus = inside.op == "neg"
    ratio = inside.args[0] if minus else inside
    if ratio.op != "div" or ratio.args[1].op != "sqrt" or not is_constant(ratio.args[1].args[0], 2):
        return None
    return 2 * call(f, "Phi", ratio.args[0] if minus else negative(ratio.args[0]))


def _product(f: ExactArithmetic, node: Node) -> Node | None:
    """Rewrite 1·u as u, and c/u·v as c·v/u, where `derivative` can cancel terms; else None."""
    x, y = node.args
    if is_constant(x, 1):
        return y
    if x.op == "div" and x.args[0].op == "const":
        return (y if is_constant(x.args[0], 1) else x.args[0] * y) / x.args[1]
    return x if is_constant(y, 1) else None


def _double_negative(f: ExactArithmetic, node: Node) -> Node | None:
    return node.args[0].args[0] if node.args[0].op == "neg" else None


RULES: dict[str, tuple[Rule, ...]] = {
    "add": (_complement,),
    "sub": (_complement, _minus_one),
    "log": (_logarithm,),
    "log1p": (_logarithm,),
    "div": (_quotient,),
    "mul": (_product,),
    "neg": (_double_negative,),
    "erfc": (_normal_tail,),
}
