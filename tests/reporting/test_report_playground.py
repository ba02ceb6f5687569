"""The playground without a browser: choices, ranges, hostile formulas, no code from files."""

from __future__ import annotations

import json
from typing import Any

import pytest

import softgate as sg
from softgate.reporting import Results, Section, render_page
from softgate.reporting.sections import playground as section
from softgate.reporting.sections.playground import playground


def test_formula_without_a_name_in_javascript_is_left_out_with_the_reason() -> None:
    @sg.activation(name="données")
    def own(f: Any, x: Any) -> Any:
        return x

    record = playground([own])
    assert not any(choice.own for choice in record.choices)
    assert "données" in section.section(Results({"playground": record})).body_html


def test_formula_may_have_a_name_of_the_catalogue() -> None:
    @sg.activation(name="gelu", formula="</script><b>x</b>\u2028alert(1)")
    def own(f: Any, x: Any) -> Any:
        return 2 * x

    record = playground([own])
    made = section.section(Results({"playground": record}))
    text = render_page([made], "t", "s")
    assert [choice.own for choice in record.choices if choice.name == "gelu"] == [False, True]
    assert "</script><b>" not in text
    assert "\u2028" not in made.script.split("const CHOICES")[0] + record.own["gelu"]


def test_code_is_never_read_from_a_file() -> None:
    record = playground()
    assert json.loads(record.to_json())["schema"] == record.schema
    with pytest.raises(ValueError, match="not read from files"):
        type(record).from_json(record.to_json())


def test_options_and_ranges_are_those_of_the_catalogue() -> None:
    record = playground()
    assert {choice.name for choice in record.choices} == set(sg.activations())
    for choice in record.choices:
        entry = sg.activations()[choice.name].entry
        if len(entry.parameters) > section.MOST_PARAMETERS:
            assert choice.parameters == ()
            continue
        for slider, parameter in zip(choice.parameters, entry.parameters, strict=True):
            values = {p.name: p.default for p in entry.parameters}
            for value in (slider.low, slider.high, slider.default):
                parameter.check(value)
            assert slider.low <= slider.default <= slider.high
            assert slider.default == values[slider.name]


def test_section_id() -> None:
    made = section.section(Results({"playground": playground()}))
    assert isinstance(made, Section)
    assert made.id == "playground"


def test_a_function_with_more_parameters_than_sliders_has_its_defaults() -> None:
    choices = {choice.name: choice for choice in playground(()).choices}
    assert choices["xielu"].parameters == ()
    assert choices["xielu"].without.startswith("Its parameters are fixed: alpha_p = 0.8,")
    assert [slider.name for slider in choices["elu"].parameters] == ["alpha"]
