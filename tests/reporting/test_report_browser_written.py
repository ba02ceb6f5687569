"""The playground as it is written: choices, ranges, hostile formulas, and no code from files."""

from __future__ import annotations

import json
from typing import Any

import pytest

import softgate as sg
from softgate.reporting import Results, Section, render_page
from softgate.reporting.sections import playground as section
from softgate.reporting.sections.playground import playground


def test_a_formula_without_a_name_in_javascript_is_left_out_with_the_reason() -> None:
    @sg.activation(name="données")
    def own(f: Any, x: Any) -> Any:
        return x

    found = playground([own])
    assert not any(choice.own for choice in found.choices)
    assert "données" in section.section(Results({"playground": found})).body_html


def test_a_formula_may_be_called_as_one_of_the_catalogue_is() -> None:
    @sg.activation(name="gelu", formula="</script><b>x</b>\u2028alert(1)")
    def own(f: Any, x: Any) -> Any:
        return 2 * x

    found = playground([own])
    made = section.section(Results({"playground": found}))
    text = render_page([made], "t", "s")
    assert [choice.own for choice in found.choices if choice.name == "gelu"] == [False, True]
    assert "</script><b>" not in text
    assert "\u2028" not in made.script.split("const CHOICES")[0] + found.own["gelu"]


def test_code_is_never_read_from_a_file() -> None:
    found = playground()
    assert json.loads(found.to_json())["schema"] == found.schema
    with pytest.raises(ValueError, match="not read from files"):
        type(found).from_json(found.to_json())


def test_every_option_is_an_activation_and_every_range_what_its_entry_states() -> None:
    found = playground()
    assert {choice.name for choice in found.choices} == set(sg.activations())
    for choice in found.choices:
        entry = sg.activations()[choice.name].entry
        for slider, parameter in zip(choice.parameters, entry.parameters, strict=True):
            values = {p.name: p.default for p in entry.parameters}
            for value in (slider.low, slider.high, slider.default):
                parameter.check(value)
            assert slider.low <= slider.default <= slider.high
            assert slider.default == values[slider.name]


def test_the_section_is_a_section() -> None:
    made = section.section(Results({"playground": playground()}))
    assert isinstance(made, Section)
    assert made.id == "playground"
