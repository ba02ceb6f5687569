"""The report's style sheet: contrast by WCAG in every theme, computed from the CSS."""

from __future__ import annotations

import re

import pytest

from softgate.plotting.palette import POOL, TABLE
from softgate.plotting.vega import IMPLEMENTATIONS, implementation
from softgate.reporting.page import asset

TEXT, GRAPHICS = 4.5, 3.0
READ = [
    (ink, paper, TEXT)
    for paper in ("paper", "panel")
    for ink in ("ink", "soft", "accent", "bad", "good")
] + [("ink", "mark", TEXT), ("soft", "mark", TEXT), ("accent-ink", "accent", TEXT)]
SEEN = [("edge", "paper", GRAPHICS), ("accent", "paper", GRAPHICS)]


def variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", block))


def themes() -> dict[str, dict[str, str]]:
    """Return the colours of each theme by its place in the style sheet."""
    css = asset("page.css")
    rules = re.findall(r"(:root[^{]*)\{([^}]*)\}", css)
    colours = {}
    for place, (selector, block) in enumerate(rules):
        if variables(block):
            colours[f"{place} {selector.strip()[:40]}"] = variables(block)
    return colours


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(item: str, other: str) -> float:
    low, high = sorted(map(luminance, (item, other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_formula_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_light_dark_and_print_theme() -> None:
    papers = [colours["paper"] for colours in themes().values()]
    assert papers == ["#ffffff", "#121212", "#121212", "#ffffff"]
    by_system, by_hand = list(themes().values())[1:3]
    assert by_system == by_hand


@pytest.mark.parametrize("theme", list(themes()))
def test_contrast_of_text_and_edges(theme: str) -> None:
    colours = themes()[theme]
    for ink, paper, least in READ + SEEN:
        ratio = contrast(colours[ink], colours[paper])
        assert ratio >= least, (ink, paper, round(ratio, 2))


@pytest.mark.parametrize("paper", ["#ffffff", "#121212"])
def test_contrast_of_lines(paper: str) -> None:
    for name, (colour, _) in IMPLEMENTATIONS.items():
        assert contrast(colour, paper) >= GRAPHICS, name


def test_implementations_have_distinct_colours_of_the_pool() -> None:
    colours = [colour for colour, _ in IMPLEMENTATIONS.values()]
    assert len(set(colours)) == len(colours)
    assert set(colours) <= set(POOL)
    assert not set(colours) & {colour for colour, _ in TABLE.values()}
    assert implementation("another") == implementation("another")


def test_scripts_do_not_evaluate_text() -> None:
    for name in ("page.js", "curves.js"):
        text = asset(name)
        assert "innerHTML" not in text
        assert "eval(" not in text
        assert "http" not in text
