"""What the README shows runs as it stands, in a process of its own."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```", README)
COMMANDS = [
    line.partition("#")[0].strip()
    for line in re.findall(r"(?m)^    (softgate .*)$", README)
]  # fmt: skip
ELSEWHERE = ("libkernels.so", "model.onnx")
"""Files that a reader has and we do not."""


def test_the_readme_shows_something() -> None:
    assert len(BLOCKS) >= 4
    assert len(COMMANDS) >= 8


def test_python_runs() -> None:
    """The blocks one after the other, as a reader would paste them."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(BLOCKS)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_known(command: str, tmp_path: Path) -> None:
    """Each command with all its options; those that take long or need a file are only parsed."""
    words = shlex.split(command)[1:]
    quick = words[0] not in ("certify", "identify")
    if not quick or any(name in command for name in ELSEWHERE):
        words = [words[0], "--help"]
    done = subprocess.run(
        [sys.executable, "-m", "softgate", *words],
        capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for option in re.findall(r"--[a-z-]+", command) if "--help" in words else ():
        assert option in done.stdout
