"""(u/v)' = (u'·v - u·v')/v² with the terms that cancel in the numerator removed.

The slope of x/√(1 + x²) is 1/√(1 + x²) - x²/√(1 + x²)³: for large x two numbers that agree in all
their digits. Expanded as a sum of products, with √q·√q = q, |u|·|u| = u², sign(u)·u = |u| and
exp(u)·exp(-u) = 1, the numerator is 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from .arithmetic import Definition
from .graph import Node

Monomial = frozenset[tuple[Node, int]]
Sum = dict[Monomial, Fraction]

ONE: Monomial = frozenset()
MOST_TERMS = 24
ROUNDS = 4
"""Number of denominators that a numerator may be multiplied by."""


class TooLong(Exception):
    """A sum with too many terms."""


def quotient_slope(f: Definition, u: Node, v: Node, du: Node, dv: Node) -> Node | None:
    """Return (u/v)' where terms of its numerator cancel, else None.

    Examples
    --------
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> quotient_slope(f, x, 1 + f.abs(x), f.lift(1), f.sign(x))
    div(div(1, add(1, abs(x))), add(1, abs(x)))
    """
    try:
        first, second = _times(_expand(du), _expand(v)), _times(_expand(u), _expand(dv))
        first, second, below = _without_denominators(first, second)
    except TooLong:
        return None
    terms = _plus(first, second, -1)
    cancels = any(second.get(monomial) == c for monomial, c in first.items())
    if not cancels or not terms or any(power < 0 for m in terms for _, power in m):
        return None
    result = _rebuilt(f, terms)
    for factor in (v, v, *below):
        result = result / factor
    return result


def _plus(x: Sum, y: Sum, factor: Fraction | int = 1) -> Sum:
    total = dict(x)
    for monomial, c in y.items():
        total[monomial] = total.get(monomial, Fraction(0)) + factor * c
    return {monomial: c for monomial, c in total.items() if c}


def _times(x: Sum, y: Sum) -> Sum:
    if len(x) * len(y) > MOST_TERMS:
        raise TooLong
    total: Sum = {}
    for m, a in x.items():
        for n, b in y.items():
            total = _plus(total, _reduced(_joined(m, n)), a * b)
    return total


def _joined(m: Monomial, n: Monomial) -> dict[Node, int]:
    powers = dict(m)
    for atom, power in n:
        powers[atom] = powers.get(atom, 0) + power
    return {atom: power for atom, power in powers.items() if power}


def _reduced(powers: dict[Node, int]) -> Sum:
    """Return a product by the rules for roots, absolute values and opposite exponentials."""
    for atom, power in powers.items():
        if atom.op == "exp" and atom.args[0].op == "neg":
            opposite = atom.graph.node("exp", atom.args[0].args[0])
            shared = min(power, powers.get(opposite, 0))
            if shared > 0:
                gone = frozenset({(atom, -shared), (opposite, -shared)})
                return _reduced(_joined(frozenset(powers.items()), gone))
        if atom.op in ("sqrt", "abs") and power >= 2:
            rest = dict(powers)
            rest[atom] = power - 2
            inside = _expand(atom.args[0])
            square = inside if atom.op == "sqrt" else _times(inside, inside)
            return _times({frozenset((a, n) for a, n in rest.items() if n): Fraction(1)}, square)
    return {frozenset(powers.items()): Fraction(1)}


def _expand(node: Node) -> Sum:
    """Return a node as a sum of products of atoms."""
    if node.op == "const":
        assert isinstance(node.attr, Fraction)
        return {ONE: node.attr} if node.attr else {}
    if node.op in ("add", "sub"):
        x, y = map(_expand, node.args)
        return _plus(x, y, 1 if node.op == "add" else -1)
    if node.op == "neg":
        return _plus({}, _expand(node.args[0]), -1)
    if node.op == "mul":
        return _times(*map(_expand, node.args))
    if node.op == "div":
        return _times(_expand(node.args[0]), _inverse(node.args[1]))
    if node.op == "expm1":
        power = node.graph.node("exp", *node.args)
        return {frozenset({(power, 1)}): Fraction(1), ONE: Fraction(-1)}
    signed = _signed(node)
    if signed is not None:  # sign(u) = |u|/u
        return {frozenset({(node.graph.node("abs", signed), 1), (signed, -1)}): Fraction(1)}
    return {frozenset({(node, 1)}): Fraction(1)}


def _signed(node: Node) -> Node | None:
    """Return u where `node` is sign(u) and u neither a sum nor a product."""
    if node.op != "where" or node.args[0].op != "lt":
        return None
    u = node.args[0].args[1]
    plain = u.op not in ("add", "sub", "mul", "div", "neg", "const", "where")
    return u if plain and Definition(node.graph).sign(u) is node else None


def _inverse(node: Node) -> Sum:
    terms = _expand(node)
    if len(terms) == 1:
        ((monomial, c),) = terms.items()
        return {frozenset((atom, -power) for atom, power in monomial): 1 / c}
    return {frozenset({(node, -1)}): Fraction(1)}


def _without_denominators(first: Sum, second: Sum) -> tuple[Sum, Sum, list[Node]]:
    """Return two sums multiplied by their denominators, and the denominators."""
    below: list[Node] = []
    for _ in range(ROUNDS):
        both = (*first, *second)
        divisors = (atom for m in both for atom, n in m if n < 0 and _composite(atom))
        divisor = next(divisors, None)
        if divisor is None:
            break
        below.append(divisor)
        first, second = _multiplied(first, divisor), _multiplied(second, divisor)
    return first, second, below


def _multiplied(terms: Sum, factor: Node) -> Sum:
    """Return a sum times `factor`, expanded unless it only cancels a power."""
    total: Sum = {}
    for monomial, c in terms.items():
        if any(atom is factor and power < 0 for atom, power in monomial):
            product = _reduced(_joined(monomial, frozenset({(factor, 1)})))
        else:
            product = _times({monomial: Fraction(1)}, _expand(factor))
        total = _plus(total, product, c)
    return total


def _composite(atom: Node) -> bool:
    return atom.op in ("sqrt", "add", "sub")


def _rebuilt(f: Definition, terms: Sum) -> Node:
    parts = [_product(f, monomial, c) for monomial, c in terms.items()]
    total, *rest = parts
    for part in rest:
        total = total + part
    return total


def _product(f: Definition, monomial: Monomial, c: Fraction) -> Node:
    factors: Iterable[Node] = (atom for atom, power in _ordered(monomial) for _ in range(power))
    result = None if c == 1 and monomial else f.lift(c)
    for factor in factors:
        result = factor if result is None else result * factor
    assert result is not None
    return result


def _ordered(monomial: Monomial) -> list[tuple[Node, int]]:
    """Return the factors in an order that does not depend on memory addresses."""
    return sorted(monomial, key=lambda item: repr(item[0]))
