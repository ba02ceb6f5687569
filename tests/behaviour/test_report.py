"""`report`: the page of saved records, its first lines, and what it must not contain."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from golden import check_golden
from places import TESTS

pytest.importorskip("vl_convert", reason="draws charts")

RECORDS = TESTS / "behaviour" / "report.json"
"""The records of a report with made-up times, without that of the Pareto front."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Page(HTMLParser):
    """The tables of each section, and every address that an element or a style loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[dict[str, Any]] = []
        self.loaded: list[str] = []
        self._cell: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a section, table, row or cell, and collect what is loaded."""
        values = dict(attrs)
        if tag == "section" and values.get("id"):
            self.sections.append({"id": values["id"], "tables": []})
        elif tag == "table":
            self.sections[-1]["tables"].append([])
        elif tag == "tr":
            self.sections[-1]["tables"][-1].append([])
        elif tag in ("td", "th"):
            self._cell = []
        names = ("src", "srcset", "poster", "data", *(("href",) if tag == "link" else ()))
        for name in names:
            if not str(values.get(name) or "data:").startswith("data:"):
                self.loaded.append(f"{tag} {name}={values[name]}")

    def handle_data(self, data: str) -> None:
        """Collect the text of a cell, and what a style loads."""
        if self._cell is not None:
            self._cell.append(data)
        if self.get_starttag_text() == "<style>":
            self.loaded += re.findall(r"(?:url\(|@import\s+)[\"']?(?!#|data:)([^\"')\s]+)", data)

    def handle_endtag(self, tag: str) -> None:
        """Complete a cell or a row."""
        if tag in ("td", "th") and self._cell is not None:
            self.sections[-1]["tables"][-1][-1].append(" ".join(" ".join(self._cell).split()))
            self._cell = None
        elif tag == "tr":
            row = self.sections[-1]["tables"][-1].pop()
            self.sections[-1]["tables"][-1].append(" | ".join(row))


def test_the_page_of_records(folder: Path, run_here: Callable[..., Any]) -> None:
    done = run_here("report", "--records", str(RECORDS), "-o", "page.html", "-o", "again.json")
    assert done.returncode == 0
    records = json.loads(RECORDS.read_text(encoding="utf-8"))
    assert json.loads(Path("again.json").read_text(encoding="utf-8")) == records
    text = Path("page.html").read_text(encoding="utf-8")
    page = Page(text)
    check_golden("report-tables", page.sections)
    assert page.loaded == []
    assert "default-src 'none'" in text
    assert "pareto" in done.stderr  # the record that the file lacks


def test_the_answers_have_the_numbers_of_their_records(
    folder: Path, run_here: Callable[..., Any]
) -> None:
    records = json.loads(RECORDS.read_text(encoding="utf-8"))
    times = {
        (row["function"], row["implementation"]): row["least_ns"]
        for row in records["speed"]["rows"]
        if row["quantity"] == "value"
    }
    # a third candidate for the first answer, slower than silu and gelu
    for study in ("properties", "curves"):
        rows = records[study]["functions"]
        (gelu,) = (row for row in rows if row.get("function", row.get("name")) == "gelu")
        rows.append(gelu | {key: "mish" for key in ("function", "name", "label") if key in gelu})
    for row in [row for row in records["speed"]["rows"] if row["function"] == "gelu"]:
        slower = {"function": "mish", "least_ns": 9.0, "median_ns": 9.0}
        records["speed"]["rows"].append(row | slower)
    Path("made.json").write_text(json.dumps(records), encoding="utf-8")
    printed = run_here("report", "--records", "made.json", "-o", "page.html").stdout
    lines = re.split(r"(?m)^\d\. ", printed)[1:]
    cheapest, layer, element, approximate, exact = (" ".join(line.split()) for line in lines)

    assert 0 < cheapest.index("silu") < cheapest.index("gelu")
    assert "mish" not in cheapest
    shares = {p["function"]: p["small_slope_share"] for p in records["properties"]["functions"]}
    for name in ("silu", "gelu", "relu"):
        assert f"{100 * shares[name]:.1f} %" in cheapest
    assert f"{len(records['training']['seeds'])} seeds" in cheapest
    assert "better" not in cheapest  # 5 seeds cannot show that

    for row in records["layer"]["rows"]:
        if (row["implementation"], row["phase"], row["kind"]) == ("softgate", "step", "plain"):
            share = 100 * row["activation_ns"] / row["whole_ns"]
            assert f"{share:.1f} % ({row['activation']})" in layer

    for implementation in ("softgate", "torch"):
        assert f"{times['gelu', implementation]:.2f} ns" in element
        ratio = times["gelu_tanh", implementation] / times["gelu", implementation]
        assert f"{ratio:.2f} × in {implementation}" in approximate
    assert "jax" not in element  # which is not the fastest
    assert f"{times['gelu', 'softgate'] / times['relu', 'softgate']:.1f} × relu" in element
    form = next(f for f in records["approximation"]["functions"] if f["name"] == "gelu_tanh")
    assert f"{1e4 * form['largest']:.2f} · 10^−4 (at x = ±{form['largest_at']:.2f})" in approximate

    for certified in records["accuracy"]["certified"]:
        (measurement,) = certified["certificate"]["measurements"]
        (region,) = measurement["regions"]
        if certified["implementation"] == "softgate":
            assert f"at most {region['max_ulp']:.2f} ulp" in exact
        else:
            assert f"off by {region['max_ulp']:,.0f} ulp at x = −{-region['worst']:g}" in exact


def test_a_record_of_another_version_is_named_in_its_section(
    folder: Path, run_here: Callable[..., Any]
) -> None:
    records = json.loads(RECORDS.read_text(encoding="utf-8"))
    records["speed"]["version"] = 99
    Path("newer.json").write_text(json.dumps(records), encoding="utf-8")
    done = run_here("report", "--records", "newer.json", "-o", "page.html")
    assert done.returncode == 0
    assert "speed" in done.stderr
    assert "99" in done.stderr
    assert "99" in Path("page.html").read_text(encoding="utf-8")


def test_a_page_without_any_record_fails(folder: Path, run_here: Callable[..., Any]) -> None:
    Path("damaged.json").write_text('{"speed": {}, "training": 5}', encoding="utf-8")
    done = run_here("report", "--records", "damaged.json", "-o", "page.html")
    assert done.returncode == 1
    assert "speed" in done.stderr
    assert "training" in done.stderr
    assert Page(Path("page.html").read_text(encoding="utf-8")).loaded == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--records", "nowhere.json"), "nowhere.json"),
        (("--records", "other.json"), "other.json"),
        (("--budget", "0"), "0"),
        (("--budget", "inf"), "inf"),
        (("--model", "models.py:make"), "--data"),
        (("--formula", "nowhere.py:f"), "nowhere.py"),
        (("-o", "page.txt"), "page.txt"),
    ],
)
def test_mistakes_measure_nothing(
    arguments: tuple[str, ...], named: str, folder: Path, run_here: Callable[..., Any]
) -> None:
    Path("other.json").write_text('{"schema": "softgate.table"}', encoding="utf-8")
    done = run_here("report", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert [file.name for file in folder.iterdir()] == ["other.json"]
