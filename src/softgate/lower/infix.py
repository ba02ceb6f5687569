"""A definition as plain text, as one would type it: x*sigmoid(beta*x), x + (1 - cos(2*x))/2."""

from __future__ import annotations

from fractions import Fraction

from softgate.formula.graph import Node

CHOICE, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)
"""How tightly a term binds, the loosest first."""

BINARY = {"add": (" + ", SUM), "sub": (" - ", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
COMPARE = {"lt": ("<", ">"), "le": ("<=", ">="), "eq": ("==", "==")}


def infix(root: Node) -> str:
    """Return a definition as text.

    Examples
    --------
    >>> from softgate.formula import Definition
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> infix(0.5 * x * (1 + f.erf(x / f.sqrt(2))))
    '0.5*x*(1 + erf(x/sqrt(2)))'
    >>> infix(f.where(x > 0, x, f.exp(-(x**2)) - 1))
    'x if x > 0 else exp(-x**2) - 1'
    """
    return _text(root)[0]


def _text(node: Node) -> tuple[str, int]:
    if node.op == "const":
        assert isinstance(node.attr, Fraction)
        return _number(node.attr)
    if node.op in ("input", "parameter"):
        return str(node.attr), ATOM
    if node.op == "pi":
        return "pi", ATOM
    if node.op == "neg":
        return f"-{_tight(node.args[0], SIGN)}", SIGN
    if node.op == "where":
        return _choice(node)
    if node.op in COMPARE:
        return _comparison(node), CHOICE
    if node.op in BINARY:
        return _binary(node)
    return f"{node.op}({_text(node.args[0])[0]})", ATOM


def _tight(node: Node, least: int) -> str:
    text, binds = _text(node)
    return text if binds >= least else f"({text})"


def _number(value: Fraction) -> tuple[str, int]:
    text = repr(float(value)) if value.denominator != 1 else str(value.numerator)
    if value.denominator != 1 and Fraction(text) != value:
        return f"{value.numerator}/{value.denominator}", PRODUCT
    return text, SIGN if value < 0 else ATOM


def _binary(node: Node) -> tuple[str, int]:
    base, power = _power(node)
    if power > 1:
        return f"{_tight(base, ATOM)}**{power}", POWER
    symbol, binds = BINARY[node.op]
    # On the right of - and /, and of a product, brackets say what is computed first.
    right = binds + 1 if node.op != "add" else binds
    return f"{_tight(node.args[0], binds)}{symbol}{_tight(node.args[1], right)}", binds


def _power(node: Node) -> tuple[Node, int]:
    """Return u and n where `node` is a product of n times u."""
    if node.op != "mul":
        return node, 1
    (left, m), (right, n) = map(_power, node.args)
    return (left, m + n) if left is right else (node, 1)


def _choice(node: Node) -> tuple[str, int]:
    condition, yes, no = node.args
    if condition.op in ("lt", "le") and set(condition.args) == {yes, no}:
        larger = condition.args[1] is yes
        return f"{'max' if larger else 'min'}({_text(yes)[0]}, {_text(no)[0]})", ATOM
    return f"{_tight(yes, SUM)} if {_text(condition)[0]} else {_text(no)[0]}", CHOICE


def _comparison(node: Node) -> str:
    left, right = node.args
    symbol, mirrored = COMPARE[node.op]
    if left.op == "const":
        left, right, symbol = right, left, mirrored
    return f"{_tight(left, SUM)} {symbol} {_tight(right, SUM)}"
