"""A definition in mathematical notation: plain text, LaTeX and MathML.

LaTeX and MathML are printed from one tree of terms (`notation`), so they agree. Each term records
its operator precedence and whether it starts with a minus sign; brackets follow from these alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.derivative import call
from softgate.formula.graph import COMPARISONS, Node, walk

CHOICE, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)
"""Operator precedence, the loosest first."""

THIN, NOTHING = "thin", "nothing"
"""Separators of factors: a thin space, or none."""

LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ",
    "tau": "τ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Psi": "Ψ", "Omega": "Ω", "lambd": "λ", "lambda_": "λ",
}  # fmt: skip
"""Parameter names written as a Greek letter; names of functions and constants are left out."""


@dataclass(frozen=True)
class Term:
    """A part of a written formula: a kind, its text or its parts, and its precedence."""

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
    """Return `term`, in brackets if its precedence is below `least` or it starts with a minus."""
    return Term("brackets", (term,)) if term.binds < least or term.signed else term


def notation(root: Node) -> Term:
    """Return `root` as a tree of terms.

    A formula that is one named function of its input is expanded: σ(x) becomes 1/(1 + exp(-x)).
    """
    if root.op in MEANINGS and root.args[0].op == "input":
        root = meaning(root)
    return write(shortened(root))


LONGEST, ABRIDGED = 500, 40
"""Operations of a formula that is written in full, and of a longer one that is abridged."""


def shortened(root: Node) -> Node:
    """Return `root`, with an ellipsis for parts if it has more than `LONGEST` operations.

    A graph with shared subexpressions can stand for exponentially many operations.
    """
    sizes: dict[Node, int] = {}
    powers = as_powers(root)
    for node in walk(root):
        base, exponent = powers[node]
        parts = node.args if exponent == 1 else (base,)
        sizes[node] = 1 + sum(sizes[part] for part in parts)

    def within(node: Node, budget: int) -> Node:
        if sizes[node] <= budget:
            return node
        if budget <= 1:
            return node.graph.input("…")
        share = (budget - 1) // len(node.args)
        args = (within(arg, share) for arg in node.args)
        return node.graph.node(node.op, *args, attr=node.attr)

    return root if sizes[root] <= LONGEST else within(root, ABRIDGED)


def as_powers(root: Node) -> dict[Node, tuple[Node, int]]:
    """Return u and n for every node of a graph that is u**n written as products, else n = 1."""
    powers: dict[Node, tuple[Node, int]] = {}
    for node in walk(root):
        powers[node] = (node, 1)
        if node.op == "mul":
            (left, m), (right, n) = (powers[arg] for arg in node.args)
            if left is right:
                powers[node] = (left, m + n)
    return powers


def meaning(node: Node) -> Node:
    """Return σ(x), Φ(x) or φ(x) expanded into elementary functions."""
    return MEANINGS[node.op](ExactArithmetic(node.graph), node.args[0])


MEANINGS: dict[str, Callable[[ExactArithmetic, Node], Node]] = {
    "sigmoid": lambda f, x: 1 / (1 + f.exp(-x)),
    "Phi": lambda f, x: Fraction(1, 2) * (1 + f.erf(x / f.sqrt(2))),
    "phi": lambda f, x: f.exp(-x * x / 2) / f.sqrt(2 * f.pi),
}
"""The functions written as a symbol, and their expansions."""

NAMED = {
    "log": "ln", "tanh": "tanh", "sigmoid": "sigma", "erf": "erf", "erfc": "erfc", "Phi": "Phi",
    "phi": "varphi", "sin": "sin", "cos": "cos", "atan": "arctan",
}  # fmt: skip
"""The functions written as a name with an argument, and the name."""


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
    """Return a number in its shortest exact notation: 0.044715, 1/2, 2/3."""
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
    """Return the number of decimals of 1/denominator, or None if they do not terminate."""
    for digits in range(1, limit + 1):
        if 10**digits % denominator == 0:
            return digits
    return None


def fraction(above: Term, below: Term, small: bool) -> Term:
    """Return above/below with a minus sign of the numerator moved to the front."""
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
    """Return a + b or a - b; a + (-b) is written as a - b."""
    left, right = write(node.args[0], small), write(node.args[1], small)
    symbol = "+" if node.op == "add" else "-"
    if left.binds < SUM:
        left = bracketed(left, SUM)
    if symbol == "+" and right.signed and len(right.parts) == 2:
        symbol, right = "-", right.parts[1]
    right = bracketed(right, SUM if symbol == "+" else PRODUCT)
    return row(left, sign(symbol), right, binds=SUM, signed=left.signed)


def product(node: Node, small: bool) -> Term:
    """Return a·b·c or -a with the minus sign first, then numbers, and equal factors as powers."""
    powers: dict[Node, int] = {}
    numbers: list[Fraction] = []
    minus = False
    for factor, count in factors(node).items():
        if factor.op == "const":
            assert isinstance(factor.attr, Fraction)
            numbers += [abs(factor.attr)] * count
            minus ^= factor.attr < 0 and count % 2 == 1
        elif factor.op == "neg":  # `factors` counts its operand as well
            minus ^= count % 2 == 1
        else:
            powers[factor] = count
    terms = [number(value, small) for value in numbers if value != 1 or not powers]
    terms += [power(write(factor, small), count) for factor, count in powers.items()]
    result = terms[0] if len(terms) == 1 else juxtapose(terms)
    if minus:
        return row(sign("-"), bracketed(result, PRODUCT), binds=SUM, signed=True)
    return result


def factors(node: Node) -> Counter[Node]:
    """Return how often each factor of a product of products occurs; a `neg` node counts for -1."""
    counts: dict[Node, Counter[Node]] = {}
    for part in walk(node):
        if part.op == "mul":
            counts[part] = counts[part.args[0]] + counts[part.args[1]]
        elif part.op == "neg":
            counts[part] = Counter([part]) + counts[part.args[0]]
        else:
            counts[part] = Counter([part])
    return counts[node]


def juxtapose(terms: list[Term]) -> Term:
    """Return factors side by side, separated by a dot or a space where needed."""
    parts: list[Term] = []
    for term in terms:
        bound = bracketed(term, PRODUCT)
        if parts:
            parts.append(sign(between(parts[-1], bound)))
        parts.append(bound)
    return row(*parts, binds=PRODUCT)


def between(left: Term, right: Term) -> str:
    """Return the separator of two factors: a dot, `THIN` or `NOTHING`."""
    if right.kind == "number" or (right.kind == "row" and right.binds == PRODUCT):
        return "·"
    return THIN if right.kind == "call" or is_word(left) or is_word(right) else NOTHING


def is_word(term: Term) -> bool:
    """Return whether a term is a name of several letters, or a power of one."""
    if term.kind == "power":
        return is_word(term.parts[0])
    return term.kind == "name" and len(spelt(term.text)) > 1


def spelt(text: str) -> str:
    """Return the notation of a variable's name: a Latin or Greek letter, or a word."""
    return LETTERS.get(text, text)


def power(base: Term, exponent: int) -> Term:
    """Return base^exponent."""
    if exponent == 1:
        return base
    tight = bracketed(base, ATOM)
    return Term("power", (tight, Term("number", text=str(exponent))), binds=POWER)


def exponential(node: Node, small: bool) -> Term:
    """Return e^x, or exp(x) inside another exponent or with cases in x."""
    argument = write(node.args[0], small=True)
    if small or any_part(argument, "cases"):
        return function("exp", write(node.args[0]))
    return Term("power", (Term("constant", text="e"), argument), binds=POWER)


def any_part(term: Term, kind: str) -> bool:
    """Return whether a term of this kind occurs in `term`."""
    return term.kind == kind or any(any_part(part, kind) for part in term.parts)


def choice(node: Node, small: bool) -> Term:
    """Return a maximum, a minimum, or cases; a `where` in the last case adds cases."""
    larger = extremum(node)
    if larger is not None:
        name, operands = larger
        return function(name, *map(write, operands))
    condition, yes, no = node.args
    cases: list[Term] = []
    while True:
        cases += [write(yes), write(condition)]
        if no.op != "where":
            return Term("cases", (*cases, write(no)), binds=CHOICE)
        condition, yes, no = no.args


def extremum(node: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Return "max" or "min" and the operands if a choice is one, else None."""
    condition, *choices = node.args
    if condition.op not in ("lt", "le") or {*condition.args} != {*choices}:
        return None
    return "max" if condition.args[1] is choices[0] else "min", tuple(choices)


def comparison(node: Node) -> Term:
    """Return a < b, with the side that depends on an input on the left."""
    left, right = node.args
    symbols = {"lt": "<", "le": "≤", "eq": "="}
    symbol = symbols[node.op]
    if not varies(left) and varies(right):
        left, right = right, left
        symbol = {"<": ">", "≤": "≥", "=": "="}[symbol]
    parts = bracketed_choice(write(left)), sign(symbol), bracketed_choice(write(right))
    return row(*parts, binds=CHOICE)


def varies(node: Node) -> bool:
    """Return whether a node depends on an input."""
    return any(part.op == "input" for part in walk(node))


def bracketed_choice(term: Term) -> Term:
    """Return one side of a comparison; only cases need brackets."""
    return Term("brackets", (term,)) if term.binds < SUM else term


def plus_one(node: Node, inside: Node) -> Term:
    """Return ln(1 + inside)."""
    total = ExactArithmetic(node.graph).lift(1) + inside
    return function("ln", write(total))


WRITERS: dict[str, Callable[[Node, bool], Term]] = {
    "add": sum_of,
    "sub": sum_of,
    "mul": product,
    "div": lambda n, s: fraction(write(n.args[0], s), write(n.args[1], s), s),
    "neg": product,
    "abs": lambda n, _: Term("bars", (write(n.args[0]),)),
    "where": choice,
    "pi": lambda n, _: Term("constant", text="pi"),
    "exp": exponential,
    "expm1": lambda n, s: write(call(ExactArithmetic(n.graph), "exp", n.args[0]) - 1, s),
    "log1p": lambda n, _: plus_one(n, n.args[0]),
    "softplus": lambda n, _: plus_one(n, call(ExactArithmetic(n.graph), "exp", n.args[0])),
    "sqrt": lambda n, _: Term("root", (write(n.args[0]),)),
}


INFIX: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "pi": ("pi", ATOM, ()),
    "add": ("{} + {}", SUM, (SUM, SUM)),
    "sub": ("{} - {}", SUM, (SUM, PRODUCT)),
    "mul": ("{}*{}", PRODUCT, (PRODUCT, SIGN)),
    "div": ("{}/{}", PRODUCT, (PRODUCT, SIGN)),
    "neg": ("-{}", SIGN, (SIGN,)),
    "lt": ("{} < {}", CHOICE, (SUM, SUM)),
    "le": ("{} <= {}", CHOICE, (SUM, SUM)),
    "eq": ("{} == {}", CHOICE, (SUM, SUM)),
    "gt": ("{} > {}", CHOICE, (SUM, SUM)),
    "ge": ("{} >= {}", CHOICE, (SUM, SUM)),
    "max": ("max({}, {})", ATOM, (CHOICE, CHOICE)),
    "min": ("min({}, {})", ATOM, (CHOICE, CHOICE)),
    "where": ("{1} if {0} else {2}", CHOICE, (CHOICE, SUM, CHOICE)),
}
"""Templates of Python expressions, their precedence, and the least precedence of each operand;
other operations are functions of one argument."""
MIRRORED = {"lt": "gt", "le": "ge", "eq": "eq"}


def infix(root: Node) -> str:
    """Return a definition as plain text, in Python syntax, with every operation as it is written.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> infix(0.5 * x * (1 + f.erf(x / f.sqrt(2))))
    '0.5*x*(1 + erf(x/sqrt(2)))'
    >>> infix(f.where(x > 0, x, f.exp(-(x**2)) - 1))
    'x if x > 0 else exp(-x**2) - 1'
    """
    root = shortened(root)
    powers = as_powers(root)
    texts: dict[Node, tuple[str, int]] = {}
    for node in walk(root):
        op, args = node.op, node.args
        base, exponent = powers[node]
        if op == "const":
            assert isinstance(node.attr, Fraction)
            texts[node] = _infix_number(node.attr)
            continue
        if op == "where":
            op, args = extremum(node) or (op, args)
        elif op in MIRRORED and args[0].op == "const":
            op, args = MIRRORED[op], args[::-1]
        template, binds, least = INFIX.get(op, (f"{op}({{}})", ATOM, (CHOICE,)))
        if op in ("input", "parameter"):
            template, least = str(node.attr), ()
        elif exponent > 1:
            args, template, binds, least = (base,), f"{{}}**{exponent}", POWER, (ATOM,)
        operands = [
            text if tight >= needed else f"({text})"
            for (text, tight), needed in zip((texts[arg] for arg in args), least, strict=True)
        ]
        texts[node] = template.format(*operands), binds
    return texts[root][0]


def _infix_number(value: Fraction) -> tuple[str, int]:
    text = repr(float(value)) if value.denominator != 1 else str(value.numerator)
    if value.denominator != 1 and Fraction(text) != value:
        return f"{value.numerator}/{value.denominator}", PRODUCT
    return text, SIGN if value < 0 else ATOM


LATEX_SIGNS = {"≤": r"\le", "≥": r"\ge", "·": r"\cdot"}
LATEX_TIGHT_SIGNS = {THIN: r"\,", NOTHING: " ", ",": ", ", "/": "/"}
"""Separators written without surrounding spaces."""

LATEX_FORMS = {
    "fraction": r"\frac{{{}}}{{{}}}",
    "root": r"\sqrt{{{}}}",
    "power": "{}^{{{}}}",
    "brackets": r"\left({}\right)",
    "bars": r"\left|{}\right|",
    "call": r"{}\left({}\right)",
}
LATEX_UPRIGHT = frozenset({"erf", "erfc"})
"""Functions without a LaTeX command."""


def latex(root: Node) -> str:
    r"""Return a definition as LaTeX math, without delimiters; amsmath, KaTeX and MathJax render it.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> print(latex(x * f.Phi(x)))
    x\,\Phi\left(x\right)
    >>> print(latex(f.where(x > 0, x, f.graph.parameter("alpha") * f.expm1(x))))
    \begin{cases}x & \text{if } x > 0 \\ \alpha \left(e^{x} - 1\right) & \text{otherwise}\end{cases}
    """
    return latex_term(notation(root))


def latex_term(term: Term) -> str:
    """Return one term as LaTeX."""
    match term.kind:
        case "row":
            return _latex_row(term)
        case "cases":
            return _latex_cases([latex_term(part) for part in term.parts])
        case "function":
            upright = term.text in LATEX_UPRIGHT
            return rf"\operatorname{{{term.text}}}" if upright else rf"\{term.text}"
        case "constant":
            return r"\pi" if term.text == "pi" else term.text
        case "name":
            return _latex_name(term.text)
        case "number":
            return term.text
    return LATEX_FORMS[term.kind].format(*map(latex_term, term.parts))


def _latex_row(term: Term) -> str:
    """Return the parts of a row, with spaces around operators."""
    text = ""
    for index, part in enumerate(term.parts):
        if part.kind != "sign":
            text += latex_term(part)
        elif part.text in LATEX_TIGHT_SIGNS:
            text += LATEX_TIGHT_SIGNS[part.text]
        else:
            symbol = LATEX_SIGNS.get(part.text, part.text)
            text += f" {symbol} " if index else symbol
    return text


def _latex_cases(parts: list[str]) -> str:
    """Return values and conditions as rows; the last value has no condition."""
    *pairs, last = parts
    rows = [
        rf"{value} & \text{{if }} {condition}"
        for value, condition in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    rows.append(rf"{last} & \text{{otherwise}}")
    return r"\begin{cases}" + r" \\ ".join(rows) + r"\end{cases}"


def _latex_name(text: str) -> str:
    """Return a variable's name: a Greek letter, a letter, or a word set upright."""
    if text in LETTERS:
        return "\\" + ("lambda" if LETTERS[text] == "λ" else text)
    if len(text) == 1 and text != "e":
        return text
    escaped = text.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"


NAMESPACE = "http://www.w3.org/1998/Math/MathML"
MATHML_SYMBOLS = {"sigma": "σ", "Phi": "Φ", "varphi": "φ", "pi": "π"}
MATHML_ELEMENTS = {"row": "mrow", "fraction": "mfrac", "root": "msqrt", "power": "msup"}
INVISIBLE_TIMES = "<mo>&#x2062;</mo>"
APPLIED = "<mo>&#x2061;</mo>"
MATHML_SIGNS = {
    "-": "<mo>−</mo>",
    ",": '<mo separator="true">,</mo>',
    THIN: INVISIBLE_TIMES + '<mspace width="0.17em"/>',
    NOTHING: INVISIBLE_TIMES,
}
MATHML_FONTS = "font-family:'STIX Two Math','Cambria Math','Latin Modern Math',math"
"""Fonts with stretching brackets; most systems have one of them."""

MATHML_CELL = '<mtd style="text-align:left;padding:0.15em 0.4em">'


def mathml(root: Node, before: str = "") -> str:
    """Return a definition as a <math> element, with its LaTeX as an annotation.

    Parameters
    ----------
    root : Node
        The definition.
    before : str, optional
        MathML put before it, such as a name and an equals sign.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> "<mi>x</mi>" in mathml(f.graph.input("x"))
    True
    """
    return element(notation(root), before)


def element(term: Term, before: str = "") -> str:
    """Return a term as a <math> element."""
    source = escape(latex_term(term), quote=False)
    return (
        f'<math xmlns="{NAMESPACE}" displaystyle="true" style="{MATHML_FONTS}"><semantics>'
        f"<mrow>{before}{mathml_term(term)}</mrow>"
        f'<annotation encoding="application/x-tex">{source}</annotation></semantics></math>'
    )


def mathml_term(term: Term) -> str:
    """Return one term as MathML."""
    match term.kind:
        case "sign":
            return MATHML_SIGNS.get(term.text, f"<mo>{escape(term.text)}</mo>")
        case "number":
            return f"<mn>{term.text}</mn>"
        case "name":
            return identifier(spelt(term.text))
        case "function" | "constant":
            return identifier(MATHML_SYMBOLS.get(term.text, term.text))
    parts = [mathml_term(part) for part in term.parts]
    match term.kind:
        case "brackets" | "bars":
            return fenced(*(("(", *parts, ")") if term.kind == "brackets" else ("|", *parts, "|")))
        case "call":
            return f"<mrow>{parts[0]}{APPLIED}{fenced('(', parts[1], ')')}</mrow>"
        case "cases":
            return _mathml_cases(parts)
    tag = MATHML_ELEMENTS[term.kind]
    return f"<{tag}>{''.join(parts)}</{tag}>"


def fenced(left: str, inside: str, right: str) -> str:
    """Return a term between stretching brackets."""
    return (
        f'<mrow><mo fence="true" form="prefix">{left}</mo>{inside}'
        f'<mo fence="true" form="postfix">{right}</mo></mrow>'
    )


def identifier(text: str) -> str:
    """Return an <mi> element: browsers set a single letter in italics and a word upright."""
    return f"<mi>{escape(text)}</mi>"


def _mathml_cases(parts: list[str]) -> str:
    """Return values and conditions as rows; the last value has no condition."""
    *pairs, last = parts
    rows = "".join(
        f"<mtr>{MATHML_CELL}{value}</mtd>{MATHML_CELL}<mrow><mtext>if&#xa0;</mtext>{condition}</mrow></mtd></mtr>"
        for value, condition in zip(pairs[::2], pairs[1::2], strict=True)
    )
    rows += f"<mtr>{MATHML_CELL}{last}</mtd>{MATHML_CELL}<mtext>otherwise</mtext></mtd></mtr>"
    return f'<mrow><mo fence="true" form="prefix">{{</mo><mtable>{rows}</mtable></mrow>'
