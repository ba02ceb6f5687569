"""The derivative of a definition, by one rule per operation.

Rules are chosen so that their results can be computed directly: σ' is σ(x)·σ(-x), not
σ(x)·(1 - σ(x)), where 1 - σ(x) cancels for large x. Each branch of a `where` is differentiated: at
a kink the slope is that of the branch that the definition takes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add, mul

from .arithmetic import ExactArithmetic
from .graph import Node, is_constant, rebuild

HALF = Fraction(1, 2)
Rule = Callable[[ExactArithmetic, Node], Node]


def call(f: ExactArithmetic, name: str, x: Node) -> Node:
    """Return the function `name` of `x` as a node."""
    return f.graph.node(name, x)


def _erf_slope(f: ExactArithmetic, x: Node) -> Node:
    return 2 * call(f, "exp", -x * x) / call(f, "sqrt", f.pi)


RULES: dict[str, Rule] = {
    "exp": lambda f, x: call(f, "exp", x),
    "expm1": lambda f, x: call(f, "exp", x),
    "log": lambda f, x: 1 / x,
    "log1p": lambda f, x: 1 / (1 + x),
    "sqrt": lambda f, x: HALF / call(f, "sqrt", x),
    "tanh": lambda f, x: 4 * call(f, "sigmoid", 2 * x) * call(f, "sigmoid", -2 * x),
    "sigmoid": lambda f, x: call(f, "sigmoid", x) * call(f, "sigmoid", -x),
    "softplus": lambda f, x: call(f, "sigmoid", x),
    "erf": _erf_slope,
    "erfc": lambda f, x: -_erf_slope(f, x),
    "Phi": lambda f, x: call(f, "phi", x),
    "phi": lambda f, x: -x * call(f, "phi", x),
    "sin": lambda f, x: call(f, "cos", x),
    "cos": lambda f, x: -call(f, "sin", x),
    "atan": lambda f, x: 1 / (1 + x * x),
    "abs": lambda f, x: f.where(x > 0, 1, f.where(x < 0, -1, 0)),
    "neg": lambda f, x: f.lift(-1),
}


def derivative(root: Node, variable: str = "x", cancel: bool = False) -> Node:
    """Return d root / d variable, an input or a parameter, as a node of the same graph.

    With `cancel`, terms that cancel in the numerator of (u/v)' are removed (`quotient_slope`).
    Results are kept: equal calls return the same node.

    Examples
    --------
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> derivative(x * f.Phi(x))
    add(Phi(x), mul(x, phi(x)))
    """
    f, key = ExactArithmetic(root.graph), (root, variable, cancel)

    def slope(node: Node, slopes: list[Node]) -> Node:
        special = quotient_slope(f, *node.args, *slopes) if cancel and node.op == "div" else None
        return _slope(f, node, slopes, variable) if special is None else special

    if key not in f.graph.derivatives:
        f.graph.derivatives[key] = rebuild(root, slope)
    return f.graph.derivatives[key]


def _product(x: Node, y: Node) -> Node:
    if is_constant(x, 0) or is_constant(y, 1):
        return x
    return y if is_constant(y, 0) or is_constant(x, 1) else x * y


def _sum(x: Node, y: Node) -> Node:
    if is_constant(x, 0):
        return y
    return x if is_constant(y, 0) else x + y


def _slope(f: ExactArithmetic, node: Node, slopes: list[Node], variable: str) -> Node:
    args = node.args
    if node.op in ("input", "parameter"):
        return f.lift(int(node.attr == variable))
    if all(is_constant(slope, 0) for slope in slopes) and node.op != "where":
        return f.lift(0)
    if node.op == "add":
        return _sum(*slopes)
    if node.op == "sub":
        return slopes[0] if is_constant(slopes[1], 0) else slopes[0] - slopes[1]
    if node.op == "mul":
        return _sum(_product(slopes[0], args[1]), _product(args[0], slopes[1]))
    if node.op == "div":
        if is_constant(slopes[0], 0):
            return -(node * slopes[1] / args[1])
        fixed = slopes[0] / args[1]
        return fixed if is_constant(slopes[1], 0) else fixed - node * slopes[1] / args[1]
    if node.op == "where":
        _, yes, no = slopes
        return yes if yes is no else f.where(args[0], yes, no)
    if node.op in ("lt", "le", "eq"):
        return f.lift(0)
    return _product(RULES[node.op](f, args[0]), slopes[0])


Monomial = frozenset[tuple[Node, int]]
Sum = dict[Monomial, Fraction]

ONE: Monomial = frozenset()
MOST_TERMS = 24
ROUNDS = 4
"""Number of denominators that a numerator may be multiplied by."""


class TooLong(Exception):
    """A sum with too many terms."""


def quotient_slope(f: ExactArithmetic, u: Node, v: Node, du: Node, dv: Node) -> Node | None:
    """Return (u/v)' where terms of its numerator cancel, else None.

    The slope of x/√(1 + x²) is 1/√(1 + x²) - x²/√(1 + x²)³: for large x the two terms agree in
    all digits. Expanded as a sum of products, with √q·√q = q, |u|·|u| = u², sign(u)·u = |u|
    and exp(u)·exp(-u) = 1, the numerator is 1.

    Examples
    --------
    >>> f = ExactArithmetic()
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
    # An order that does not depend on memory addresses.
    products = (
        [atom for atom, power in sorted(m, key=lambda item: repr(item[0])) for _ in range(power)]
        for m in terms
    )
    result = reduce(
        add,
        (
            reduce(mul, factors if c == 1 and factors else [f.lift(c), *factors])
            for factors, c in zip(products, terms.values(), strict=True)
        ),
    )
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
    """Return a product simplified by the rules for roots, absolute values and exp(u)·exp(-u)."""
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


@lru_cache(maxsize=1024)  # a shared subexpression is expanded once
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
    if node.op == "where" and node.args[0].op == "lt":
        u = node.args[0].args[1]
        composed = u.op in ("add", "sub", "mul", "div", "neg", "const", "where")
        if not composed and ExactArithmetic(node.graph).sign(u) is node:  # sign(u) = |u|/u
            return {frozenset({(node.graph.node("abs", u), 1), (u, -1)}): Fraction(1)}
    return {frozenset({(node, 1)}): Fraction(1)}


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
        divisors = (a for m in both for a, n in m if n < 0 and a.op in ("sqrt", "add", "sub"))
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
