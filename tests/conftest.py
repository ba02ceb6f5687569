"""Every test that takes `activation` runs for the whole catalogue, new entries included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import softgate as sg
from softgate._activation import Activation

collect_ignore = [
    file.name for file in Path(__file__).parent.glob("*.py") if not file.name.startswith("test_")
]
"""Helpers have no doctests, and some are programs that must not share a process with others."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "activation" in metafunc.fixturenames:
        known = sg.activations()
        metafunc.parametrize("activation", list(known.values()), ids=list(known))
    if "variant" in metafunc.fixturenames:
        variants = [
            (activation, parameters)
            for activation in sg.activations().values()
            for parameters in parameter_sets(activation)
        ]
        metafunc.parametrize("variant", variants, ids=[named(*variant) for variant in variants])


def parameter_sets(activation: Activation) -> list[dict[str, float]]:
    """The defaults, and each parameter at each of its tested values."""
    sets: list[dict[str, float]] = [{}]
    for parameter in activation.entry.parameters:
        sets += [{parameter.name: value} for value in parameter.tested]
    return sets


def named(activation: Activation, parameters: dict[str, float]) -> str:
    return "-".join([activation.name, *(f"{n}={v:g}" for n, v in parameters.items())])


@pytest.fixture
def all_threads() -> Iterator[None]:
    """Four threads during a test, whatever the machine has; the old number afterwards."""
    before = sg.get_threads()
    sg.set_threads(4)
    yield
    sg.set_threads(before)
