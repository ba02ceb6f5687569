"""The comparison with golden files finds what differs, and each file is compared by a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import golden
import pytest
from golden import GOLDEN, WRITE, check_golden
from places import TESTS

NAME = "of_this_test"
RECORD = {"schema": "s", "rows": [{"name": "gelu", "ns": 2.5, "ulp": 1.25}], "note": None}


def test_each_file_is_compared_by_a_test() -> None:
    tests = "".join(file.read_text(encoding="utf-8") for file in (TESTS / "behaviour").glob("*.py"))
    compared = set(re.findall(r'check_golden\(\s*"([\w-]+)"', tests))
    assert {file.stem for file in GOLDEN.iterdir()} == compared


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
