"""A plugin of pytest for tests under emulation, where a process cannot start another.

A test that starts one is skipped. `--shard 1/3` runs every third test, beginning with the first.
"""

from __future__ import annotations

import multiprocessing.util
import os
import subprocess
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shard", default="1/1", help="which part of the tests to run, of how many")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part, parts = map(int, config.getoption("--shard").split("/"))
    config.hook.pytest_deselected(items=[x for i, x in enumerate(items) if i % parts != part - 1])
    items[:] = items[part - 1 :: parts]


@pytest.fixture(autouse=True)
def no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def skip(*_: Any, **__: Any) -> Any:
        pytest.skip("starts a process")

    monkeypatch.setattr(subprocess.Popen, "__init__", skip)
    monkeypatch.setattr(multiprocessing.util, "spawnv_passfds", skip)
    monkeypatch.setattr(os, "fork", skip)
