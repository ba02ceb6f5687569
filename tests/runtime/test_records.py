"""Records as dictionaries, data frames and files."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import softgate as sg
from softgate.cli import identify, names, plot, table
from softgate.runtime import encoding
from softgate.runtime.files import PICTURES, TABLES
from softgate.runtime.records import Grid, Record

RECORDS = {
    "table": "softgate.studies.table:Table",
    "properties": "softgate.studies.properties.record:PropertyTable",
    "names": "softgate.runtime.framework_names:Names",
    "identify": "softgate.studies.identify.record:Identification",
    "certify": "softgate.studies.certify.record:Certificate",
    "bench": "softgate.studies.bench.record:Bench",
    "diagnose": "softgate.studies.diagnose.record:Diagnosis",
    "compare": "softgate.studies.compare.record:Comparison",
    "report": "softgate.reporting:FORMATS",
}
"""The record of each command that has `-o`."""


@pytest.fixture(scope="module")
def record() -> Record:
    return sg.table("gelu", at="-1,1", columns="value")


class Rows(HTMLParser):
    rows = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.rows += tag == "tr"


def test_a_record_is_a_dictionary_and_a_data_frame(record: Record) -> None:
    assert record.to_dict() == json.loads(record.to_json())
    frame = record.to_pandas()
    assert list(frame.columns) == ["x", "function", "quantity", "value"]
    assert frame["value"].tolist() == pytest.approx([sg.gelu(-1.0), sg.gelu(1.0)])


@pytest.mark.parametrize("kind", TABLES)
def test_the_extension_selects_the_format(kind: str, record: Record, tmp_path: Path) -> None:
    file = tmp_path / f"gelu.{kind.upper()}"
    record.save(file)
    text = file.read_text(encoding="utf-8")
    if kind == "json":
        assert type(record).from_json(text) == record
    elif kind == "csv":
        header, *rows = csv.reader(io.StringIO(text))
        assert (header, len(rows)) == (["x", "function", "quantity", "value"], 2)
    else:
        parser = Rows()
        parser.feed(text)
        assert parser.rows == 3
        assert "default-src 'none'" in text


def test_a_record_without_a_chart_has_no_pictures(record: Record, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.svg has the format \.svg: expected \.html, \.json"):
        record.save(tmp_path / "x.svg")
    with pytest.raises(NotImplementedError, match="Table has no chart"):
        record.figure()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_command_accepts_the_formats_of_its_record(name: str) -> None:
    module, _, attribute = RECORDS[name].partition(":")
    saved = getattr(import_module(module), attribute)
    command = import_module(f"softgate.cli.{name}").command
    (option,) = (p for p in command.params if p.name == "output")
    formats = saved if isinstance(saved, tuple) else saved.formats
    assert [kind for kind in (*TABLES, *PICTURES) if f".{kind}" in option.help] == list(formats)
    assert option.multiple


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (table.command, ["gelu"]),
        (names.command, ["gelu"]),
        (plot.command, ["gelu"]),
        (identify.command, ["numpy:tanh"]),
    ],
)
def test_another_extension_is_refused_in_one_line(
    command: click.Command, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, [*arguments, "-o", "x.xlsx"])
    assert "-o x.xlsx has the format .xlsx: expected ." in f"{result.exception}{result.stderr}"
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_command_writes_several_files_and_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["gelu", "--at", "1", "-o", "a.json", "-o", "a.csv"]
    result = CliRunner().invoke(table.command, arguments)
    assert result.stderr == "Wrote a.json\nWrote a.csv\n"
    assert result.stdout.startswith("x ")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").startswith("x,function,quantity,value")


def test_a_full_disk_loses_neither_the_old_file_nor_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("old", encoding="utf-8")

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    result = CliRunner().invoke(table.command, ["gelu", "--at", "1", "-o", "a.json"])
    assert isinstance(result.exception, OSError)
    assert result.stdout.startswith("x ")
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("name", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_a_record_prints_in_every_encoding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding=name)
    monkeypatch.setattr("sys.stdout", output)
    grid = Grid("p ≥ 0.05", ("φ", "×"), (("✓", "±1"), ("abc", "2")))
    print(grid)
    output.flush()
    shown = output.buffer.getvalue().decode(name)  # type: ignore[attr-defined]
    title, _, header, rule, *_ = shown.splitlines()
    assert title == ("p ≥ 0.05" if name == "utf-8" else "p >= 0.05")
    assert len(header) == len(rule)


def test_every_replacement_is_ascii() -> None:
    assert all(text.isascii() for text in encoding.ASCII.values())
    assert encoding.printable("a\udcffb", "utf-8") == "a\\udcffb"
