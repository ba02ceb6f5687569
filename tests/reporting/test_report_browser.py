"""The report in Chromium, from disk and without a network: layout, interaction, no errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pytest
import quadrature
import report_made

import softgate as sg
from softgate.reporting.sections import MODULES

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

READY = "html[data-ready] #pg-root[data-ready]"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}
NAMELESS = """() => [...document.querySelectorAll("main svg, main img, main [role=img]")]
  .filter((one) => {
    const named = one.closest("[role=img][aria-label], img[alt]");
    return !(named && (named.getAttribute("aria-label") || named.alt).trim().length > 10);
  }).map((one) => one.outerHTML.slice(0, 200))"""
CUT = """() => [...document.querySelectorAll("main *")].filter((one) => {
  const box = one.getBoundingClientRect();
  const inside = one.closest(".scroll, .hidden, pre, .chart, .pg-chart, math, [hidden]");
  return !inside && box.width > 0 && box.right > innerWidth + 1;
}).map((one) => one.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return report_made.shared(tmp_path_factory, worker_id)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.launched() as running:
        yield running


@pytest.fixture(scope="module")
def live(chromium: Any, file: Path) -> Iterator[Any]:
    """Return the report on a wide screen, open for all tests of this module."""
    with browser.opened(chromium, file) as opened:
        opened.wait_for_selector(READY)
        yield opened


def check_page(page: Any) -> None:
    """Check layout and accessibility."""
    check_layout(page)
    violations = axe.Axe().run(page, options=RULES).response["violations"]
    assert not violations, [
        (violation["id"], violation["nodes"][0]["html"]) for violation in violations
    ]


def check_layout(page: Any) -> None:
    """Check the sections, the sizes and the text alternatives."""
    headed = page.eval_on_selector_all(
        "main > section:has(h2)",
        "all => all.filter((s) => s.querySelector('h2').innerText.trim()).map((s) => s.id)",
    )
    assert headed == list(MODULES)
    assert not page.locator(".failed").count(), page.locator(".failed").all_inner_texts()
    assert browser.overflow(page) <= 0
    assert page.evaluate(CUT) == []
    assert page.evaluate(NAMELESS) == []
    assert browser.shift(page) < 0.01


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")], ids=str)
def test_page_on_every_screen(chromium: Any, file: Path, width: int, theme: str) -> None:
    """Both themes at both widths: the second theme is switched to while the page is open."""
    with browser.opened(chromium, file, width, theme) as page:
        page.wait_for_selector(READY)
        page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
        browser.settle(page)
        print(f"{width} px, {theme}: first paint after {page.evaluate(browser.PAINT)} ms")
        assert is_dark(page) == (theme == "dark")
        # Colours depend on the theme only and sizes on the width only: axe checks each once.
        check_page(page)
        page.emulate_media(color_scheme="light" if theme == "dark" else "dark")
        browser.settle(page)
        assert is_dark(page) == (theme == "light")
        check_layout(page)


def is_dark(page: Any) -> bool:
    """Return whether the background is dark."""
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", paper)[:3])) < 200


def test_page_is_small_and_loads_nothing(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.encode()) < 3_000_000
    text = re.sub(r"(<script[^>]*>).*?</script>", r"\1", text, flags=re.DOTALL)
    assert not re.search(r"<(?:link|script|img|iframe)[^>]+(?:src|href)=(?![\"']?data:)", text)


def paths(page: Any, chart: str) -> list[str]:
    return [item.get_attribute("d") for item in page.locator(f"#{chart} svg .mark-line path").all()]


def test_curve_toggles(live: Any) -> None:
    before = paths(live, "curves-value")
    name = live.locator("#curves-names [data-name=relu]")
    row = live.locator("#curves-readings tbody th", has_text=re.compile("^relu$"))
    assert row.count() == 1
    name.click()
    browser.settle(live)
    assert name.get_attribute("aria-pressed") == "false"
    assert len(paths(live, "curves-value")) == len(before) - 1
    assert row.count() == 0
    name.click()
    browser.settle(live)
    assert len(paths(live, "curves-value")) == len(before)


def test_curves_are_read_by_slider_and_by_pointer(live: Any) -> None:
    live.focus("#curves-x")
    live.keyboard.press("ArrowLeft")
    browser.settle(live)
    x = float(live.input_value("#curves-x"))
    assert x != 1
    row = live.locator("#curves-readings tbody tr", has_text=re.compile("^gelu")).first
    shown = [float(text.replace("−", "-")) for text in row.locator("td").all_inner_texts()]
    truth = [float(f(x)) for f in (sg.gelu, sg.gelu.slope, sg.gelu.curvature)]
    np.testing.assert_allclose(shown, truth, atol=5.1e-5, rtol=0)
    chart = live.locator("#curves-slope")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    live.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    browser.settle(live)
    assert float(live.input_value("#curves-x")) < 0


def test_curves_zoom(live: Any) -> None:
    before = paths(live, "curves-value")
    live.click("[data-zoom=in]")
    browser.settle(live)
    assert paths(live, "curves-value") != before
    live.click("[data-zoom=reset]")
    browser.settle(live)
    assert paths(live, "curves-value") == before


def test_slider_changes_the_numbers_to_those_of_the_kernels(live: Any) -> None:
    before = live.inner_text("#pg-out-mean")
    live.focus("#pg-mean")
    for _ in range(4):
        live.keyboard.press("ArrowRight")
    browser.settle(live)
    shown = live.inner_text("#pg-out-mean")
    assert shown != before
    mean = float(live.input_value("#pg-mean"))
    assert mean == pytest.approx(0.2)
    assert shown == f"{quadrature.moments(sg.gelu, mean, 1.0)['mean']:.4g}"


def test_keyboard_and_touch_on_a_phone(chromium: Any, file: Path) -> None:
    with browser.opened(chromium, file, 390, "light") as page:
        page.wait_for_selector(READY)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        paper = "() => getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        for _ in range(2):
            page.tap("#theme")
        assert page.evaluate(paper) != light
        assert page.locator("#pg-through svg").is_visible()
        page.tap("[data-draws='100']")
        browser.settle(page)
        assert page.inner_text("#pg-gate-count") == "200"


def test_page_prints(live: Any) -> None:
    live.emulate_media(media="print", color_scheme="dark")
    try:
        assert not live.locator("#pg-mean").is_visible()
        assert live.locator("#pg-mean-number").is_visible()
        assert not live.locator("nav").is_visible()
        assert live.locator("#curves-value svg").first.is_visible()
        paper = live.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(255, 255, 255)"
        assert live.pdf(format="A4").startswith(b"%PDF")
    finally:
        live.emulate_media(media="screen", color_scheme="light")


def test_hostile_names_are_not_run(live: Any) -> None:
    assert live.evaluate("window.hacked") is None
    assert report_made.HOSTILE in live.content().replace("&lt;", "<").replace("&gt;", ">")


# Checks of the checks.

WRONG = {
    "console": ("<script>console.error('lost')</script>", "error: lost"),
    "thrown": ("<script>setTimeout(() => { throw new Error('lost'); })</script>", "thrown: lost"),
    "image": (
        "<img src='http://softgate.invalid/a.png'>",
        "request: http://softgate.invalid/a.png",
    ),
    "file": ("<script src='beside.js'></script>", "beside.js"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_page_with_errors_or_requests_fails(chromium: Any, tmp_path: Path, wrong: str) -> None:
    path, (body, says) = tmp_path / "wrong.html", WRONG[wrong]
    path.write_text(f"<!doctype html><title>wrong</title>{body}", encoding="utf-8")
    with (
        pytest.raises(AssertionError, match=re.escape(says)),
        browser.opened(chromium, path),
    ):
        pass


SPOILT = {
    "section": ("$('#speed').id = 'lost'", "$('#lost').id = 'speed'"),
    "name": ("$('[role=img]').role = 'none'", "$('figure [role=none]').role = 'img'"),
    "width": ("$('main').style.width = '1500px'", "$('main').style.width = ''"),
    "contrast": ("$('main p').style.color = '#bbbbbb'", "$('main p').style.color = ''"),
    "label": ("$('#pg-x-label').htmlFor = 'lost'", "$('#pg-x-label').htmlFor = 'pg-x'"),
    "failed": ("$('main p').className = 'failed'", "$('main p').className = ''"),
}
"""Scripts that introduce and undo a defect."""


@pytest.mark.parametrize("spoilt", SPOILT)
def test_page_with_a_defect_fails(live: Any, spoilt: str) -> None:
    wrong, right = (
        f"() => {{ const $ = (s) => document.querySelector(s); {words}; }}"
        for words in SPOILT[spoilt]
    )
    live.evaluate(wrong)
    with pytest.raises(AssertionError):
        check_page(live)
    live.evaluate(right)
