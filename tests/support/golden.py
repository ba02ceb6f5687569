"""Records as JSON, compared with files in tests/golden, which `make golden` writes again.

A field of the record is compared exactly; a float within a relative `CLOSE`, for sums that CPUs
with longer vectors add in another order. Fields that a framework's own arithmetic enters have a
tolerance of their own, and of measured fields and those that describe the machine only the type is
compared.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from places import TESTS

GOLDEN = TESTS / "golden"
WRITE = "SOFTGATE_WRITE_GOLDEN"
"""The environment variable with which the files are written instead of compared."""
CLOSE = 1e-9


def check_golden(
    name: str,
    record: Any,
    *,
    measured: Collection[str] = (),
    counted: Collection[str] = (),
    close: Mapping[str, float] | None = None,
    replaced: Mapping[str, str] | None = None,
) -> None:
    """Compare a record with the golden file `name`.

    Parameters
    ----------
    record
        JSON text, or what it contains.
    measured
        Names of fields of which only the type is compared.
    counted
        Names of fields with long lists, of which only the length is compared.
    close
        Names of fields and the tolerance of the floats in them, relative above 1, absolute below.
    replaced
        Texts that differ from run to run, such as folders, and what stands for them.
    """
    text = record if isinstance(record, str) else json.dumps(record)
    for varying, constant in (replaced or {}).items():
        text = text.replace(varying, constant)
    present = _masked(json.loads(text), frozenset(measured), frozenset(counted))
    file = GOLDEN / f"{name}.json"
    if WRITE in os.environ:
        file.write_text(json.dumps(present, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    expected = json.loads(file.read_text(encoding="utf-8"))
    differences = list(_differences(name, expected, present, CLOSE, close or {}))
    assert not differences, "\n".join(differences)


def check_csv(file: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Compare the first lines of a CSV file with rows of a JSON record, in all columns of both.

    A column that a row lacks, or in which it has a list, is not compared.
    """
    with Path(file).open(encoding="utf-8", newline="") as text:
        lines = list(csv.DictReader(text))
    assert len(lines) >= len(rows) > 0, f"{file} has {len(lines)} lines: expected {len(rows)}"
    for line, row in zip(lines, rows, strict=False):
        shared = [name for name in line if not isinstance(row.get(name, []), list | dict)]
        assert len(shared) > 1, f"{file} and the record share {shared}"
        expected = {name: "" if row[name] is None else str(row[name]).lower() for name in shared}
        assert {name: line[name].lower() for name in shared} == expected


def _masked(value: Any, measured: frozenset[str], counted: frozenset[str]) -> Any:
    """Return the value with types in place of what was measured, and lengths of long lists."""
    if isinstance(value, list):
        return [_masked(item, measured, counted) for item in value]
    if not isinstance(value, dict):
        return value
    masked = {key: _masked(item, measured, counted) for key, item in value.items()}
    masked |= {key: f"<{len(value[key])} items>" for key in counted & value.keys()}
    return masked | {key: f"<{_json_type(value[key])}>" for key in measured & value.keys()}


def _json_type(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")


def _differences(
    path: str, expected: Any, present: Any, tolerance: float, close: Mapping[str, float]
) -> Iterator[str]:
    """Yield a line for each difference, with the path of its field."""
    if isinstance(expected, dict) and isinstance(present, dict):
        for key in [*expected, *(key for key in present if key not in expected)]:
            here = f"{path}.{key}"
            if key not in present or key not in expected:
                yield f"{here} is {'missing' if key in expected else 'not in the golden file'}"
            else:
                wide = close.get(key, tolerance)
                yield from _differences(here, expected[key], present[key], wide, close)
    elif isinstance(expected, list) and isinstance(present, list):
        if len(expected) != len(present):
            yield f"{path} has {len(present)} items: expected {len(expected)}"
        for i, (one, other) in enumerate(zip(expected, present, strict=False)):
            yield from _differences(f"{path}[{i}]", one, other, tolerance, close)
    elif type(expected) is float and type(present) in (int, float):
        near_zero = 0.0 if tolerance == CLOSE else tolerance
        if not math.isclose(expected, present, rel_tol=tolerance, abs_tol=near_zero):
            yield f"{path} is {present!r}: expected {expected!r} within {tolerance:g}"
    elif type(expected) is not type(present) or expected != present:
        yield f"{path} is {present!r}: expected {expected!r}"
