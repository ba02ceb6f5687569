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
    """The ids of sections, and every address that an element or a style loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the ids of sections, and what is loaded."""
        values = dict(attrs)
        if tag == "section" and values.get("id"):
            self.sections.append(str(values["id"]))
        names = ("src", "srcset", "poster", "data", *(("href",) if tag == "link" else ()))
        for name in names:
            if not str(values.get(name) or "data:").startswith("data:"):
                self.loaded.append(f"{tag} {name}={values[name]}")

    def handle_data(self, data: str) -> None:
        """Collect what a style loads."""
        if self.get_starttag_text() == "<style>":
            self.loaded += re.findall(r"(?:url\(|@import\s+)[\"']?(?!#|data:)([^\"')\s]+)", data)


def test_the_page_of_records(folder: Path, run_here: Callable[..., Any]) -> None:
    done = run_here("report", "--records", str(RECORDS), "-o", "page.html", "-o", "again.json")
    assert done.returncode == 0
    records = json.loads(RECORDS.read_text(encoding="utf-8"))
    assert json.loads(Path("again.json").read_text(encoding="utf-8")) == records
    text = Path("page.html").read_text(encoding="utf-8")
    page = Page(text)
    check_golden("report-sections", page.sections)
    assert page.loaded == []
    assert "default-src 'none'" in text
    assert "pareto" in done.stderr  # the record that the file lacks
    speed = {
        (row["function"], row["implementation"]): row["least_ns"]
        for row in records["speed"]["rows"]
        if row["quantity"] == "value"
    }
    first = " ".join(done.stdout.split())
    for implementation in ("softgate", "torch"):
        assert f"{speed['gelu', implementation]:.2f} ns" in first
    assert "1.70 ns" not in first  # of jax, which is not the fastest
    assert f"{speed['gelu', 'softgate'] / speed['relu', 'softgate']:.1f} × relu" in first
    seeds = len(records["training"]["seeds"])
    assert f"{seeds} seeds" in first
    assert "better" not in first  # 5 seeds cannot show that


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
