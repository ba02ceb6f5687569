"""Formulas in LaTeX and MathML: rendered, and read back to the numbers of the definition."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Mapping
from xml.etree import ElementTree

import latex2mathml.converter
import mpmath_oracle
import pytest
from latex2mathml.exceptions import ExtraLeftOrMissingRightError
from latex_reader import mp, read

from softgate.catalogue import Entry, Parameter, entries
from softgate.formula.arithmetic import FUNCTIONS, ExactArithmetic
from softgate.formula.graph import Graph, Node, walk
from softgate.lower.exact import enclose
from softgate.lower.notation import NAMESPACE, latex, mathml

with warnings.catch_warnings():  # its own, when imported on Python 3.11 and 3.12
    warnings.filterwarnings("ignore", "path is deprecated", DeprecationWarning)
    import ziamath

POINTS = (-3.7, -3.0, -1.25, -0.5, 0.0, 0.3, 0.5, 1.0, 2.2, 3.0, 6.5)
EVERY = list(entries().values())
ALL = pytest.mark.parametrize("entry", EVERY, ids=[entry.name for entry in EVERY])


def parameter_sets(parameters: tuple[Parameter, ...]) -> list[dict[str, float]]:
    usual = {p.name: p.default for p in parameters}
    return [usual, *({**usual, p.name: value} for p in parameters for value in p.tested)]


def inputs(root: Node, x: float) -> dict[str, float]:
    """Return a value for every input: `x`, and another for the second."""
    result = sorted({str(n.attr) for n in walk(root) if n.op == "input"})
    return {name: 0.7 - x if name == "b" else x for name in result}


def check(text: str, root: Node, values: Mapping[str, float]) -> None:
    """Hold LaTeX to the definition, to 150 bits."""
    ball = enclose(root, 200, **values)
    expected = mp.mpf(ball.mid().str(60, radius=False))
    result = read(text, values)
    assert abs(result - expected) <= mp.mpf(2) ** -150 * (1 + abs(expected)), (values, result)


@ALL
def test_latex_says_what_the_definition_says(entry: Entry) -> None:
    root = entry.define()
    text = latex(root)
    for parameters in parameter_sets(entry.parameters):
        for x in POINTS:
            check(text, root, inputs(root, x) | parameters)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("gelu", r"x\,", ""),
        ("gelu", r"\Phi", r"\sigma"),
        ("gelu_tanh", "0.044715", "0.044714"),
        ("gelu_tanh", r"x^{3}", r"x^{2}"),
        ("gelu_tanh", r"\left(x + 0.044715 x^{3}\right)", "x + 0.044715 x^{3}"),
        ("elu", "x > 0", "x < 0"),
        ("elu", " - 1", " + 1"),
        ("hardshrink", r"\left|x\right|", "x"),
        ("squareplus", r"\frac{x + \sqrt{x^{2} + b}}{2}", r"x + \frac{\sqrt{x^{2} + b}}{2}"),
        ("selu", "1.0507009873554804934193349852946", "1.0507009873554804934193349852947"),
    ],
)
def test_wrong_latex_is_noticed(name: str, right: str, wrong: str) -> None:
    entry = entries()[name]
    text = latex(entry.define())
    assert right in text
    values = {p.name: p.default for p in entry.parameters}
    results = []
    for x in POINTS:
        try:
            check(text.replace(right, wrong), entry.define(), {"x": x} | values)
        except (AssertionError, ValueError) as noticed:
            results.append(noticed)
    assert results


@pytest.mark.parametrize("text", [r"\frac{x}", "x +", r"x^{2}^{2}", r"2 3", r"\foo{x}", "y", "x)"])
def test_what_is_no_formula_is_noticed(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|needs|no such|neither|beside"):
        read(text, {"x": 1.0})


def rendered(text: str) -> ElementTree.Element:
    """Return the SVG that a renderer of LaTeX makes, held to know every command in it."""
    assert "\\" not in latex2mathml.converter.convert(text), f"an unknown command in {text}"
    return ElementTree.fromstring(ziamath.Latex(text).svg())


def glyphs(picture: ElementTree.Element) -> int:
    return sum(1 for element in picture.iter() if element.tag.endswith("}use"))


@ALL
def test_latex_renders(entry: Entry) -> None:
    text = latex(entry.define())
    picture = rendered(text)
    assert float(picture.get("width", "0")) > 5
    assert float(picture.get("height", "0")) > 5
    assert glyphs(picture) >= len(re.findall(r"[0-9x]", re.sub(r"\\\w+", "", text)))


@pytest.mark.parametrize("text", [r"\notacommand{x}", r"\left(x", r"\frac{x}"])
def test_what_does_not_render_is_noticed(text: str) -> None:
    broken = (AssertionError, ExtraLeftOrMissingRightError)
    with pytest.raises(broken):
        rendered(text)


@ALL
def test_mathml_says_what_latex_says(entry: Entry) -> None:
    root = entry.define()
    element = ElementTree.fromstring(mathml(root))
    assert back_to_latex(element) == squeezed(latex(root))


LETTERS = {"α": r"\alpha", "β": r"\beta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi"}
WORDS = {"σ": r"\sigma", "Φ": r"\Phi", "φ": r"\varphi"} | LETTERS
SIGNS = {"−": "-", "≤": r"\le", "≥": r"\ge", "·": r"\cdot", "\u2061": "", "\u2062": ""}
COMMANDS = {"ln", "max", "min", "tanh", "exp", "sin", "cos", "arctan"}


def squeezed(text: str) -> str:
    return re.sub(r"\s|\\,|\\left|\\right|\\text|\\operatorname|\\mathrm|[{}]", "", text)


def back_to_latex(element: ElementTree.Element) -> str:
    """Return MathML as squeezed LaTeX, by the elements' names alone."""
    tag = element.tag.removeprefix(f"{{{NAMESPACE}}}")
    inside = [back_to_latex(child) for child in element if not child.tag.endswith("annotation")]
    text = (element.text or "").strip()
    match tag:
        case "mi":
            return WORDS.get(text, rf"\{text}" if text in COMMANDS else text.replace("_", r"\_"))
        case "mo":
            return SIGNS.get(text, text.strip("{"))
        case "mfrac":
            return r"\frac" + "".join(inside)
        case "msqrt":
            return r"\sqrt" + "".join(inside)
        case "msup":
            return "^".join(inside)
        case "mtable":
            return r"\begincases" + r"\\".join(inside) + r"\endcases"
        case "mtr":
            return "&".join(inside)
        case "mtext":
            return text.replace("\xa0", "")
    return "".join(inside) or text


def test_every_operation_has_a_notation() -> None:
    for name in FUNCTIONS:
        f = ExactArithmetic()
        x = f.graph.input("x")
        root = f.graph.node(name, 2 * x)
        check(latex(1 + root), 1 + root, {"x": 0.4})


def test_an_operation_without_notation_is_an_error() -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="'fma' has no notation"):
        latex(graph.node("fma", graph.input("x"), graph.input("x"), graph.input("x")))


def grown(f: ExactArithmetic, pick: random.Random, depth: int) -> Node:
    """Return a random formula."""
    x, k = f.graph.input("x"), f.graph.parameter("alpha")
    if depth == 0:
        leaves = (x, x, k, f.lift(2), f.lift(-3), f.lift(0.044715), f.lift(0.5), f.pi)
        return pick.choice(leaves)
    first, other = grown(f, pick, depth - 1), grown(f, pick, pick.randrange(depth))
    kind = pick.randrange(11)
    if kind == 0:
        return f.graph.node(pick.choice(FUNCTIONS), first)
    if kind == 1:
        return -first
    if kind == 2:
        return f.abs(first)
    if kind == 3:
        compare = pick.choice(["lt", "le"])
        return f.where(f.graph.node(compare, first, other), pick.choice([first, k]), other)
    if kind == 4:
        return first * first
    makers = ("add", "sub", "mul", "div", "add", "mul")
    return f.graph.node(makers[kind - 5], first, other)


@pytest.mark.parametrize("seed", range(40))
def test_brackets_are_where_they_must_be(seed: int) -> None:
    """Random formulas, printed and read back: a bracket that is missing changes the number."""
    pick = random.Random(seed)
    held = 0
    for _ in range(12):
        root = grown(ExactArithmetic(), pick, pick.randrange(1, 5))
        text = latex(root)
        for x in (-1.3, 0.4, 2.1):
            values = {"x": x, "alpha": 1.7}
            parts = [mpmath_oracle.evaluate(node, 200, **values) for node in walk(root)]
            if any(not abs(part) <= 1e12 for part in parts):
                continue  # NaN: a root of a negative number, a division by 0, a tower of powers
            results, expected = float(read(text, values)), float(parts[-1])
            assert abs(results - expected) <= 1e-9 * (1 + abs(expected)), (text, values)
            held += 1
    assert held > 5


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda f, x: -x * -x, "x^{2}"),
        (lambda f, x: x - (x - 1), r"x - \left(x - 1\right)"),
        (lambda f, x: x + -x, "x - x"),
        (lambda f, x: -(x - 1) / x, r"-\frac{x - 1}{x}"),
        (lambda f, x: f.maximum(x, 0), r"\max\left(x, 0\right)"),
        (lambda f, x: f.minimum(x, 6), r"\min\left(x, 6\right)"),
        (lambda f, x: x * x * x * 0.044715, "0.044715 x^{3}"),
        (lambda f, x: f.exp(-x * x / 2), "e^{-x^{2}/2}"),
        (lambda f, x: f.phi(x), r"\frac{e^{-x^{2}/2}}{\sqrt{2 \pi}}"),
        (lambda f, x: x * f.graph.parameter("sigma"), r"x\,\mathrm{sigma}"),
    ],
)
def test_it_is_written_as_one_writes(build: object, expected: str) -> None:
    f = ExactArithmetic()
    assert callable(build)
    assert latex(build(f, f.graph.input("x"))) == expected
