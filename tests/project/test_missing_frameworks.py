"""Tests that need a framework which is not installed are skipped; other failures stay failures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from places import ROOT

HOOKS = ROOT / "conftest.py"
FILES = {
    "tests/test_top.py": "import absent\n\ndef test_it(): pass\n",
    "tests/test_inside.py": """
import subprocess, sys

def test_import():
    import absent

def test_child():
    code = "import os\\nimport absent"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

def test_for_a_framework():
    from softgate import torch

def test_core_must_not_need_it():
    from softgate import core

def test_another():
    import unknown_module

def test_wrong():
    assert "absent" == ""
""",
    "tests/test_broken.py": "import unknown_module\n",
    "tests/test_core.py": "import softgate.core\n",
    "src/softgate/__init__.py": "",
    "src/softgate/core.py": "import absent\n",
    "src/softgate/torch.py": "import absent\n",
}


def test_only_what_needs_a_missing_framework_is_skipped(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    hooks = HOOKS.read_text(encoding="utf-8").replace('"statsmodels"', '"absent"')
    (tmp_path / "conftest.py").write_text(hooks, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = src\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "tests",
         "--continue-on-collection-errors"],
        capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path,
    )  # fmt: skip
    summary = done.stdout.partition("short test summary info")[2]
    lines = summary.splitlines()
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    assert sum("absent is not installed" in line for line in skipped) == 4, summary
    wrong = {line.split(" - ")[0] for line in lines if line.startswith(("FAILED", "ERROR"))}
    assert wrong == {
        "FAILED tests/test_inside.py::test_core_must_not_need_it",
        "FAILED tests/test_inside.py::test_another",
        "FAILED tests/test_inside.py::test_wrong",
        "ERROR tests/test_broken.py",
        "ERROR tests/test_core.py",
    }, summary
