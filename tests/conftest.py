"""Every test that takes `activation` runs for the whole catalogue, new entries included."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from variants import named, parameter_sets

import softgate as sg

collect_ignore = ["support"]
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


@pytest.fixture
def all_threads() -> Iterator[None]:
    """Four threads during a test, whatever the machine has; the old number afterwards."""
    before = sg.get_threads()
    sg.set_threads(4)
    yield
    sg.set_threads(before)
