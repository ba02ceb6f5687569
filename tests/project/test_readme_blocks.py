"""The README's tables are the records' numbers, and land in the block they belong to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import report_records
from places import ROOT

import softgate as sg


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "docs"))
    import readme_blocks

    yield readme_blocks
    for name in ("readme_blocks", "speed_table", "support_table"):
        sys.modules.pop(name, None)


def test_replace(blocks: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- begin b -->\nold\n<!-- end b -->\nc\n", encoding="utf-8")
    blocks.replace("b", "new \\1 text\n", page)
    blocks.replace("b", "newer \\1 text\n", page)
    text = page.read_text(encoding="utf-8")
    assert text == "a\n<!-- begin b -->\nnewer \\1 text\n<!-- end b -->\nc\n"
    with pytest.raises(ValueError, match="no block between <!-- begin x -->"):
        blocks.replace("x", "", page)
    assert page.read_text(encoding="utf-8") == text


def test_times(blocks: ModuleType, tmp_path: Path) -> None:
    import speed_table

    assert (
        blocks.README.read_text(encoding="utf-8").count(speed_table.table(speed_table.read())) == 1
    )
    times = {name: [0.5, 1.0, 0.25, 0.125] for name in speed_table.FUNCTIONS}
    machine = {"cpu": "a CPU", "date": "2026-01-31", "versions": "numpy 2.0"}
    machine |= dict.fromkeys(speed_table.DTYPES, times)
    file = tmp_path / "speed.toml"
    file.write_text(speed_table.written([machine]), encoding="utf-8")
    assert speed_table.read(file) == [machine]
    text = speed_table.table([machine])
    assert "| a CPU, float32, value + backward | 0.75 / 1.12 |" in text
    assert "| a CPU, float32, value | 0.50 / 1.00 |" in text
    assert "a CPU: 2026-01-31, numpy 2.0." in text
    busy = speed_table.table([machine | {"background_load": 0.75}])
    assert "other processes used 75% of the cores." in busy
    times["gelu"].pop()
    file.write_text(speed_table.written([machine]), encoding="utf-8")
    with pytest.raises(ValueError, match="gelu"):
        speed_table.read(file)


def test_errors(blocks: ModuleType) -> None:
    certificate = sg.certify(
        sg.gelu, "gelu", dtype=("float32", "float16"), quantity=("value",), samples=2000,
        isolated=False,
    )  # fmt: skip
    text = blocks.accuracy({"ours": certificate}, {"torch": "2.13.0", "zlib": "1"})
    worst = max(
        region.max_ulp
        for item in certificate
        if item.dtype == "float32"
        for region in item.ordinary
    )
    assert f"| ours | {worst:.2f} / – | – | 0.50 / – | – |" in text
    assert "torch 2.13.0." in text


def test_the_catalogue_is_that_of_the_page(blocks: ModuleType) -> None:
    rows = {"one": ["0.50", "1.00", "2.10", "0.50"], "two": ["0.92", "0.50", "0.50", "1.20"]}
    text = blocks.catalogue(rows)
    assert text.startswith(
        "All 2 functions of the catalogue are within 1.00 ulp in float32 and 2.10"
    )
    page = (ROOT / "docs/accuracy.md").read_text(encoding="utf-8").splitlines()
    cells = (line.strip("| ").split(" | ") for line in page)
    rows = {name: row for name, *row in cells if name in sg.activations() and len(row) == 4}
    assert blocks.catalogue(rows) in blocks.README.read_text(encoding="utf-8")


def test_the_support_table_is_made_of_the_runs(blocks: ModuleType, tmp_path: Path) -> None:
    import support_table

    assert (
        blocks.README.read_text(encoding="utf-8").count(support_table.table(support_table.read()))
        == 1
    )
    file = tmp_path / "support.toml"
    machine = replace(report_records.machine("a CPU"), python="3.12.1")
    file.write_text(
        support_table.entry("tests", machine)
        + support_table.entry("tests", replace(machine, python="3.13.0"))
        + support_table.entry("digests", machine, "emulated"),
        encoding="utf-8",
    )
    lines = support_table.table(support_table.read(file)).splitlines()[2:]
    assert lines == [
        "| Linux x86_64 | a CPU, x86-64, AVX2 | tests: 3.12, 3.13 |",
        "| Linux x86_64 | a CPU, x86-64, AVX2, emulated | digests: 3.12 |",
    ]
    file.write_text('[[run]]\nchecked = "tests"\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"expected \['checked', 'cpu', 'python', 'system'\]"):
        support_table.read(file)


@pytest.mark.parametrize("name", ["accuracy", "speed"])
def test_the_readme_has_its_tables(name: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]
    assert "gelu" in block
