"""The examples run as scripts, and what they show is true."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from places import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has imported torch; warnings are errors here, too."""
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "manual_backward.py"))


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("name", ["tanh", "gelu", "gelu_tanh"])
def test_gradients_by_hand_are_autograds(lesson: dict[str, Any], name: str) -> None:
    layer = lesson["Layer"](draw(4, 3), draw(4), lesson[name], lesson[f"{name}_slope"])
    assert lesson["disagreement"](layer, draw(50, 3), draw(50, 4)) < 1e-12


def test_the_articles_slope_is_seen_to_be_wrong(lesson: dict[str, Any]) -> None:
    layer = lesson["Layer"](draw(4, 3), draw(4), lesson["gelu_tanh"], lesson["article_slope"])
    assert lesson["disagreement"](layer, draw(50, 3), draw(50, 4)) > 0.1
    at = torch.tensor([0.0, -1.0, -3.0, 1.0], dtype=torch.float64)
    article = torch.tensor([0.898942, 0.400580, 0.005478, 1.082964], dtype=torch.float64)
    right = torch.tensor([0.5, -0.082964, -0.011584, 1.082964], dtype=torch.float64)
    assert torch.allclose(lesson["article_slope"](at), article, atol=1e-6)
    assert torch.allclose(lesson["gelu_tanh_slope"](at), right, atol=1e-6)


def test_a_scalar_layer_as_the_article_has_it(lesson: dict[str, Any]) -> None:
    """w = 0.7, b = -0.3, x = 1.2: gradients of w and b, 1.069743 and 0.891453."""
    weight, bias, x = (torch.tensor([[v]], dtype=torch.float64) for v in (0.7, -0.3, 1.2))
    layer = lesson["Layer"](weight, bias[0], lesson["gelu_tanh"], lesson["gelu_tanh_slope"])
    of_weight, of_bias, _ = layer.backward(x, torch.ones_like(x))
    assert (float(of_weight), float(of_bias)) == pytest.approx((1.069743, 0.891453), abs=1e-6)
