"""First calls in threads, interrupted, beside a fork, and where a framework refuses operators."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
FRAMEWORKS = ("numpy", "torch", "torch.compile", "jax", "tensorflow", "keras", "pickles")


def run(program: str, *arguments: str) -> str:
    """Run a program of tests/support and return what it prints."""
    result = subprocess.run(
        [sys.executable, str(SUPPORT / program), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
    return result.stdout


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_sixteen_threads_make_the_first_call(framework: str) -> None:
    run("first_calls.py", framework, "threads")


@pytest.mark.parametrize("framework", ["torch", "torch.compile", "jax", "tensorflow", "keras"])
def test_a_framework_that_refuses_operators_gets_right_results(framework: str) -> None:
    run("first_calls.py", framework, "refused")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("framework", "lines"),
    [
        *((name, "6") for name in FRAMEWORKS if name not in ("torch.compile", "keras")),
        *(pytest.param(name, "all", marks=pytest.mark.exhaustive) for name in FRAMEWORKS),
    ],
)
def test_the_call_after_an_interrupted_first_call_is_right(framework: str, lines: str) -> None:
    """An interrupt at each line of softgate that the call reaches; by default, at some of them.

    Those are in the adapters, which register.
    """
    everywhere = lines == "all" or framework in ("numpy", "pickles")
    files = () if everywhere else ("frameworks/",)
    assert ", 0 failures" in run("interrupted_call.py", framework, lines, *files)
