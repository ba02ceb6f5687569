"""`softgate report`: output file, failed studies, exit codes, records."""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

import pytest
import report_records
from click.testing import CliRunner, Result

import softgate as sg
from softgate import reporting
from softgate.cli import report as cli
from softgate.records.packages import require
from softgate.reporting import MissingRecord, Results
from softgate.reporting.sections.curves import curves
from softgate.studies.bench.record import Bench


def light(run: Any) -> Any:
    return curves([sg.activations()["gelu"], *run.formulas])


def broken(run: Any) -> Any:
    raise RuntimeError("the <machine> is on fire")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.command, arguments, standalone_mode=False)


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(reporting, "STUDIES", request.param)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("no/such/folder/x.html", "there is no folder"),
        ("page.txt", "page.txt has the format .txt: expected .html or .json"),
    ],
)
def test_unwritable_output_is_reported_before_any_study(
    output: str, expected: str, tmp_path: Path
) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "softgate", "report", "-o", output],
        capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert expected in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--budget", "0"), "--budget 0"),
        (("--formula", "json:dumps"), "softgate.activation"),
        (("--records", "nowhere"), "nowhere"),
        (("--formula", "gelu"), "the formula gelu: another function on the page has that name"),
    ],
)
def test_wrong_options_are_reported_before_any_study(
    arguments: tuple[str, ...], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reporting, "STUDIES", {"curves": broken})
    result = invoke(*arguments)
    assert expected in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("studies", [{"curves": light, "speed": broken}], indirect=True)
def test_failed_study_is_reported_and_the_page_is_written(studies: None, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    result = invoke("-o", str(file))
    assert result.exception is None
    assert result.return_value == 0
    lines = result.stderr.splitlines()
    assert "Failed: speed: RuntimeError: the <machine> is on fire" in lines
    assert [line.split()[-1] for line in lines[:2]] == ["curves", "speed"]
    assert lines[-2].startswith(f"Wrote {file}")
    assert result.stdout.startswith("1. ")
    text = file.read_text(encoding="utf-8")
    assert "the &lt;machine&gt; is on fire" in text
    assert '<div class="chart" id="curves-value"' in text
    assert list(tmp_path.iterdir()) == [file]


def without_a_package(run: Any) -> Any:
    require("ray", purpose="a trial")


@pytest.mark.parametrize(
    "studies",
    [{"curves": light, "accuracy": without_a_package, "approximation": broken}],
    indirect=True,
)
def test_a_study_whose_package_is_missing_is_skipped(
    studies: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    result = invoke("-o", str(tmp_path / "report.html"))
    assert result.return_value == 0
    skipped = 'accuracy: a trial needs Ray: pip install "softgate[ray]"'
    assert f"Skipped: {skipped}" in result.stderr.splitlines()
    assert "Failed: approximation: RuntimeError" in result.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<strong>Skipped.</strong> {escape(skipped)}" in text
    assert text.count("<strong>Skipped.</strong>") == 1


@pytest.mark.parametrize("studies", [{"curves": broken, "speed": broken}], indirect=True)
def test_exit_code_1_if_every_study_fails(studies: None, tmp_path: Path) -> None:
    result = invoke("-o", str(tmp_path / "report.html"))
    assert result.return_value == 1


def needing(run: Any) -> Any:
    return run.take("speed", Bench)


@pytest.mark.parametrize("studies", [{"speed": broken, "pareto": needing}], indirect=True)
def test_study_that_needs_a_failed_one(studies: None) -> None:
    made = sg.report()
    missing = {item.study: item.reason for item in made.missing}
    assert missing["pareto"] == "needs speed: RuntimeError: the <machine> is on fire"
    assert "Unknown: " in str(made) or "not run" in str(made)


@pytest.mark.parametrize("studies", [{"curves": light}], indirect=True)
def test_users_formula_is_on_the_page(
    studies: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import softgate as sg\n\n@sg.activation\ndef bend(f, x):\n    return x * f.tanh(x)\n"
    (tmp_path / "my_own_bends.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    result = invoke("--formula", "my_own_bends:bend", "-o", "page.html")
    assert result.exception is None
    assert 'data-name="bend"' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_saved_records_give_the_same_page(tmp_path: Path) -> None:
    made = reporting.Report(report_records.results())
    assert set(made.to_dict()) == set(reporting.RECORDS) - {"formulas"}
    made.save(tmp_path / "report.json")
    again = reporting.read(tmp_path / "report.json")
    assert again.missing == ()
    for section, other in zip(made.sections, again.sections, strict=True):
        assert section.body_html == other.body_html or section.id == "playground"
    assert str(again) == str(made)


def test_unreadable_record_shows_a_message_in_its_section(tmp_path: Path) -> None:
    made = reporting.Report(report_records.results())
    file, records = tmp_path / "report.json", made.to_dict()
    records["speed"]["version"] = 99
    records["layer"] = {"schema": "softgate.lay"}
    records["accuracy"] = [1, 2]
    del records["articles"]
    records["curves"]["functions"] = 3
    file.write_text(json.dumps(records), encoding="utf-8")
    sections = {section.id: section for section in reporting.read(file).sections}
    failed = {name for name, section in sections.items() if section.failed}
    assert failed == {"speed", "layer", "accuracy", "tables", "curves"}
    assert "version 99: expected softgate.bench" in sections["speed"].body_html
    assert "is not a record" in sections["accuracy"].body_html
    assert "it is not in" in sections["tables"].body_html
    assert "Unknown: " in sections["answer"].body_html
    assert "<svg" in reporting.read(file).html


def test_a_file_that_is_not_a_report_is_refused(tmp_path: Path) -> None:
    for text in ("[1", "[]", "{}", '{"schema": "softgate.table"}', "[" * 100_000):
        (tmp_path / "x.json").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"x\.json is not the \.json file of a report"):
            reporting.read(tmp_path / "x.json")


@pytest.mark.parametrize("studies", [{"curves": light}], indirect=True)
def test_json_on_stdout_and_in_a_file(
    studies: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("--json", "-o", "page.json")
    printed = json.loads(result.stdout)
    assert printed == json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert printed["curves"]["schema"] == "softgate.report.curves"
    assert [file.name for file in tmp_path.iterdir()] == ["page.json"]


def test_report_without_records_is_empty() -> None:
    assert reporting.Report(Results({"curves": MissingRecord("curves", "no")})).empty
    assert not reporting.Report(report_records.results()).empty


def test_report_is_a_function_after_importing_a_submodule() -> None:
    script = (
        "import softgate.reporting.page, softgate as sg, inspect;"
        "assert inspect.isfunction(sg.report)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)
