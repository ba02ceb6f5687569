"""The derivative of a definition, by one rule per operation.

Rules are chosen so that their results can be computed directly: σ' is σ(x)·σ(-x), not
σ(x)·(1 - σ(x)), whose difference cancels for large x. A choice is differentiated branch by branch:
at a kink the slope is that of the branch the definition takes there.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .arithmetic import Definition
from .graph import Node, walk

HALF = Fraction(1, 2)
Rule = Callable[[Definition, Node], Node]
Quotient = Callable[[Definition, Node, Node, Node, Node], Node | None]


def call(f: Definition, name: str, x: Node) -> Node:
    """Return the function `name` of `x` as a node."""
    return f.graph.node(name, x)


def _phi_slope(f: Definition, x: Node) -> Node:
    return -x * call(f, "phi", x)


def _tanh_slope(f: Definition, x: Node) -> Node:
    return 4 * call(f, "sigmoid", 2 * x) * call(f, "sigmoid", -2 * x)


def _sigmoid_slope(f: Definition, x: Node) -> Node:
    return call(f, "sigmoid", x) * call(f, "sigmoid", -x)


def _erf_slope(f: Definition, x: Node) -> Node:
    return 2 * call(f, "exp", -x * x) / call(f, "sqrt", f.pi)


RULES: dict[str, Rule] = {
    "exp": lambda f, x: call(f, "exp", x),
    "expm1": lambda f, x: call(f, "exp", x),
    "log": lambda f, x: 1 / x,
    "log1p": lambda f, x: 1 / (1 + x),
    "sqrt": lambda f, x: HALF / call(f, "sqrt", x),
    "tanh": _tanh_slope,
    "sigmoid": _sigmoid_slope,
    "softplus": lambda f, x: call(f, "sigmoid", x),
    "erf": _erf_slope,
    "erfc": lambda f, x: -_erf_slope(f, x),
    "Phi": lambda f, x: call(f, "phi", x),
    "phi": _phi_slope,
    "sin": lambda f, x: call(f, "cos", x),
    "cos": lambda f, x: -call(f, "sin", x),
    "atan": lambda f, x: 1 / (1 + x * x),
    "abs": lambda f, x: f.where(x > 0, 1, f.where(x < 0, -1, 0)),
    "neg": lambda f, x: f.lift(-1),
}


def derivative(root: Node, variable: str = "x", quotient: Quotient | None = None) -> Node:
    """Return d root / d variable as a node of the same graph.

    `quotient(f, u, v, du, dv)` may return a special form of (u/v)', or None.

    Examples
    --------
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> derivative(x * f.Phi(x))
    add(Phi(x), mul(x, phi(x)))
    """
    f = Definition(root.graph)
    slopes: dict[Node, Node] = {}
    for node in walk(root):
        inner = [slopes[arg] for arg in node.args]
        special = quotient(f, *node.args, *inner) if quotient and node.op == "div" else None
        slopes[node] = _slope(f, node, inner, variable) if special is None else special
    return slopes[root]


def _is(node: Node, value: int) -> bool:
    return node.op == "const" and node.attr == value


def _product(x: Node, y: Node) -> Node:
    if _is(x, 0) or _is(y, 1):
        return x
    return y if _is(y, 0) or _is(x, 1) else x * y


def _sum(x: Node, y: Node) -> Node:
    if _is(x, 0):
        return y
    return x if _is(y, 0) else x + y


def _slope(f: Definition, node: Node, slopes: list[Node], variable: str) -> Node:
    args = node.args
    if node.op == "input":
        return f.lift(int(node.attr == variable))
    if all(_is(slope, 0) for slope in slopes) and node.op != "where":
        return f.lift(0)
    if node.op == "add":
        return _sum(*slopes)
    if node.op == "sub":
        return slopes[0] if _is(slopes[1], 0) else slopes[0] - slopes[1]
    if node.op == "mul":
        return _sum(_product(slopes[0], args[1]), _product(args[0], slopes[1]))
    if node.op == "div":
        if _is(slopes[0], 0):
            return -(node * slopes[1] / args[1])
        fixed = slopes[0] / args[1]
        return fixed if _is(slopes[1], 0) else fixed - node * slopes[1] / args[1]
    if node.op == "where":
        _, yes, no = slopes
        return yes if yes is no else f.where(args[0], yes, no)
    if node.op in ("lt", "le", "eq"):
        return f.lift(0)
    return _product(RULES[node.op](f, args[0]), slopes[0])
