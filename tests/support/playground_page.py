"""Use the playground: select activations, enter numbers, check what is shown."""

from __future__ import annotations

import re
from typing import Any

import browser
import quadrature

from softgate.runtime.activation import Activation


def number(text: str) -> tuple[float, float]:
    """Return a displayed number, and half a unit of its last digit."""
    result = re.search(r"[−-]?\d[\d,]*\.?(\d*)(e-?\d+)?", text)
    assert result, text
    share = 0.01 if text.endswith("%") else 1.0
    value = float(result[0].replace("−", "-").replace(",", "")) * share
    unit = 10.0 ** -len(result[1]) * float(f"1{result[2] or ''}") * share
    return value, unit / 2


def shows(live: Any, id: str, expected: float) -> None:
    """Check a displayed number to its last digit."""
    text = live.inner_text(f"#pg-{id}")
    value, half = number(text)
    assert abs(value - expected) <= half * (1 + 1e-6) + 1e-12, (id, text, expected)


def pick(live: Any, name: str) -> None:
    live.select_option("#pg-activation", label=name)
    browser.settle(live)


def give(live: Any, **numbers: object) -> None:
    for id, value in numbers.items():
        live.fill(f"#pg-{id.replace('_', '-')}-number", str(value))
    browser.settle(live)


def one_layer(live: Any, chosen: Activation, mean: float, sd: float, flat: float) -> None:
    """Compare the numbers of the first panel with the kernels."""
    expected = quadrature.statistics(chosen, mean, sd, flat)
    shows(live, "out-mean", expected["mean"])
    shows(live, "out-variance", expected["variance"])
    shows(live, "out-gain", expected["variance"] / sd**2)
    shows(live, "out-gradient", expected["slopeSquare"])
    shows(live, "out-flat", expected["flat"])
    shows(live, "out-falling", expected["falling"])
