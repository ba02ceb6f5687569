"""The playground in a real browser: its functions and numbers are the kernels'."""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import formulas
import numpy as np
import pytest
import quadrature
import xoshiro
from checks import call
from javascript import check, inputs
from playground_page import give, number, one_layer, pick, shows
from scipy.stats import norm
from variants import parameter_sets

import softgate as sg
from softgate.reporting import Results, render_page
from softgate.reporting.sections import playground as section
from softgate.reporting.sections.playground import MOST_PARAMETERS, playground
from softgate.runtime.activation import Activation

READY = "#pg-root[data-ready]"
OWN = [formulas.snake, formulas.swish]
QUANTITIES = ("value", "slope")
ALL = ("error", "assert", "warning", "log", "info", "debug")
INPUTS = ((0.0, 1.0, 0.05), (-1.3, 0.35, 0.02), (1.1, 2.6, 0.3))
"""Means, standard deviations and limits of the flat region."""

EVALUATE = """(jobs) => jobs.map(([own, name, parameters, text]) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const kernels = own ? softgate.playground.OWN[own] : softgate.kernels;
  const y = new Float64Array(bytes.buffer).map((x) => kernels[name](x, ...parameters));
  return btoa(Array.from(new Uint8Array(y.buffer), (b) => String.fromCharCode(b)).join(""));
})"""
STATISTICS = """(jobs) => jobs.map(([name, parameters, mean, sd, flat]) => {
  const { CHOICES, functionsOf, mesh, statistics } = softgate.playground;
  const f = functionsOf(CHOICES.find((one) => one.name === name), parameters);
  const result = statistics(f, mesh(f).edges, mean, sd, flat);
  return { ...result, values: 0, slopes: 0, stretches: 0 };
})"""
OUTPUTS = """([name, mean, sd, low, high, bins]) => {
  const { CHOICES, functionsOf, mesh, statistics, outputBins } = softgate.playground;
  const f = functionsOf(CHOICES.find((one) => one.name === name), []);
  const result = statistics(f, mesh(f).edges, mean, sd, 0.05);
  return Array.from(outputBins(f, result, mean, sd, low, high, bins));
}"""
LAYERS = """(jobs) => jobs.map(([what, name, settings]) => {
  const { CHOICES, functionsOf, mesh, ...offered } = softgate.playground;
  const f = functionsOf(CHOICES.find((one) => one.name === name), []);
  return what === "meanField"
    ? offered.meanField(f, mesh(f).edges, settings) : offered.simulate(f, settings);
})"""


@sg.activation
def logarithm(f: Any, x: Any) -> Any:
    return f.log(x)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with the playground alone, formulas of one's own in it."""
    result = Results({"playground": playground([*OWN, logarithm])})
    path = tmp_path_factory.mktemp("playground") / "page.html"
    path.write_text(render_page([section.section(result)], "Playground", "alone"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def live(file: Path) -> Iterator[Any]:
    """The page, open for all tests of this module."""
    with browser.launched() as chromium, browser.opened(chromium, file, heard=ALL) as opened:
        opened.wait_for_selector(READY)
        yield opened


def hold(live: Any, chosen: Activation, sets: list[dict[str, float]], own: bool = False) -> None:
    """Hold value and slope that the page computes at many points to the kernels'."""
    x, name = inputs(chosen), chosen.name
    packed = base64.b64encode(x.tobytes()).decode()
    cases = list(itertools.product(sets, QUANTITIES))
    jobs = []
    for parameters, quantity in cases:
        argument = [v for _, v in chosen.check_parameters(parameters)] if parameters else []
        job = name if quantity == "value" else f"{name}_{quantity}"
        jobs.append([own and name, job, argument, packed])
    result = [np.frombuffer(base64.b64decode(text)) for text in live.evaluate(EVALUATE, jobs)]
    for (parameters, quantity), y in zip(cases, result, strict=True):
        check(y, call(chosen, quantity, x, **parameters))


def test_emitted_code_gives_the_kernels_results_in_the_browser(live: Any) -> None:
    for chosen in sg.activations().values():
        hold(live, chosen, parameter_sets(chosen))


def test_users_formulas_equal_the_kernels(live: Any) -> None:
    for chosen in OWN:
        hold(live, chosen, [{}], own=True)


def settings_of(chosen: Activation) -> list[dict[str, float]]:
    """Return parameters that the page can show: with many, a function has no sliders."""
    fixed = len(chosen.entry.parameters) > MOST_PARAMETERS
    return [{}] if fixed else parameter_sets(chosen)


def test_statistics_are_the_kernels(live: Any) -> None:
    jobs = [
        (chosen.bind(**parameters), setting)
        for chosen in sg.activations().values()
        for parameters in settings_of(chosen)
        for setting in INPUTS
    ]
    calls = [[a.name, [*a.parameters.values()], *setting] for a, setting in jobs]
    for (chosen, setting), result in zip(jobs, live.evaluate(STATISTICS, calls), strict=True):
        for name, expected in quadrature.statistics(chosen, *setting).items():
            assert result[name] == pytest.approx(expected, rel=1e-7, abs=1e-9), (
                chosen,
                setting,
                name,
            )


@pytest.mark.parametrize("name", ["gelu", "relu", "hardshrink", "phi"])
def test_outputs_are_distributed_as_the_kernels_outputs(live: Any, name: str) -> None:
    mean, sd, low, high, bins = 0.3, 1.4, -1.05, 3.05, 41
    result = live.evaluate(OUTPUTS, [name, mean, sd, low, high, bins])
    z = norm.ppf((np.arange(400_000) + 0.5) / 400_000)
    counts, _ = np.histogram(sg.activations()[name](mean + sd * z), bins, (low, high))
    np.testing.assert_allclose(result, counts / z.size, atol=1e-4)


def test_mean_field_is_the_kernels_and_for_relu_a_power_of_two(live: Any) -> None:
    settings = {"mean": 0.4, "sd": 1.2, "gain": 1.4, "depth": 8}
    relu = {"mean": 0, "sd": 1, "gain": 1, "depth": 30}
    names = ("gelu", "tanh", "hard_tanh", "softplus")
    jobs = [["meanField", name, settings] for name in names]
    *result, halved = live.evaluate(LAYERS, [*jobs, ["meanField", "relu", relu]])
    for name, item in zip(names, result, strict=True):
        expected = quadrature.mean_field(sg.activations()[name], **settings)
        for key in ("variance", "gradient"):
            np.testing.assert_allclose(item[key], expected[key], rtol=1e-9)
    np.testing.assert_allclose(halved["variance"], 0.5 ** np.arange(31), rtol=1e-10)
    np.testing.assert_allclose(halved["gradient"], 0.5 ** np.arange(31)[::-1], rtol=1e-10)


def test_network_is_determined_by_its_seed(live: Any) -> None:
    settings = {"mean": -0.3, "sd": 1.5, "gain": 1.3, "depth": 3, "width": 24, "seed": 7}
    (result,) = live.evaluate(LAYERS, [["simulate", "gelu", settings]])
    expected = xoshiro.network(sg.gelu, settings)
    for key in ("variance", "gradient"):
        np.testing.assert_allclose(result[key], expected[key], rtol=1e-9)


# What is shown.


@pytest.mark.parametrize("name", ["gelu", "relu", "tanh", "hardshrink"])
def test_shown_numbers_are_the_kernels(live: Any, name: str) -> None:
    pick(live, name)
    for mean, sd, flat in INPUTS:
        give(live, mean=mean, sd=sd, flat=flat)
        one_layer(live, sg.activations()[name], mean, sd, flat)


def test_parameter_changes_the_numbers(live: Any) -> None:
    pick(live, "silu")
    give(live, mean=0, sd=1, flat=0.05)
    before = live.inner_text("#pg-out-mean")
    live.focus("#pg-parameter-0")
    live.keyboard.press("ArrowRight")
    browser.settle(live)
    assert live.input_value("#pg-parameter-0-number") == "1.01"
    assert live.inner_text("#pg-out-mean") != before
    one_layer(live, sg.silu.bind(beta=1.01), 0, 1, 0.05)


def test_invalid_parameter_shows_a_reason_and_changes_nothing(live: Any) -> None:
    pick(live, "hard_tanh")
    give(live, mean=0, sd=1)
    before = live.inner_text("#pg-out-mean")
    give(live, parameter_1=-2)
    hint = live.locator("#pg-parameter-1-hint")
    assert "high must be" in hint.inner_text()
    assert "> low" in hint.inner_text()
    assert live.get_attribute("#pg-parameter-1-number", "aria-invalid") == "true"
    assert live.inner_text("#pg-out-mean") == before
    give(live, parameter_0=-3)  # and so -2 is accepted after all
    assert live.get_attribute("#pg-parameter-1-number", "aria-invalid") == "false"
    one_layer(live, sg.hard_tanh.bind(low=-3, high=-2), 0, 1, float(live.input_value("#pg-flat")))


@pytest.mark.parametrize(
    ("id", "argument", "says"),
    [
        ("depth", "2.5", "whole"),
        ("mean", "9", "−4 to 4"),
        ("sd", "0", "0.05 to 4"),
        ("gain", "", "a number"),
    ],
)
def test_invalid_number_shows_a_reason_and_changes_nothing(
    live: Any, id: str, argument: str, says: str
) -> None:
    before = live.inner_text("#pg-variance-ratio")
    give(live, **{id: argument})
    assert says in live.inner_text(f"#pg-{id}-hint")
    assert live.get_attribute(f"#pg-{id}-number", "aria-invalid") == "true"
    assert live.inner_text("#pg-variance-ratio") == before
    give(live, **{id: 1})
    assert live.get_attribute(f"#pg-{id}-number", "aria-invalid") == "false"
    assert "expected" not in live.inner_text(f"#pg-{id}-hint")


def test_users_formula_can_be_selected(live: Any) -> None:
    pick(live, "snake")
    give(live, mean=0.5, sd=1, flat=0.05)
    one_layer(live, formulas.snake, 0.5, 1, 0.05)
    assert "parameters are fixed: a = 1" in live.inner_text("#pg-parameter-none")


def test_formula_that_is_defined_on_a_half_line(live: Any) -> None:
    pick(live, "logarithm")
    give(live, mean=0, sd=1, depth=5)
    assert live.inner_text("#pg-out-mean") == "not defined"
    assert "not defined for some" in live.inner_text("#pg-one-words")
    assert live.inner_text("#pg-variance-verdict") == "is not defined"
    give(live, mean=4, sd=0.25, flat=0.25)
    one_layer(live, logarithm, 4, 0.25, 0.25)
    assert live.inner_text("#pg-variance-verdict") == "is not defined"  # it has a mean of 0 by then


def test_curve_is_read_at_the_slider_and_at_the_pointer(live: Any) -> None:
    pick(live, "gelu")
    give(live, mean=0, sd=1, probe=-0.75)
    value, slope = float(sg.gelu(-0.75)), float(sg.gelu.slope(-0.75))
    result = re.fullmatch(r"gelu\(−0.75\) = (\S+), slope (\S+)", live.inner_text("#pg-probe-text"))
    assert result
    for text, expected in zip(result.groups(), (value, slope), strict=True):
        shown, half = number(text)
        assert abs(shown - expected) <= half
    chart = live.locator("#pg-through")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    live.mouse.move(box["x"] + box["width"] / 3, box["y"] + 100)
    browser.settle(live)
    assert live.inner_text("#pg-probe-text") != result[0]
    give(live, mean=4, sd=2)  # and so the picture is wider
    live.mouse.move(box["x"] + box["width"] / 2, box["y"] + 110)
    browser.settle(live)
    assert live.get_attribute("#pg-probe-number", "aria-invalid") == "false"
    assert live.get_attribute("#pg-probe", "max") == "10"


def test_signal_vanishes_is_stable_and_explodes(live: Any) -> None:
    pick(live, "relu")
    give(live, mean=0, sd=1, depth=20, width=128, gain=1, network=1)
    assert live.inner_text("#pg-variance-verdict") == "vanishes"
    assert live.inner_text("#pg-gradient-verdict") == "vanishes"
    shows(live, "variance-theory", 0.5**20)
    shows(live, "variance-layer", 0.5)
    live.click("#pg-hold")
    browser.settle(live)
    assert float(live.input_value("#pg-gain-number")) == pytest.approx(2**0.5, rel=1e-4)
    assert live.inner_text("#pg-variance-verdict") == "is stable"
    give(live, gain=3)
    assert live.inner_text("#pg-variance-verdict") == "explodes"


def test_draws_are_determined_by_the_seed(live: Any) -> None:
    give(live, x=-0.7, seed=5)
    live.click("#pg-gate-again")
    for draws in ("100", "1", "100"):
        live.click(f"[data-draws='{draws}']")
    browser.settle(live)
    drawn, p = itertools.islice(xoshiro.uniforms(5), 202), float(norm.cdf(-0.7))
    is_open = [u < p for u in drawn]
    shows(live, "gate-count", 202)
    shows(live, "gate-open", sum(is_open))
    shows(live, "gate-average", -0.7 * sum(is_open) / 202)
    shows(live, "gate-truth", float(sg.gelu(-0.7)))
    shows(live, "gate-p", p)
    shows(live, "gate-error", 0.7 * (p * (1 - p) / 202) ** 0.5)
    last = live.inner_text("#pg-gate-last")
    assert last == "".join("●" if item else "○" for item in is_open[:-49:-1])


def test_average_converges(live: Any) -> None:
    give(live, x=0.8, seed=1)
    live.click("[data-draws='10000']")
    browser.settle(live)
    average = number(live.inner_text("#pg-gate-average"))[0]
    error = number(live.inner_text("#pg-gate-error"))[0]
    assert abs(average - float(sg.gelu(0.8))) < 4 * error < 0.02


def test_charts_have_text_alternatives_and_changes_are_announced(live: Any) -> None:
    pick(live, "gelu")
    give(live, mean=1, sd=1)
    for id in ("through", "forward", "backward", "gate"):
        assert re.search(r"\d", live.get_attribute(f"#pg-{id}", "aria-label"))
        assert live.locator(f"#pg-{id} svg path").count() > 2
    for id in ("one", "stack"):
        live.wait_for_selector(f"#pg-{id}-summary:has-text('gelu')", state="attached")


def test_keys_reach_every_control(live: Any) -> None:
    pick(live, "hard_tanh")  # which has two parameters
    wanted = live.evaluate(
        "() => [...document.querySelectorAll('#playground :is(select, input, button)')]"
        ".filter((one) => !one.disabled).map((one) => one.id || one.dataset.draws)"
    )
    live.focus(f"#{wanted[0]}")
    reached = []
    for _ in wanted:
        reached.append(
            live.evaluate("document.activeElement.id || document.activeElement.dataset.draws")
        )
        live.keyboard.press("Tab")
    assert reached == wanted
    assert len(wanted) > 25


# Checks of the checks.


def test_check_detects_a_wrong_kernel(live: Any) -> None:
    live.evaluate(
        "const old = softgate.kernels.silu; softgate.kernels.silu = (x) => 1.001 * old(x)"
    )
    pick(live, "silu")
    give(live, mean=0, sd=1, flat=0.05)
    with pytest.raises(AssertionError):
        one_layer(live, sg.silu, 0, 1, 0.05)
    with pytest.raises(AssertionError):
        hold(live, sg.silu, [{}])


def test_check_detects_a_wrong_digit(live: Any) -> None:
    give(live, x=0.8)
    shows(live, "gate-truth", float(sg.gelu(0.8)))
    with pytest.raises(AssertionError):
        shows(live, "gate-truth", float(sg.gelu(0.8)) + 1e-4)
