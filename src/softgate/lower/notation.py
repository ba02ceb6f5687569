"""A definition as mathematics is written: fractions, roots, powers, cases, and no bracket too many.

LaTeX and MathML print the same tree, so they cannot say two different things. A term knows how
tightly it binds and whether it begins with a minus; brackets follow from that alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from softgate.formula.arithmetic import Definition
from softgate.formula.derivative import call
from softgate.formula.graph import COMPARISONS, Node, walk

CHOICE, SUM, PRODUCT, POWER, ATOM = range(5)
"""How tightly a term binds, the loosest first."""

THIN, NOTHING = "thin", "nothing"
"""Two ways not to write a product's sign."""

LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ",
    "tau": "τ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Psi": "Ψ", "Omega": "Ω", "lambd": "λ", "lambda_": "λ",
}  # fmt: skip
"""Names that are written as a letter; not those that stand for a function or a number here."""


@dataclass(frozen=True)
class Term:
    """A part of a written formula: a kind, its text or its parts, and how tightly it binds."""

    kind: str
    parts: tuple[Term, ...] = ()
    text: str = ""
    binds: int = ATOM
    signed: bool = False


def row(*parts: Term, binds: int, signed: bool = False) -> Term:
    """Return terms written one after the other."""
    return Term("row", parts, binds=binds, signed=signed)


def sign(text: str) -> Term:
    """Return an operator or a relation: +, -, /, <."""
    return Term("sign", text=text)


def bracketed(term: Term, least: int) -> Term:
    """Return `term`, in brackets if it binds looser than `least`."""
    return Term("brackets", (term,)) if term.binds < least or term.signed else term


def notation(root: Node) -> Term:
    """Return `root` as it is written.

    A formula that is one function of its input is written out, for σ(x) = σ(x) says nothing.
    """
    if root.op in MEANINGS and root.args[0].op == "input":
        root = meaning(root)
    return write(root)


def meaning(node: Node) -> Node:
    """Return what σ(x), Φ(x) or φ(x) stands for."""
    return MEANINGS[node.op](Definition(node.graph), node.args[0])


MEANINGS: dict[str, Callable[[Definition, Node], Node]] = {
    "sigmoid": lambda f, x: 1 / (1 + f.exp(-x)),
    "Phi": lambda f, x: Fraction(1, 2) * (1 + f.erf(x / f.sqrt(2))),
    "phi": lambda f, x: f.exp(-x * x / 2) / f.sqrt(2 * f.pi),
}
"""The functions that have a symbol of their own in formulas."""

NAMED = {
    "log": "ln", "tanh": "tanh", "sigmoid": "sigma", "erf": "erf", "erfc": "erfc", "Phi": "Phi",
    "phi": "varphi", "sin": "sin", "cos": "cos", "atan": "arctan",
}  # fmt: skip
"""The functions that are written as a name and an argument, and that name."""


def write(node: Node, small: bool = False) -> Term:
    """Return one node as a term; `small`, in an exponent, fractions are written with a slash."""
    if node.op == "const":
        assert isinstance(node.attr, Fraction)
        return number(node.attr, small)
    if node.op in ("input", "parameter"):
        return Term("name", text=str(node.attr))
    if node.op in NAMED:
        return function(NAMED[node.op], write(node.args[0]))
    if node.op in COMPARISONS:
        return comparison(node)
    if node.op not in WRITERS:
        raise ValueError(f"{node.op!r} has no notation: add it to softgate/lower/notation.py")
    return WRITERS[node.op](node, small)


def function(name: str, *arguments: Term) -> Term:
    """Return a function's name and its arguments in brackets."""
    inside: list[Term] = []
    for argument in arguments:
        inside += [*([sign(",")] if inside else []), argument]
    return Term("call", (Term("function", text=name), row(*inside, binds=SUM)))


def number(value: Fraction, small: bool = False) -> Term:
    """Return a number as its author would write it: 0.044715, 1/2, 2/3."""
    if value < 0:
        positive = number(-value, small)
        return row(sign("-"), positive, binds=SUM, signed=True)
    if value.denominator == 1:
        return Term("number", text=str(value.numerator))
    digits = decimals(value.denominator)
    if value.denominator in (2, 4, 8) or digits is None:
        return fraction(
            number(Fraction(value.numerator)), number(Fraction(value.denominator)), small
        )
    shifted = value * 10**digits
    assert shifted.denominator == 1
    whole = str(shifted.numerator).rjust(digits + 1, "0")
    return Term("number", text=f"{whole[:-digits]}.{whole[-digits:]}")


def decimals(denominator: int, limit: int = 80) -> int | None:
    """Return how many digits after the point 1/denominator has, or None if there is no end."""
    for digits in range(1, limit + 1):
        if 10**digits % denominator == 0:
            return digits
    return None


def fraction(above: Term, below: Term, small: bool) -> Term:
    """Return above/below, a minus above taken out to the front."""
    if above.signed and above.binds == SUM and len(above.parts) == 2:
        inner = above.parts[1]
        inner = inner.parts[0] if inner.kind == "brackets" else inner
        positive = bracketed(fraction(inner, below, small), PRODUCT)
        return row(sign("-"), positive, binds=SUM, signed=True)
    if small:
        parts = bracketed(above, PRODUCT), sign("/"), bracketed(below, POWER)
        return row(*parts, binds=PRODUCT)
    return Term("fraction", (above, below), binds=PRODUCT)


def sum_of(node: Node, small: bool) -> Term:
    """Return a + b or a - b; + with a minus after it becomes that minus."""
    left, right = write(node.args[0], small), write(node.args[1], small)
    symbol = "+" if node.op == "add" else "-"
    if left.binds < SUM:
        left = bracketed(left, SUM)
    if symbol == "+" and right.signed and len(right.parts) == 2:
        symbol, right = "-", right.parts[1]
    right = bracketed(right, SUM if symbol == "+" else PRODUCT)
    return row(left, sign(symbol), right, binds=SUM, signed=left.signed)


def negative(node: Node, small: bool) -> Term:
    """Return -a."""
    inner = write(node.args[0], small)
    return row(sign("-"), bracketed(inner, PRODUCT), binds=SUM, signed=True)


def product(node: Node, small: bool) -> Term:
    """Return a·b·c with its minus in front, its numbers next, and equal factors as powers."""
    powers: dict[Node, int] = {}
    numbers: list[Fraction] = []
    minus = False
    for factor in factors(node):
        if factor.op == "const":
            assert isinstance(factor.attr, Fraction)
            numbers.append(abs(factor.attr))
            minus ^= factor.attr < 0
        elif factor.op == "neg":  # `factors` gives what stands behind the minus as well
            minus = not minus
        else:
            powers[factor] = powers.get(factor, 0) + 1
    terms = [number(value, small) for value in numbers if value != 1 or not powers]
    terms += [power(write(factor, small), count) for factor, count in powers.items()]
    result = terms[0] if len(terms) == 1 else juxtapose(terms)
    if minus:
        return row(sign("-"), bracketed(result, PRODUCT), binds=SUM, signed=True)
    return result


def factors(node: Node) -> list[Node]:
    """Return the factors of a product of products; a minus stands for -1."""
    if node.op == "mul":
        return [*factors(node.args[0]), *factors(node.args[1])]
    if node.op == "neg":
        return [node, *factors(node.args[0])]
    return [node]


def juxtapose(terms: list[Term]) -> Term:
    """Return factors side by side, with a dot or a space where two would run together."""
    parts: list[Term] = []
    for term in terms:
        bound = bracketed(term, PRODUCT)
        if parts:
            parts.append(sign(between(parts[-1], bound)))
        parts.append(bound)
    return row(*parts, binds=PRODUCT)


def between(left: Term, right: Term) -> str:
    """Return what stands between two factors: a dot, a thin space, or nothing to be seen."""
    if right.kind == "number" or (right.kind == "row" and right.binds == PRODUCT):
        return "·"
    return THIN if right.kind == "call" or is_word(left) or is_word(right) else NOTHING


def is_word(term: Term) -> bool:
    """Tell whether a term is a name of several letters, or a power of one."""
    if term.kind == "power":
        return is_word(term.parts[0])
    return term.kind == "name" and len(spelt(term.text)) > 1


def spelt(text: str) -> str:
    """Return a variable's name as it is written: a letter, Greek too, or a whole word."""
    return LETTERS.get(text, text)


def power(base: Term, exponent: int) -> Term:
    """Return base^exponent."""
    if exponent == 1:
        return base
    tight = bracketed(base, ATOM)
    return Term("power", (tight, Term("number", text=str(exponent))), binds=POWER)


def exponential(node: Node, small: bool) -> Term:
    """Return e^x, or exp(x) where x is no simple exponent."""
    argument = write(node.args[0], small=True)
    if small or any_part(argument, "cases"):
        return function("exp", write(node.args[0]))
    return Term("power", (Term("constant", text="e"), argument), binds=POWER)


def any_part(term: Term, kind: str) -> bool:
    """Tell whether a kind of term occurs in one."""
    return term.kind == kind or any(any_part(part, kind) for part in term.parts)


def choice(node: Node, small: bool) -> Term:
    """Return a maximum, a minimum, or cases; a choice in the last case is more cases."""
    condition, yes, no = node.args
    if condition.op in ("lt", "le") and set(condition.args) == {yes, no} and yes is not no:
        larger = condition.args[1] is yes
        return function("max" if larger else "min", write(yes), write(no))
    cases: list[Term] = []
    while True:
        cases += [write(yes), write(condition)]
        if no.op != "where":
            return Term("cases", (*cases, write(no)), binds=CHOICE)
        condition, yes, no = no.args


def comparison(node: Node) -> Term:
    """Return a < b, with what varies on the left."""
    left, right = node.args
    symbols = {"lt": "<", "le": "≤", "eq": "="}
    symbol = symbols[node.op]
    if not varies(left) and varies(right):
        left, right = right, left
        symbol = {"<": ">", "≤": "≥", "=": "="}[symbol]
    parts = bracketed_choice(write(left)), sign(symbol), bracketed_choice(write(right))
    return row(*parts, binds=CHOICE)


def varies(node: Node) -> bool:
    """Tell whether a node depends on an input."""
    return any(part.op == "input" for part in walk(node))


def bracketed_choice(term: Term) -> Term:
    """Return a side of a comparison: only cases need brackets there."""
    return Term("brackets", (term,)) if term.binds < SUM else term


def plus_one(node: Node, inside: Node) -> Term:
    """Return ln(1 + inside)."""
    total = Definition(node.graph).lift(1) + inside
    return function("ln", write(total))


WRITERS: dict[str, Callable[[Node, bool], Term]] = {
    "add": sum_of,
    "sub": sum_of,
    "mul": product,
    "div": lambda n, s: fraction(write(n.args[0], s), write(n.args[1], s), s),
    "neg": lambda n, s: product(n, s) if n.args[0].op in ("mul", "neg") else negative(n, s),
    "abs": lambda n, _: Term("bars", (write(n.args[0]),)),
    "where": choice,
    "pi": lambda n, _: Term("constant", text="pi"),
    "exp": exponential,
    "expm1": lambda n, s: write(call(Definition(n.graph), "exp", n.args[0]) - 1, s),
    "log1p": lambda n, _: plus_one(n, n.args[0]),
    "softplus": lambda n, _: plus_one(n, call(Definition(n.graph), "exp", n.args[0])),
    "sqrt": lambda n, _: Term("root", (write(n.args[0]),)),
}
