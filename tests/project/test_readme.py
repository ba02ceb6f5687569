"""The examples of the README and of two guides run unchanged, in a separate process."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from places import ROOT

from softgate.runtime.packages import FRAMEWORKS

RunHere = Callable[..., subprocess.CompletedProcess[str]]
NAMES = ("README.md", "docs/diagnose.md", "docs/guide.md")
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
COMMANDS = sorted(
    {
        line.partition("#")[0].partition(" >")[0].strip()
        for text in PAGES.values()
        for line in re.findall(r"(?m)^    (softgate .*)$", text)
    }
)
ELSEWHERE = ("libkernels.so", "model.onnx", "my_module", "bert-folder")
"""Files that a reader has and we do not."""
LONG = ("certify", "compare", "identify", "bench", "report")
"""Commands that have tests of their own; here their options are looked up."""


def blocks(page: str) -> list[str]:
    return re.findall(r"(?ms)^```python\n(.*?)^```", PAGES[page])


def test_the_pages_show_something() -> None:
    assert all(len(blocks(page)) >= 2 for page in PAGES)
    assert len(COMMANDS) >= 12


@pytest.mark.parametrize("page", PAGES)
def test_python_runs(page: str) -> None:
    """The blocks one after the other, as a reader would paste them."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(blocks(page))],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_known(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_here: RunHere
) -> None:
    """Each command with all its options; those that take long or need a file are only parsed."""
    words = shlex.split(command)[1:]
    if words[0] in LONG or any(name in command for name in ELSEWHERE):
        words = [words[0], "--help"]
    monkeypatch.chdir(tmp_path)
    done = run_here(*words)
    assert done.returncode == 0, done.stderr
    for option in re.findall(r"--[a-z-]+", command) if "--help" in words else ():
        assert option in done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_are_there(page: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", PAGES[page])
    assert targets
    for target in targets:
        assert ((ROOT / page).parent / target).exists(), f"{page} points to {target}"


def test_targets_of_make_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for text in PAGES.values():
        for target in re.findall(r"(?:`|^    )make ([a-z]+)", text, re.MULTILINE):
            assert re.search(f"(?m)^{target}:", makefile), target


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_support_table_has_the_oldest_version(name: str) -> None:
    label, oldest = FRAMEWORKS[name].label, FRAMEWORKS[name].oldest
    row = re.search(rf"(?m)^\| {label} \|.*\| (\S+) and later \|$", PAGES["README.md"])
    assert row is not None, label
    assert row.group(1) == ".".join(map(str, oldest))
