"""`softgate certify`: gates, baselines, pages, sweeps that go on, and one line for a mistake."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import faulty
import pytest

import softgate as sg
from softgate import cli
from softgate.certification import exhaustive
from softgate.certification.certificate import Certificate

Run = Callable[..., tuple[int, str, str]]
QUICK = ("--dtype", "float32", "--quantity", "value", "--samples", "2000")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command line in this process: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["softgate", "certify", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return command


def test_ours_pass(run: Run) -> None:
    code, out, err = run("softgate:gelu", *QUICK)
    assert (code, err) == (0, "")
    for words in ("measured as gelu", "left tail", "special values right", "Not tested", "arb"):
        assert words in out


def test_a_gate_says_region_and_input(run: Run) -> None:
    code, _, err = run("softgate:gelu", *QUICK, "--max-ulp", "0.6")
    assert code == 1
    first = err.splitlines()[0]
    assert first.startswith("Failed: float32 value, ")
    assert " ulp at " in first
    assert first.endswith("allowed 0.6")


def test_a_foreign_function_without_a_gate_is_only_reported(run: Run) -> None:
    code, out, err = run("faulty:without_negative_zero", "--as", "gelu", *QUICK)
    assert (code, err) == (0, "")
    assert "f(-0.0) = 0.0, not -0.0" in out
    code, _, err = run("faulty:without_negative_zero", "--as", "gelu", *QUICK, "--max-ulp", "4")
    assert code == 1
    assert "zeros of the wrong sign" in err


def test_a_finding_fails_without_a_gate(run: Run) -> None:
    code, out, err = run("faulty:other_shape", "--as", "gelu", *QUICK)
    assert code == 1
    assert "wrong shape" in out
    assert "wrong shape" in err


def test_json_is_a_baseline(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("faulty:right", "--as", "gelu", *QUICK, "--json")
    assert code == 0
    assert json.loads(out)["schema"] == "softgate.certificate"
    assert Certificate.from_json(out).find("value", "float32").max_ulp < 4
    (tmp_path / "old.json").write_text(out)
    code, _, err = run("faulty:right", *QUICK, "--baseline", "old.json")
    assert (code, err) == (0, "")
    code, _, err = run("faulty:early_zero", *QUICK, "--baseline", "old.json")
    assert code == 1
    assert "left tail: " in err
    assert "it was" in err


class Page(HTMLParser):
    """Counts what a page has, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "path", "rect"):
            self.open.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_stands_alone(run: Run, tmp_path: Path) -> None:
    arguments = ("--dtype", "float16,float32", "--quantity", "value", "--samples", "2000")
    code, _, err = run("faulty:early_zero", "--as", "gelu", *arguments, "--html", "page.html")
    assert (code, err) == (0, "Wrote page.html\n")
    page = Page()
    page.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert page.loads == []
    assert page.tags.count("svg") == 2
    assert "script" not in page.tags


def test_the_picture_shows_the_error_where_it_is() -> None:
    found = sg.certify(
        faulty.early_zero,
        "gelu",
        dtypes="float32",
        quantities="value",
        samples=20_000,
        isolated=False,
    )
    profile = found.find("value", "float32").profile
    assert len(profile.edges) == len(profile.max_ulp) + 1
    assert list(profile.edges) == sorted(set(profile.edges))
    large = [
        (low, high)
        for low, high, error in zip(profile.edges, profile.edges[1:], profile.max_ulp, strict=False)
        if error is not None and error > 1e6
    ]
    assert min(low for low, _ in large) >= -15
    assert max(high for _, high in large) <= -5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("softgate:gleu",), "gelu"),
        (("nosuchmodule:f", "--as", "gelu"), "nosuchmodule"),
        (("faulty:nosuch", "--as", "gelu"), "nosuch"),
        (("none.onnx", "--as", "gelu"), "none.onnx"),
        (("./none.so:gelu_f32", "--as", "gelu"), "none.so"),
        (("numpy:sin",), "--as"),
        (("faulty:right", "--as", "gleu"), "gelu"),
        (("softgate:gelu", "--dtype", "float8"), "float8"),
        (("softgate:gelu", "--with", "approximate"), "NAME=VALUE"),
        (("softgate:gelu", "--with", "alpha=1"), "alpha"),
        (("softgate:gelu", "--max-ulp", "-1"), "--max-ulp"),
        (("softgate:gelu", "--baseline", "none.json"), "none.json"),
        (("softgate:gelu", "--html", "no/such/page.html"), "no/such"),
    ],
    ids=" ".join,
)
def test_mistakes_are_one_line_and_nothing_is_written(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = run(*arguments, *(() if "--html" in arguments else ("--html", "page.html")))
    assert (code, out) == (2, "")
    assert said in err
    lines = [line for line in err.splitlines() if line and not line.startswith(("Usage", "Try"))]
    assert len(lines) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps over the first patterns only, in four rounds."""
    monkeypatch.setattr(exhaustive, "INPUTS", 1 << 22)
    monkeypatch.setattr(exhaustive, "ROUND", 1 << 20)
    monkeypatch.setattr(exhaustive, "BLOCK", 1 << 18)


@pytest.mark.usefixtures("small_sweeps")
def test_an_interrupted_sweep_goes_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("softgate:gelu", *QUICK[:4], "--samples", "2000", "--exhaustive", "--json")
    code, whole, _ = run(*arguments)
    assert code == 0
    assert list(tmp_path.iterdir()) == []
    started: list[int] = []
    measure = exhaustive.Meter.measure

    def interrupted(meter: exhaustive.Meter, first: int, y: object) -> None:
        started.append(first)
        if first >= 1 << 21:
            raise KeyboardInterrupt
        measure(meter, first, y)  # type: ignore[arg-type]

    monkeypatch.setattr(exhaustive.Meter, "measure", interrupted)
    code, out, err = run(*arguments)
    assert (code, out) == (130, "")
    assert "goes on from here" in err
    (state,) = tmp_path.iterdir()
    assert json.loads(state.read_text())["sweeps"]["float32 value"]["done"] == 1 << 21
    started.clear()
    monkeypatch.setattr(exhaustive.Meter, "measure", measure)
    code, again, err = run(*arguments)
    assert code == 0
    assert "Going on from" in err
    assert again == whole
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_sweeps")
def test_progress_says_how_long(run: Run) -> None:
    _, _, err = run("softgate:gelu", *QUICK[:4], "--samples", "2000", "--exhaustive")
    lines = err.splitlines()
    assert lines[-1] == "float32 value: 100 %, 0 s left"
    assert any(" s left" in line for line in lines)


@pytest.mark.usefixtures("small_sweeps")
def test_another_sweeps_state_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"key": {"subject": "another"}, "sweeps": {}}')
    arguments = ("softgate:gelu", *QUICK, "--exhaustive", "--state", "state.json")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "another" in err
    (tmp_path / "state.json").write_text("nonsense")
    code, _, err = run(*arguments)
    assert code == 2
    assert "no state of a sweep" in err
