"""The report's sections, rendered from small records: what is shown is what was measured."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
import report_records

import softgate as sg
from softgate.plotting import vega
from softgate.records.record import Record
from softgate.reporting import MissingRecord, Results, Section, render_page
from softgate.reporting.elements import Markup, figure, minus, power, table
from softgate.reporting.sections import MODULES, build_section, build_sections
from softgate.reporting.sections.accuracy import AccuracyStudy, TitledCertificate
from softgate.reporting.sections.answer import answers
from softgate.reporting.sections.curves import Curves, curves

HOSTILE = "</script><script>alert('x')</script><!--<b>&\u2028"
MOST_BYTES = 3_000_000
NEEDS = {
    "curves": ("curves", "answer"),
    "properties": ("tables", "answer"),
    "approximation": ("approximation", "answer"),
    "articles": ("tables",),
    "speed": ("speed", "answer"),
    "layer": ("layer", "answer"),
    "units": ("units",),
    "accuracy": ("accuracy", "answer"),
    "pareto": ("speed",),
    "playground": ("playground",),
    "about": ("about",),
}
"""Which sections say so where a study has no record."""


@pytest.fixture(scope="module")
def records() -> dict[str, Record | MissingRecord]:
    return report_records.records()


@pytest.fixture(scope="module")
def whole(records: dict[str, Record | MissingRecord]) -> str:
    return render_page(build_sections(Results(records)), "softgate report", HOSTILE)


class Elements(HTMLParser):
    """What a page consists of: start tags with their attributes, and what is inside scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.inside: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs) if tag == "script" else None
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.inside = None if tag == "script" else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside is not None:
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)


def test_all_sections_are_shown_and_the_file_is_small(whole: str) -> None:
    places = [whole.index(f'<section id="{name}"') for name in MODULES]
    assert places == sorted(places)
    assert 'class="failed"' not in whole
    assert len(whole.encode()) < MOST_BYTES
    assert all(f'href="#{name}"' in whole for name in MODULES)


def test_nothing_is_loaded_and_only_listed_scripts_run(whole: str) -> None:
    elements = Elements(whole)
    policy = next(a["content"] for t, a in elements.tags if a.get("http-equiv"))
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    run = [text for kind, text in elements.scripts if kind.get("type") != "application/json"]
    hashes = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in run]
    assert hashes == allowed
    for tag, attributes in elements.tags:
        for name in ("src", "href", "action", "data"):
            value = attributes.get(name) or ""
            assert value.startswith(("#", "data:,")) or not value, (tag, value)


def test_charts_are_drawn_before_any_script_and_have_text_alternatives(whole: str) -> None:
    before, _, _ = whole.partition("<script")
    charts = re.findall(r'<div class="chart" id="([^"]+)" role="img" aria-label="([^"]+)"', before)
    assert len(charts) >= 10
    for id, says in charts:
        assert re.search(r"\d", says), id
        drawn = before[before.index(f'id="{id}" role="img"') :]
        assert drawn.index("<svg") < drawn.index("</figure>")
        assert f'id="chart-data-{id}"' in whole
    assert "<!--chart" not in whole


def test_tables_have_captions_and_scopes(whole: str) -> None:
    body = whole.partition("<main")[2].partition("</main>")[0]
    body = body.partition('<section id="playground"')[0]
    tables = re.findall(r"<table[^>]*>(.*?)</table>", body, re.DOTALL)
    assert len(tables) > 12
    for text in tables:
        assert "<caption" in text
        assert "<th>" not in text, text[:300]
        assert not re.search(r"<th(?![^>]*scope=)", text.replace("<thead", "")), text[:300]


@pytest.mark.parametrize("study", list(NEEDS))
def test_failed_study_shows_its_reason_in_its_sections(
    study: str, records: dict[str, Record | MissingRecord]
) -> None:
    results = Results(records | {study: MissingRecord(study, "the <reason> of it")})
    for section in build_sections(results):
        says = "the &lt;reason&gt; of it" in section.body_html
        assert says == (section.id in NEEDS[study]), section.id
        assert "<reason>" not in section.body_html


def test_study_that_was_not_run() -> None:
    section = build_section("curves", Results({}))
    assert section.failed
    assert "was not run" in section.body_html


def test_record_of_another_type_or_with_invalid_fields(
    records: dict[str, Record | MissingRecord],
) -> None:
    wrong = build_section("layer", Results(records | {"layer": records["speed"]}))
    assert wrong.failed
    assert "found a Bench" in wrong.body_html
    curves = records["curves"]
    assert isinstance(curves, Curves)
    broken = replace(curves, functions=(replace(curves.functions[0], lines=()),))
    section = build_section("curves", Results({"curves": broken}))
    assert section.failed
    assert "cannot be shown" in section.body_html


def test_chart_that_cannot_be_drawn() -> None:
    spec = {"width": 524, "height": 100, "mark": "nonsense"}
    section = Section("odd", "Odd", figure("odd-chart", "c", "s 1", spec), {"odd-chart": spec})
    made = render_page([section, Section("even", "Even", "<p>here</p>")], "t", "s")
    assert "cannot be drawn" in made
    assert "<p>here</p>" in made


def test_hostile_strings_are_escaped_everywhere(whole: str) -> None:
    @sg.activation(name="evil", formula=HOSTILE, paper=HOSTILE)
    def evil(f: Any, x: Any) -> Any:
        return x * f.sigmoid(x) + f.sin(x)

    changed = report_records.records((evil,))
    curves = changed["curves"]
    assert isinstance(curves, Curves)
    named = [
        replace(function, label=HOSTILE, name=HOSTILE)
        for function in curves.functions
        if function.own
    ]
    changed["curves"] = Curves((*curves.functions, *named))
    changed["accuracy"] = report_records.accuracy(HOSTILE)
    changed["speed"] = report_records.speed(name=HOSTILE)
    about = changed["about"]
    changed["about"] = replace(  # type: ignore[type-var]
        about, command=f"softgate report -o '{HOSTILE}'", machine=report_records.machine(HOSTILE)
    )
    made = render_page(build_sections(Results(changed)), HOSTILE, HOSTILE)
    assert 'class="failed"' not in made
    elements = Elements(made)
    assert "alert('x')" not in [text for _, text in elements.scripts]
    assert len(elements.scripts) == len(Elements(whole).scripts)
    outside = re.sub(r"<script.*?</script>", "", made, flags=re.DOTALL)
    assert "<b>" not in outside
    assert "alert('x')" not in outside


def test_hostile_name_in_a_layer_is_escaped(records: dict[str, Record | MissingRecord]) -> None:
    shares = {"relu": 0.01, HOSTILE: 0.02, "gelu": 0.03}
    made = render_page(
        [build_section("layer", Results({"layer": report_records.layer(shares)}))], "t", "s"
    )
    assert 'class="failed"' not in made
    assert "<script>alert" not in made


def test_check_for_hostile_strings_can_fail() -> None:
    careless = Section("x", "x", f"<p>{HOSTILE}</p>")
    elements = Elements(render_page([careless], "t", "s"))
    assert "alert('x')" in [text for _, text in elements.scripts]


def test_answer_follows_the_records() -> None:
    which, context, element, tanh, exact = answers(report_records.results())
    assert "<strong>silu and gelu</strong>" in which
    assert "<strong>1.0 %</strong> (relu) to <strong>4.0 %</strong> (gelu)" in context
    assert "at most 3.1 %" in context
    assert "<strong>0.50 ns</strong>" in element
    assert "torch, takes 0.80 ns" in element
    assert "is not faster</strong>" in tanh
    assert "1.20 × in softgate and 5.00 × in torch" in tanh
    assert "<strong>2.50 ulp</strong>" in exact
    assert "is off by 10,000,000 ulp at x = −3.5: returned 0, expected −1e−09." in exact


def test_answer_changes_with_the_records() -> None:
    quick = report_records.NS | {
        ("gelu_tanh", "softgate"): 0.2,
        ("gelu_tanh", "torch"): 0.2,
        ("silu", "softgate"): 0.9,
    }
    which, _, _, tanh, _ = answers(report_records.results(speed=report_records.speed(quick)))
    assert "<strong>gelu and silu</strong>" in which
    assert "is faster</strong>" in tanh
    mixed = report_records.NS | {("gelu_tanh", "softgate"): 0.2}
    *_, tanh, _ = answers(report_records.results(speed=report_records.speed(mixed)))
    assert "is faster only in softgate</strong>" in tanh


def test_answer_ignores_differences_within_the_noise() -> None:
    near = report_records.NS | {("gelu_tanh", "softgate"): 0.501, ("mish", "softgate"): 0.501}
    results = report_records.results(
        speed=report_records.speed(near),
        properties=sg.properties("gelu", "silu", "relu", "mish"),
        curves=curves([sg.gelu, sg.silu, sg.relu, sg.mish]),
        layer=report_records.layer({"relu": 0.01, "gelu": 0.3}, relative_uncertainty=0.5),
    )
    which, context, _, tanh, _ = answers(results)
    assert "<strong>silu, gelu and mish</strong>" in which
    assert "The cost of the activation matters" in context
    assert "uncertainty of these shares is up to 50 %" in context
    assert "is not measurably faster</strong>" in tanh


def test_certificate_with_infinite_error() -> None:
    made = AccuracyStudy(
        (
            TitledCertificate(
                "gelu", "softgate", "s", report_records.certificate("s", float("inf"))
            ),
        ),
        (),
        10,
    )
    body = build_section("accuracy", Results({"accuracy": made})).body_html
    assert "at most NaN or inf" in body


def test_chart_without_a_figure() -> None:
    made = render_page([Section("x", "x", "", {"chart": {"width": 10, "height": 10}})], "t", "s")
    assert "has no figure for the chart" in made


def test_tables_escape_text_and_keep_markup() -> None:
    made = table("<c>", ("<h>", Markup("<i>h</i>")), [("<a>", Markup("<i>b</i>"))])
    assert "&lt;a&gt;" in made
    assert "&lt;c&gt;" in made
    assert "<i>b</i>" in made
    assert minus("C-1 at -2, (-3,4e-5)") == "C-1 at −2, (−3,4e−5)"
    assert "−3.3" in power(-3.3e-8, 1)
    assert "<sup>−8</sup>" in power(-3.3e-8, 1)
    assert [power(value, 1) for value in (0.0, 5.92, -734.2, 0.0203)] == [
        "0",
        "5.9",
        "−730",
        "0.02",
    ]


def test_missing_vl_convert_raises_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    vega.library.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "softgate\[report\]"'):
        sg.report()
    vega.library.cache_clear()


def test_formula_that_is_not_defined_everywhere() -> None:
    @sg.activation
    def half(f: Any, x: Any) -> Any:
        return x * f.log(x)

    results = Results(report_records.records((half,)))
    assert [section.id for section in build_sections(results) if section.failed] == []
    body = build_section("approximation", results).body_html
    assert ">half</th>" in body
    assert "–" in body
    assert "nan" not in body


def test_failed_formula_does_not_affect_other_functions() -> None:
    results = report_records.results(formulas=MissingRecord("formulas", "it is too involved"))
    body = build_section("tables", results).body_html
    assert "it is too involved" in body
    assert "Properties of every activation" in body


def test_functions_inside_the_frameworks_are_beside_their_own() -> None:
    section = build_section("speed", report_records.results())
    table = section.body_html.partition("Inside the frameworks")[2].partition("</table>")[0]
    cells = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in table.split("<tr>")[2:]]
    assert cells == [
        ["PyTorch", "Value", "1", "0.6", "0.60"],
        ["TensorFlow, tf.function", "Value", "4", "1", "0.25"],
        ["PyTorch", "Backward", "2", "1.2", "0.60"],
        ["TensorFlow, tf.function", "Backward", "8", "2", "0.25"],
    ]
