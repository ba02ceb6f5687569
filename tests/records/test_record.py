"""Records as dictionaries, data frames and files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner

import softgate as sg
from softgate.cli import identify, names, plot, table
from softgate.records import text as printable_text
from softgate.records.files import PICTURES, TABLES
from softgate.records.record import Grid, Record

RECORDS = {
    "table": "softgate.studies.table:Table",
    "properties": "softgate.studies.properties.record:PropertyTable",
    "names": "softgate.runtime.name_table:Names",
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


@dataclass(frozen=True)
class Inner:
    count: int
    pair: tuple[str, float]


@dataclass(frozen=True)
class Sample(Record):
    schema = "softgate.sample"
    number: float
    maybe: float | None
    kind: Literal["a", "b"]
    inner: tuple[Inner, ...]
    more: Mapping[str, float | int | str | bool | None]


def test_every_type_of_a_record_is_restored() -> None:
    more = {"f": 0.5, "i": 3, "t": "text", "b": True, "n": None, "inf": math.inf}
    sample = Sample(math.nan, None, "a", (Inner(1, ("x", 2.0)),), more)
    restored = Sample.from_json(sample.to_json())
    assert (restored.to_json(), restored.more) == (sample.to_json(), more)
    assert [type(value) for value in restored.more.values()] == [type(v) for v in more.values()]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("number", '"0.5"', "number: '0.5': expected float"),
        ("number", "true", "number: True: expected float"),
        ("number", str(10**400), "number: 1000.*: expected float"),
        ("number", "NaN", "NaN is not JSON"),
        ("number", "[" * 100_000, "nested too deeply"),
        ("maybe", '"x"', "maybe: 'x': expected float"),
        ("maybe", "[]", r"maybe: \[\]: expected float"),
        ("kind", '"c"', "kind: 'c': expected Literal"),
        ("kind", "null", "kind: None: expected Literal"),
        ("inner", "{}", r"inner: \{\}: expected tuple"),
        ("inner", "[3]", "inner: Inner was given int"),
        ("inner", '[{"count": 1.5, "pair": ["x", 1]}]', "count: 1.5: expected int"),
        ("inner", '[{"count": 1, "pair": ["x"]}]', "pair: .*has 1 items: expected 2"),
        ("more", '{"x": [1]}', "more: .*expected float | int | str"),
        ("version", "2", "version 2: expected softgate.sample version 1; install a later"),
    ],
)
def test_a_value_of_another_type_raises_value_error(field: str, value: str, message: str) -> None:
    fields = json.loads(Sample(1.0, 2.0, "b", (), {}).to_json())
    text = "{" + ",".join(
        f'"{name}": {value if name == field else json.dumps(content)}'
        for name, content in fields.items()
    ) + "}"  # fmt: skip
    with pytest.raises(ValueError, match=message):
        Sample.from_json(text)


def test_every_replacement_is_ascii() -> None:
    assert all(text.isascii() for text in printable_text.ASCII.values())
    assert printable_text.printable("a\udcffb", "utf-8") == "a\\udcffb"
