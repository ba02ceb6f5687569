"""Cards of activations in notebooks: whole, safe, and with formula, curve and properties."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from xml.etree import ElementTree

import numpy as np
import pytest

import softgate as sg
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.graph import Node
from softgate.lower.notation import NAMESPACE
from softgate.plotting.palette import style
from softgate.plotting.polylines import curve
from softgate.runtime.activation import Activation
from softgate.studies.properties.card import HEIGHT, WIDTH, highlights, lines, place, tick

MATH = f"{{{NAMESPACE}}}math"
SVG = "{http://www.w3.org/2000/svg}"


def parsed(html: str) -> ElementTree.Element:
    """Return a card as a tree; what is not well-formed raises."""
    return ElementTree.fromstring(html)


def check_whole(activation: Activation, html: str) -> None:
    """Formula, curve with a description, and properties are there."""
    root = parsed(html)
    annotation = root.find(f".//{MATH}//{{{NAMESPACE}}}annotation")
    assert annotation is not None
    assert annotation.text == activation.latex
    (picture,) = root.findall(f"div/{SVG}svg")
    assert picture.get("role") == "img"
    assert activation.name in (picture.get("aria-label") or "")
    paths = picture.findall(f"{SVG}svg/{SVG}path")
    assert [path.get("stroke-width") for path in paths] == ["1.2", "2.4"]
    assert all(len(path.get("d") or "") > 10 for path in paths)
    rows = {row[0].text: row[1].text for row in root.findall("table/tr")}
    assert {"range", "smoothness", "monotone", "limits at −∞, +∞"} <= set(rows)


def check_inert(activation: Activation, html: str) -> None:
    """Nothing is loaded, nothing runs, and all but the curve has the text's own colour."""
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(|\son\w+=|href=", html)
    addresses = set(re.findall(r"https?://[^\"'<\s]+", html))
    assert addresses <= {NAMESPACE, "http://www.w3.org/2000/svg"}
    assert set(re.findall(r"#[0-9a-f]{6}", html)) == {style(activation.name).colour}


def test_a_card_is_whole_and_inert(activation: Activation) -> None:
    html = activation._repr_html_()
    check_whole(activation, html)
    check_inert(activation, html)


@pytest.mark.parametrize("gated", list(sg.gated().values()), ids=list(sg.gated()))
def test_two_inputs_have_a_card_without_a_curve(gated: Activation) -> None:
    root = parsed(gated._repr_html_())
    annotation = root.find(f".//{MATH}//{{{NAMESPACE}}}annotation")
    assert annotation is not None
    assert annotation.text == gated.latex
    operands = [e.text for e in root.iter(f"{{{NAMESPACE}}}mi")][1:3]
    assert operands == ["a", "b"]
    assert root.find(f".//{SVG}svg") is None
    with pytest.raises(ValueError, match=gated.name):
        sg.plot(gated)  # type: ignore[list-item]


@pytest.mark.parametrize(("name", "what"), [("gelu", "value"), ("tanh", "slope")])
def test_the_curve_is_the_function(name: str, what: str) -> None:
    """Points of the path, put back into coordinates, lie on the function."""
    chosen_function = sg.activations()[name]
    path = lines(curve(chosen_function, what, -5, 5), -1.0, 5.0, 1, "")
    points = np.array(re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path), dtype=float)
    x = points[:, 0] / WIDTH * 10 - 5
    y = 5 - (points[:, 1] - 4) / (HEIGHT - 8) * 6
    expected = chosen_function(x) if what == "value" else chosen_function.slope(x)
    assert len(x) > 100
    assert np.abs(y - expected).max() < 0.03
    assert np.abs(y - sg.relu(x)).max() > 0.1, "another function would be noticed"


def test_the_curve_breaks_at_a_jump() -> None:
    path = lines(curve(sg.relu, "slope", -5, 5), 0.0, 5.0, 1, "")
    assert path.count("M") == 2
    right = "{:.1f} {:.1f}".format(*place(0, 1, 0.0, 5.0))
    assert f"M{right}" in path


def test_what_a_card_says_is_computed() -> None:
    rows = dict(highlights(sg.gelu.properties))
    assert rows["range"] == "[-0.1700,inf)"
    assert rows["minimum"] == "-0.1700 at -0.7518"
    assert rows["slope is 0 at"] == "-0.7518"
    assert "maximum" not in rows
    assert dict(highlights(sg.softplus.properties))["largest slope"] == "1 approached"
    assert dict(highlights(sg.relu6.properties))["maximum"].startswith("6 at")


def test_symbols_are_explained() -> None:
    assert sg.gelu._repr_html_().count("where <math") == 1
    assert sg.relu._repr_html_().count("where <math") == 0
    assert sg.Phi._repr_html_().count("where <math") == 0, "it is written out itself"


def test_changed_parameters_are_shown() -> None:
    html = sg.elu.bind(alpha=0.5)._repr_html_()
    assert "<b>elu:alpha=0.5</b>" in html
    assert "alpha = 0.5." in html


def test_names_are_escaped() -> None:
    entry = replace(sg.relu.entry, name='<b onload="x()">&', paper="<i>&")
    html = Activation(entry)._repr_html_()
    assert entry.name not in html
    assert escape(entry.name) in html
    parsed(html)


@sg.activation
def stairs(f: ExactArithmetic, x: Node) -> Node:
    return f.where(f.sin(x) > 0.3, 1, 0.5 * x)


def test_ones_own_formula_has_a_card_and_what_cannot_be_analysed_is_reported() -> None:
    html = stairs._repr_html_()
    (row,) = parsed(html).findall("table/tr")
    assert row[0].text == "properties"
    assert "too many to analyse" in (row[1].text or "")
    assert style("stairs").colour in html


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("</math>", ""),
        ('role="img"', ""),
        (">smoothness<", "><"),
        ("x\\,\\Phi", "\\Phi"),
        ("<b>", "<script/><b>"),
        ("<b>", '<b style="color:#000000">'),
    ],
)
def test_what_is_broken_is_noticed(right: str, wrong: str) -> None:
    html = sg.gelu._repr_html_()
    assert right in html
    broken = html.replace(right, wrong, 1)
    results = []
    for check in (check_whole, check_inert):
        try:
            check(sg.gelu, broken)
        except (AssertionError, ElementTree.ParseError) as noticed:
            results.append(noticed)
    assert results


def test_numbers_of_the_axis_fit_in_the_margin() -> None:
    numbers = (-0.99, 0.0, 5.0, 148.4, -1234.0, 1e10, 0.0055)
    assert [tick(y) for y in numbers] == ["-0.99", "0", "5", "148", "-1234", "1e+10", "0.0055"]
