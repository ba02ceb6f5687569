"""A definition in mathematical notation: plain text, LaTeX and MathML.

LaTeX and MathML are printed from one tree of terms (`notation`), so they agree; a `Markup` is all
that differs. Each term records its operator precedence and whether it starts with a minus sign;
brackets follow from these alone. Plain text has the operations of the graph, not their notation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import COMPARISONS, Node, fold, walk

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


def negative(term: Term) -> Term:
    """Return -term."""
    return Term("negative", (bracketed(term, PRODUCT),), binds=SUM, signed=True)


def notation(root: Node) -> Term:
    """Return `root` as a tree of terms.

    A formula that is one named function of its input is expanded: σ(x) becomes 1/(1 + exp(-x)).
    """
    if root.op in MEANINGS and root.args[0].op == "input":
        root = meaning(root)
    return write(shortened(root))


LONGEST, ABRIDGED = 500, 40
"""Operations of a formula that is written in full, and of a longer one that is abridged."""
MOST_DECIMALS = 80
"""A number with more, such as 1/3, is written as a fraction."""


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

    def visit(node: Node, parts: list[tuple[Node, int]]) -> tuple[Node, int]:
        if node.op == "mul" and parts[0][0] is parts[1][0]:
            return parts[0][0], parts[0][1] + parts[1][1]
        return node, 1

    return fold(visit, root)


def meaning(node: Node) -> Node:
    """Return σ(x), Φ(x) or φ(x) expanded into elementary functions."""
    return MEANINGS[node.op](ExactArithmetic(node.graph), node.args[0])


MEANINGS: dict[str, Callable[[ExactArithmetic, Node], Node]] = {
    "sigmoid": lambda f, x: 1 / (1 + f.exp(-x)),
    "Phi": lambda f, x: Fraction(1, 2) * (1 + f.erf(x / f.sqrt(2))),
    "phi": lambda f, x: f.exp(-x * x / 2) / f.sqrt(2 * f.pi),
}
"""The functions written as a symbol, and their expansions."""
EXPANDED: dict[str, Callable[[ExactArithmetic, Node], Node]] = {
    "expm1": lambda f, x: f.exp(x) - 1,
    "log1p": lambda f, x: f.log(1 + x),
    "softplus": lambda f, x: f.log(1 + f.exp(x)),
}
"""The functions that are always expanded."""

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
    if node.op in EXPANDED:
        return write(EXPANDED[node.op](ExactArithmetic(node.graph), node.args[0]), small)
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
        return negative(number(-value, small))
    if value.denominator == 1:
        return Term("number", text=str(value.numerator))
    decimals = (n for n in range(1, MOST_DECIMALS + 1) if 10**n % value.denominator == 0)
    digits = next(decimals, None)
    if value.denominator in (2, 4, 8) or digits is None:
        above, below = (Term("number", text=str(n)) for n in (value.numerator, value.denominator))
        return fraction(above, below, small)
    whole = str(int(value * 10**digits)).rjust(digits + 1, "0")
    return Term("number", text=f"{whole[:-digits]}.{whole[-digits:]}")


def fraction(above: Term, below: Term, small: bool) -> Term:
    """Return above/below with a minus sign of the numerator moved to the front."""
    if above.kind == "negative":
        (inner,) = above.parts
        inner = inner.parts[0] if inner.kind == "brackets" else inner
        return negative(fraction(inner, below, small))
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
    if symbol == "+" and right.kind == "negative":
        symbol, right = "-", right.parts[0]
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
    return negative(result) if minus else result


def factors(node: Node) -> Counter[Node]:
    """Return how often each factor of a product of products occurs; a `neg` node counts for -1."""

    def visit(part: Node, counts: list[Counter[Node]]) -> Counter[Node]:
        if part.op == "mul":
            return counts[0] + counts[1]
        return Counter([part]) + (counts[0] if part.op == "neg" else Counter())

    return fold(visit, node)[node]


def juxtapose(terms: list[Term]) -> Term:
    """Return factors side by side, separated by a dot or a space where needed."""
    first, *others = (bracketed(term, PRODUCT) for term in terms)
    parts = [first]
    for term in others:
        between = NOTHING
        if term.kind == "number" or (term.kind == "row" and term.binds == PRODUCT):
            between = "·"
        elif term.kind == "call" or is_word(parts[-1]) or is_word(term):
            between = THIN
        parts += [sign(between), term]
    return row(*parts, binds=PRODUCT)


def is_word(term: Term) -> bool:
    """Return whether a term is a name of several letters, or a power of one."""
    if term.kind == "power":
        return is_word(term.parts[0])
    return term.kind == "name" and len(LETTERS.get(term.text, term.text)) > 1


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
    sides = list(node.args)
    varies = [any(part.op == "input" for part in walk(side)) for side in sides]
    symbol = {"lt": "<", "le": "≤", "eq": "="}[node.op]
    if varies == [False, True]:
        sides.reverse()
        symbol = {"<": ">", "≤": "≥", "=": "="}[symbol]
    left, right = (
        Term("brackets", (term,)) if term.binds < SUM else term  # cases
        for term in map(write, sides)
    )
    return row(left, sign(symbol), right, binds=CHOICE)


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
    "sqrt": lambda n, _: Term("root", (write(n.args[0]),)),
}


Operation = tuple[str, int, tuple[int, ...]]
"""A template, its precedence, and the least precedence of each operand."""

INFIX: dict[str, Operation] = {
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
"""Python expressions; other operations are functions of one argument."""
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
        if isinstance(value := node.attr, Fraction):
            text = str(value if value.denominator == 1 else float(value))
            rounded = Fraction(text) != value
            texts[node] = (str(value), PRODUCT) if rounded else (text, SIGN if value < 0 else ATOM)
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


@dataclass(frozen=True)
class Markup:
    """How a language writes terms: templates of their parts, and functions of their texts."""

    forms: Mapping[str, str]
    """By kind; a row has its parts joined."""
    words: Mapping[str, Callable[[str], str]]
    """By kind, for terms without parts."""
    signs: Mapping[str, str]
    sign: str
    """A template of the signs that are not in `signs`."""
    cases: tuple[str, str, str, str]
    """Templates of a value and its condition, of the last value, of all; what separates them."""


def render(term: Term, markup: Markup) -> str:
    """Return a term in a language."""
    if term.kind == "sign":
        return markup.signs.get(term.text) or markup.sign.format(term.text)
    if term.kind in markup.words:
        return markup.words[term.kind](term.text)
    parts = [render(part, markup) for part in term.parts]
    if term.kind == "cases":
        case, otherwise, whole, between = markup.cases
        *pairs, last = parts
        rows = [case.format(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)]
        return whole.format(between.join([*rows, otherwise.format(last)]))
    return markup.forms[term.kind].format(*(["".join(parts)] if term.kind == "row" else parts))


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
    return render(notation(root), LATEX)


def _latex_name(text: str) -> str:
    """Return a variable's name: a Greek letter, a letter, or a word set upright."""
    if text in LETTERS:
        return "\\" + ("lambda" if LETTERS[text] == "λ" else text)
    if len(text) == 1 and text != "e":
        return text
    escaped = text.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"


LATEX = Markup(
    forms={
        "row": "{}",
        "negative": "-{}",
        "fraction": r"\frac{{{}}}{{{}}}",
        "root": r"\sqrt{{{}}}",
        "power": "{}^{{{}}}",
        "brackets": r"\left({}\right)",
        "bars": r"\left|{}\right|",
        "call": r"{}\left({}\right)",
    },
    words={
        "number": str,
        "name": _latex_name,
        "constant": {"pi": r"\pi", "e": "e"}.__getitem__,
        # erf and erfc have no command.
        "function": lambda name: rf"\operatorname{{{name}}}" if "erf" in name else rf"\{name}",
    },
    signs={
        "≤": r" \le ", "≥": r" \ge ", "·": r" \cdot ",
        THIN: r"\,", NOTHING: " ", ",": ", ", "/": "/",
    },
    sign=" {} ",
    cases=(
        r"{} & \text{{if }} {}", r"{} & \text{{otherwise}}",
        r"\begin{{cases}}{}\end{{cases}}", r" \\ ",
    ),
)  # fmt: skip


NAMESPACE = "http://www.w3.org/1998/Math/MathML"
MATHML_SYMBOLS = {"sigma": "σ", "Phi": "Φ", "varphi": "φ", "pi": "π"}
INVISIBLE_TIMES = "<mo>&#x2062;</mo>"
APPLIED = "<mo>&#x2061;</mo>"
MATHML_FONTS = "font-family:'STIX Two Math','Cambria Math','Latin Modern Math',math"
"""Fonts with stretching brackets; most systems have one of them."""


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
    term = notation(root)
    source = escape(render(term, LATEX), quote=False)
    return (
        f'<math xmlns="{NAMESPACE}" displaystyle="true" style="{MATHML_FONTS}"><semantics>'
        f"<mrow>{before}{render(term, MATHML)}</mrow>"
        f'<annotation encoding="application/x-tex">{source}</annotation></semantics></math>'
    )


def fenced(left: str, inside: str, right: str) -> str:
    """Return a term between stretching brackets."""
    return (
        f'<mrow><mo fence="true" form="prefix">{left}</mo>{inside}'
        f'<mo fence="true" form="postfix">{right}</mo></mrow>'
    )


def _identifier(text: str) -> str:
    """Return an <mi> element: browsers set a single letter in italics and a word upright."""
    return f"<mi>{escape(MATHML_SYMBOLS.get(text, text))}</mi>"


MATHML_CELL = '<mtd style="text-align:left;padding:0.15em 0.4em">{}</mtd>'
MATHML = Markup(
    forms={
        "row": "<mrow>{}</mrow>",
        "negative": "<mrow><mo>−</mo>{}</mrow>",
        "fraction": "<mfrac>{}{}</mfrac>",
        "root": "<msqrt>{}</msqrt>",
        "power": "<msup>{}{}</msup>",
        "brackets": fenced("(", "{}", ")"),
        "bars": fenced("|", "{}", "|"),
        "call": f"<mrow>{{}}{APPLIED}{fenced('(', '{}', ')')}</mrow>",
    },
    words={
        "number": "<mn>{}</mn>".format,
        "name": lambda text: f"<mi>{escape(LETTERS.get(text, text))}</mi>",
        "constant": _identifier,
        "function": _identifier,
    },
    signs={
        "-": "<mo>−</mo>",
        "<": "<mo>&lt;</mo>",
        ">": "<mo>&gt;</mo>",
        ",": '<mo separator="true">,</mo>',
        THIN: INVISIBLE_TIMES + '<mspace width="0.17em"/>',
        NOTHING: INVISIBLE_TIMES,
    },
    sign="<mo>{}</mo>",
    cases=(
        f"<mtr>{MATHML_CELL}{MATHML_CELL.format('<mrow><mtext>if&#xa0;</mtext>{}</mrow>')}</mtr>",
        f"<mtr>{MATHML_CELL}{MATHML_CELL.format('<mtext>otherwise</mtext>')}</mtr>",
        '<mrow><mo fence="true" form="prefix">{{</mo><mtable>{}</mtable></mrow>',
        "",
    ),
)
