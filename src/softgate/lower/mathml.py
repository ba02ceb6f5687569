"""A definition as MathML, which every browser renders by itself: no script, no font, no network."""

from __future__ import annotations

from html import escape

from softgate.formula.graph import Node

from .latex import printed as in_latex
from .notation import NOTHING, THIN, Term, notation, spelt

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
SYMBOLS = {"sigma": "σ", "Phi": "Φ", "varphi": "φ", "pi": "π"}
ELEMENTS = {"row": "mrow", "fraction": "mfrac", "root": "msqrt", "power": "msup"}
INVISIBLE_TIMES = "<mo>&#x2062;</mo>"
APPLIED = "<mo>&#x2061;</mo>"
SIGNS = {
    "-": "<mo>−</mo>",
    ",": '<mo separator="true">,</mo>',
    THIN: INVISIBLE_TIMES + '<mspace width="0.17em"/>',
    NOTHING: INVISIBLE_TIMES,
}
FONTS = "font-family:'STIX Two Math','Cambria Math','Latin Modern Math',math"
"""With one of these, brackets grow with what they hold; all systems but bare ones have one."""

CELL = '<mtd style="text-align:left;padding:0.15em 0.4em">'


def mathml(root: Node, before: str = "") -> str:
    """Return a definition as a <math> element, its LaTeX as an annotation for those who copy it.

    Parameters
    ----------
    root : Node
        The definition.
    before : str, optional
        MathML put before it, such as a name and an equals sign.

    Examples
    --------
    >>> from softgate.formula import Definition
    >>> f = Definition()
    >>> "<mi>x</mi>" in mathml(f.graph.input("x"))
    True
    """
    return element(notation(root), before)


def element(term: Term, before: str = "") -> str:
    """Return a written formula as a <math> element."""
    source = escape(in_latex(term), quote=False)
    return (
        f'<math xmlns="{NAMESPACE}" displaystyle="true" style="{FONTS}"><semantics>'
        f"<mrow>{before}{printed(term)}</mrow>"
        f'<annotation encoding="application/x-tex">{source}</annotation></semantics></math>'
    )


def printed(term: Term) -> str:
    """Return one term as MathML."""
    match term.kind:
        case "sign":
            return SIGNS.get(term.text, f"<mo>{escape(term.text)}</mo>")
        case "number":
            return f"<mn>{term.text}</mn>"
        case "name":
            return identifier(spelt(term.text))
        case "function" | "constant":
            return identifier(SYMBOLS.get(term.text, term.text))
    parts = [printed(part) for part in term.parts]
    match term.kind:
        case "brackets" | "bars":
            return fenced(*(("(", *parts, ")") if term.kind == "brackets" else ("|", *parts, "|")))
        case "call":
            return f"<mrow>{parts[0]}{APPLIED}{fenced('(', parts[1], ')')}</mrow>"
        case "cases":
            return cases(parts)
    tag = ELEMENTS[term.kind]
    return f"<{tag}>{''.join(parts)}</{tag}>"


def fenced(left: str, inside: str, right: str) -> str:
    """Return a term between brackets that grow with it."""
    return (
        f'<mrow><mo fence="true" form="prefix">{left}</mo>{inside}'
        f'<mo fence="true" form="postfix">{right}</mo></mrow>'
    )


def identifier(text: str) -> str:
    """Return a name; one letter is set in italics by itself, a word upright."""
    return f"<mi>{escape(text)}</mi>"


def cases(parts: list[str]) -> str:
    """Return values and conditions as rows, the last value without one."""
    *pairs, last = parts
    rows = "".join(
        f"<mtr>{CELL}{value}</mtd>{CELL}<mrow><mtext>if&#xa0;</mtext>{condition}</mrow></mtd></mtr>"
        for value, condition in zip(pairs[::2], pairs[1::2], strict=True)
    )
    rows += f"<mtr>{CELL}{last}</mtd>{CELL}<mtext>otherwise</mtext></mtd></mtr>"
    return f'<mrow><mo fence="true" form="prefix">{{</mo><mtable>{rows}</mtable></mrow>'
