"""The comparison with golden files finds what differs, and each file is compared by a test."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import golden
import pytest
from golden import GOLDEN, WRITE, check_golden
from places import TESTS

FILES = [
    *sorted((TESTS / "behaviour").glob("test_*.py")),
    *sorted((TESTS / "support").glob("small_*.py")),
]
PUBLIC = {"softgate", "softgate.jax", "softgate.keras", "softgate.torch"}
NAME = "of_this_test"
RECORD = {"schema": "s", "rows": [{"name": "gelu", "ns": 2.5, "ulp": 1.25}], "note": None}


def test_each_file_is_compared_by_a_test() -> None:
    tests = "".join(file.read_text(encoding="utf-8") for file in (TESTS / "behaviour").glob("*.py"))
    compared = set(re.findall(r'check_golden\(\s*"([\w-]+)"', tests))
    assert {file.stem for file in GOLDEN.iterdir()} == compared


def modules_of_softgate(code: str) -> set[str]:
    """Return the modules of softgate that a file imports, as they are written."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "softgate"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_only_public_modules_are_imported(file: Path) -> None:
    assert modules_of_softgate(file.read_text(encoding="utf-8")) <= PUBLIC


def test_imports_of_other_modules_are_seen() -> None:
    code = "import softgate.torch as st\ndef f():\n    from softgate import cli, studies\n"
    assert modules_of_softgate(code) - PUBLIC == {"softgate.cli", "softgate.studies"}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"schema": "t"}, "schema"),
        ({"rows": []}, "rows"),
        ({"rows": [{"name": "silu", "ns": 9.0, "ulp": 1.25}]}, "name"),
        ({"rows": [{"name": "gelu", "ns": 9.0, "ulp": 1.2501}]}, "ulp"),
        ({"rows": [{"name": "gelu", "ns": None, "ulp": 1.25}]}, "ns"),
        ({"rows": [{"name": "gelu", "ulp": 1.25}]}, "ns"),
        ({"note": "x"}, "note"),
        ({"more": 1}, "more"),
    ],
)
def test_what_differs_is_named(
    changed: dict[str, object],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(golden, "GOLDEN", tmp_path)
    with monkeypatch.context() as writing:
        writing.setenv(WRITE, "1")
        check_golden(NAME, RECORD, measured=["ns"])
    monkeypatch.delenv(WRITE, raising=False)
    check_golden(NAME, json.dumps(RECORD), measured=["ns"])
    check_golden(NAME, RECORD | {"rows": [RECORD["rows"][0] | {"ns": 7}]}, measured=["ns"])  # type: ignore[index]
    with pytest.raises(AssertionError, match=named):
        check_golden(NAME, RECORD | changed, measured=["ns"])
