r"""A definition as LaTeX: x\,\Phi\left(x\right).

Only what every renderer of LaTeX's mathematics knows (amsmath's, KaTeX's, MathJax's) is used.
"""

from __future__ import annotations

from softgate.formula.graph import Node

from .notation import LETTERS, NOTHING, THIN, Term, notation

SIGNS = {"≤": r"\le", "≥": r"\ge", "·": r"\cdot"}
CLOSE = {THIN: r"\,", NOTHING: " ", ",": ", ", "/": "/"}
"""What is written without a space on either side."""

FORMS = {
    "fraction": r"\frac{{{}}}{{{}}}",
    "root": r"\sqrt{{{}}}",
    "power": "{}^{{{}}}",
    "brackets": r"\left({}\right)",
    "bars": r"\left|{}\right|",
    "call": r"{}\left({}\right)",
}
UPRIGHT = frozenset({"erf", "erfc"})
"""Functions that LaTeX has no command for."""


def latex(root: Node) -> str:
    r"""Return a definition as LaTeX, to be put between dollars.

    Examples
    --------
    >>> from softgate.formula import Definition
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> print(latex(x * f.Phi(x)))
    x\,\Phi\left(x\right)
    >>> print(latex(f.where(x > 0, x, f.graph.parameter("alpha") * f.expm1(x))))
    \begin{cases}x & \text{if } x > 0 \\ \alpha \left(e^{x} - 1\right) & \text{otherwise}\end{cases}
    """
    return printed(notation(root))


def printed(term: Term) -> str:
    """Return one term as LaTeX."""
    match term.kind:
        case "row":
            return joined(term)
        case "cases":
            return cases([printed(part) for part in term.parts])
        case "function":
            return rf"\operatorname{{{term.text}}}" if term.text in UPRIGHT else rf"\{term.text}"
        case "constant":
            return r"\pi" if term.text == "pi" else term.text
        case "name":
            return name(term.text)
        case "number":
            return term.text
    return FORMS[term.kind].format(*map(printed, term.parts))


def joined(term: Term) -> str:
    """Return the parts of a row, with spaces where they are read as such."""
    text = ""
    for index, part in enumerate(term.parts):
        if part.kind != "sign":
            text += printed(part)
        elif part.text in CLOSE:
            text += CLOSE[part.text]
        else:
            symbol = SIGNS.get(part.text, part.text)
            text += f" {symbol} " if index else symbol
    return text


def cases(parts: list[str]) -> str:
    """Return values and conditions as rows, the last value without one."""
    *pairs, last = parts
    rows = [
        rf"{value} & \text{{if }} {condition}"
        for value, condition in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    rows.append(rf"{last} & \text{{otherwise}}")
    return r"\begin{cases}" + r" \\ ".join(rows) + r"\end{cases}"


def name(text: str) -> str:
    """Return a variable's name: a Greek letter, a letter, or a word set upright."""
    if text in LETTERS:
        return "\\" + ("lambda" if LETTERS[text] == "λ" else text)
    if len(text) == 1 and text != "e":
        return text
    escaped = text.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"
