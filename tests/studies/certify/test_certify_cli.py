"""`softgate certify`: gates, baselines, pages, and one line for a mistake."""

from __future__ import annotations

import csv
import io
import json
import os
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NoReturn

import faulty
import pytest
from certifying import QUICK, Run, certify_in

import softgate as sg
from softgate.studies.certify.record import Certificate


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command in an empty folder."""
    return certify_in(tmp_path, monkeypatch, capsys)


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


def test_a_quantity_that_was_asked_for_must_be_measured(run: Run) -> None:
    """NumPy has no derivative: a gate on slopes must not pass for want of one."""
    few = ("--reference", "gelu", "--dtype", "float32", "--samples", "2000")
    code, out, err = run("faulty:without_negative_zero", *few, "--quantity", "value,slope")
    assert code == 1
    assert err.startswith("Failed: slope was not measured")
    assert "Not tested" in out
    assert run("faulty:without_negative_zero", *few)[0] == 0


def test_a_foreign_function_without_a_gate_is_only_reported(run: Run) -> None:
    code, out, err = run("faulty:without_negative_zero", "--reference", "gelu", *QUICK)
    assert (code, err) == (0, "")
    assert "f(-0.0) = 0.0, not -0.0" in out
    code, _, err = run(
        "faulty:without_negative_zero", "--reference", "gelu", *QUICK, "--max-ulp", "4"
    )
    assert code == 1
    assert "zeros of the wrong sign" in err


def test_a_finding_fails_without_a_gate(run: Run) -> None:
    code, out, err = run("faulty:other_shape", "--reference", "gelu", *QUICK)
    assert code == 1
    assert "wrong shape" in out
    assert "wrong shape" in err
    _, out, _ = run("faulty:other_shape", "--reference", "gelu", *QUICK, "--csv")
    (row,) = (row for row in csv.DictReader(io.StringIO(out)) if row["what"] == "finding")
    assert (row["dtype"], row["quantity"], row["name"]) == ("float32", "value", "wrong shape")
    assert row["detail"]


def test_json_is_a_baseline(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("faulty:right", "--reference", "gelu", *QUICK, "--json")
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


@pytest.fixture
def nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is wrong in what is known beforehand must not measure first."""

    def never(*_: object, **__: object) -> NoReturn:
        pytest.fail("something was measured")

    monkeypatch.setattr("softgate.studies.certify.certify", never)


@pytest.fixture(scope="module")
def baseline() -> dict[str, Any]:
    """A certificate of gelu as QUICK has it, as JSON holds it."""
    certificate = sg.certify(sg.gelu, dtype="float32", quantity="value", samples=2000)
    content: dict[str, Any] = json.loads(certificate.to_json())
    return content


@pytest.mark.usefixtures("nothing_is_computed")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seed", "1"), "--samples 2000 and with --seed 0"),
        (("--samples", "3000"), "--samples 2000 and with --seed 0"),
        (("--exhaustive",), "leave out --exhaustive"),
        (("--reference", "gelu_tanh"), "measured as gelu, this would be as gelu_tanh"),
    ],
    ids=" ".join,
)
def test_a_baseline_of_other_inputs_is_refused(
    run: Run, tmp_path: Path, baseline: dict[str, Any], arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "old.json").write_text(json.dumps(baseline))
    code, out, err = run("softgate:gelu", *QUICK, "--baseline", "old.json", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.usefixtures("nothing_is_computed")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 1}, "certificate version 1: expected"),
        ({"schema": "softgate.table"}, "softgate.table version 2: expected"),
        ({"measurements": [1]}, "Measurement was given int"),
        ({"versions": [1]}, "is not a certificate"),
        ({"function": "bent"}, "measured as bent"),
        (None, "is not a certificate"),
    ],
    ids=str,
)
def test_what_is_no_baseline_is_refused(
    run: Run, tmp_path: Path, baseline: dict[str, Any], changes: dict[str, Any] | None, message: str
) -> None:
    text = "{" if changes is None else json.dumps(baseline | changes)
    (tmp_path / "old.json").write_text(text)
    code, out, err = run("faulty:right", *QUICK, "--baseline", "old.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_what_the_baseline_does_not_have_is_said(
    run: Run, tmp_path: Path, baseline: dict[str, Any]
) -> None:
    (tmp_path / "old.json").write_text(json.dumps(baseline))
    more = ("--dtype", "float16,float32", *QUICK[2:], "--baseline", "old.json")
    code, _, err = run("softgate:gelu", *more)
    assert (code, err) == (0, "Not compared, as old.json does not have it: float16 value\n")


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
    code, _, err = run("faulty:early_zero", "--reference", "gelu", *arguments, "-o", "page.html")
    assert (code, err) == (0, "Wrote page.html\n")
    page = Page()
    page.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert page.loads == []
    assert page.tags.count("svg") == 2
    assert "script" not in page.tags


def test_the_picture_shows_the_error_where_it_is() -> None:
    certificate = sg.certify(
        faulty.early_zero,
        "gelu",
        dtype="float32",
        quantity="value",
        samples=20_000,
        isolated=False,
    )
    profile = certificate.find("value", "float32").profile
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
    ("arguments", "message"),
    [
        (("softgate:gleu",), "gelu"),
        (("nosuchmodule:f", "--reference", "gelu"), "nosuchmodule"),
        (("faulty:nosuch", "--reference", "gelu"), "nosuch"),
        (("none.onnx", "--reference", "gelu"), "none.onnx"),
        (("./none.so:gelu_f32", "--reference", "gelu"), "none.so"),
        (("numpy:sin",), "--reference"),
        (("faulty:right", "--reference", "gleu"), "gelu"),
        (("softgate:gelu", "--dtype", "float8"), "float8"),
        (("softgate:gelu", "--parameters", "approximate"), "NAME=VALUE"),
        (("softgate:gelu", "--parameters", "alpha=1"), "alpha"),
        (("softgate:gelu", "--max-ulp", "-1"), "--max-ulp"),
        (("softgate:gelu", "--baseline", "none.json"), "none.json"),
        (("softgate:gelu", "-o", "no/such/page.html"), "no/such"),
        ((), "FUNCTION"),
        (("softgate:gelu", "--wat"), "--wat"),
        (("softgate:gelu", "gelu"), "unexpected extra argument"),
        (("softgate:gelu", "--samples", "many"), "many"),
        (("softgate:gelu", "--seed", "-1"), "seed = -1"),
        (("softgate:gelu", "--state", "state.json"), "--exhaustive"),
        (("softgate:gelu", "--exhaustive", "--state", "no/such/s.json"), "no folder no/such"),
        (("softgate:gelu", "--exhaustive", "--dtype", "float64,float16"), "--exhaustive"),
        (("softgate:gelu", "--exhaustive", "--quantity", "curvature"), "--exhaustive"),
        (("softgate:elu:0.5",), "expected a name (gelu, elu:alpha=0.5)"),
        (("elu:0.5",), "write elu:parameter=value"),
        (("softgate:elu:alpha=x",), "alpha = 'x' is a str: expected a real number"),
        (("softgate:elu:alpha=1", "--parameters", "alpha=1"), "twice"),
        (("faulty:right", *QUICK, "--reference", "gelu", "--parameters", "nokw=3"), "nokw"),
        (("faulty:wants_tensors", *QUICK, "--reference", "relu"), "--framework torch"),
        *((("softgate:gelu", "--time-limit", t), "positive") for t in ("nan", "0", "-1")),
    ],
    ids=" ".join,
)
def test_mistakes_are_one_line_and_nothing_is_written(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(*arguments, *(() if "-o" in arguments else ("-o", "page.html")))
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--baseline", "--state"])
def test_a_file_that_is_nested_or_never_ends_is_refused(
    run: Run, tmp_path: Path, option: str
) -> None:
    more = ("--exhaustive",) if option == "--state" else ()
    (tmp_path / "deep.json").write_text("[" * 200_000, encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.json")
    for file in ("deep.json", "pipe.json"):
        code, out, err = run("softgate:relu", option, file, *more)
        assert (code, out) == (2, "")
        assert err.splitlines()[-1].startswith("Error: ")
        assert file in err


def test_a_parameter_is_written_as_it_is_shown(run: Run) -> None:
    code, out, _ = run("softgate:elu:alpha=0.5", *QUICK)
    assert code == 0
    assert out.startswith("softgate:elu:alpha=0.5 measured as elu:alpha=0.5\n")


def test_the_help_names_every_form_of_a_subject(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for form in ("elu:alpha=0.5", "torch.nn.functional.gelu", "module:function", "file.py:function",
                 "class", "model.onnx:node", ".so:"):  # fmt: skip
        assert form in out
