"""The report's section on units: networks that learn digits, or the user's model."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import diagnosed
import numpy as np
import pytest
from click.testing import CliRunner, Result

import softgate as sg
from softgate import reporting
from softgate.cli import report as cli
from softgate.reporting import Results, Section, render_page
from softgate.reporting.sections import build_section
from softgate.reporting.sections.units import (
    NetworkDiagnosis,
    UnitStudy,
    load_user_model,
    most_used,
    units,
)
from softgate.studies.diagnose.record import Diagnosis
from softgate.studies.models.record import Scan, ScannedActivation

HOSTILE = "</script><script>alert('x')</script><b>"


def section(*seen: Diagnosis) -> Section:
    watched = tuple(NetworkDiagnosis(f"network {i}", each) for i, each in enumerate(seen))
    return build_section("units", Results({"units": UnitStudy("about", watched, ())}))


def labels(made: Section) -> dict[str, str]:
    """Return the text alternative of each chart by its id."""
    return dict(re.findall(r'class="chart" id="([^"]+)" role="img" aria-label="([^"]*)"',
                           made.body_html))  # fmt: skip


def test_section_shows_the_record() -> None:
    made = build_section("units", Results({"units": diagnosed.study()}))
    texts = labels(made)
    assert list(texts) == [
        f"units-{number}-{kind}"
        for kind in ("outputs", "units", "deaths", "gradients") for number in (0, 1)
    ]  # fmt: skip
    assert set(texts) == set(made.charts)
    assert "dead units: 2 at site 1, 5 at site 3" in texts["units-0-units"]
    assert "dead units: none" in texts["units-1-units"]
    assert "3 from 0 to 5 of 8" in texts["units-0-deaths"]
    assert "not finite at step 7" in texts["units-0-outputs"]
    assert "1 has 2 dead units" in made.body_html
    assert "<code>softgate properties relu</code>" in made.body_html
    assert "90.0 % test accuracy" in made.body_html
    assert "the loss: 0.5 → 0.75" in made.body_html
    marks = [
        layer for layer in made.charts["units-0-units"]["layer"] if "text" in layer["encoding"]
    ]
    assert [value["text"] for value in marks[0]["data"]["values"]] == ["2 dead", "5 dead"]


@pytest.mark.parametrize(
    ("diagnosis", "charts", "expected"),
    [
        (diagnosed.diagnosis(), 0, "0 activations, no problems found"),
        (diagnosed.diagnosis(diagnosed.site(moments=1, gradient=None)), 2,
         "1 activation, no problems found"),
        (diagnosed.diagnosis(diagnosed.site(units=4096, dead=1)), 4, "problems found: dead"),
        (diagnosed.exploding(), 4, "Crosses among gradients: 0 at layer.1.act"),
        (diagnosed.diagnosis(*(diagnosed.site(f"a.{i}", dead=1) for i in range(100))), 4,
         "And 97 more."),
    ],
    ids=["nothing", "one site", "4096 units", "exploding", "100 sites"],
)  # fmt: skip
def test_section_of_any_diagnosis(diagnosis: Diagnosis, charts: int, expected: str) -> None:
    made = section(diagnosis)
    assert not made.failed, made.body_html
    assert len(made.charts) == charts
    assert expected in made.body_html
    drawn = render_page([made], "t", "s")
    assert 'class="failed"' not in drawn
    assert drawn.partition("</main>")[0].count("<svg") == 2 * charts


def test_gradients_side_by_side_share_an_axis() -> None:
    seen = [diagnosed.diagnosis(diagnosed.site("1", gradient=norm)) for norm in (0.05, 5e-4)]
    made = section(*seen)
    for number in (0, 1):
        (line,) = made.charts[f"units-{number}-gradients"]["layer"]
        assert line["encoding"]["x"]["scale"]["domain"] == pytest.approx([1e-4, 0.1])


def test_hostile_names_are_escaped() -> None:
    sites = [diagnosed.site(HOSTILE + str(i), HOSTILE, dead=1, broken=True) for i in range(2)]
    network = NetworkDiagnosis(HOSTILE, diagnosed.diagnosis(*sites, model=HOSTILE))
    activation = ScannedActivation.of(
        HOSTILE, None, dtype=HOSTILE, operators=HOSTILE, elements=1, claim=HOSTILE
    )
    scan = Scan(HOSTILE, "torch", HOSTILE, HOSTILE, (activation,), (), (HOSTILE,))
    record = UnitStudy(HOSTILE, (network,), (diagnosed.what_if(HOSTILE),), (HOSTILE,), scan)
    drawn = render_page([build_section("units", Results({"units": record}))], "t", "s")
    assert 'class="failed"' not in drawn
    outside = re.sub(r"<script.*?</script>", "", drawn, flags=re.DOTALL)
    assert "<b>" not in outside
    assert "alert('x')" not in re.findall(r"<script[^>]*>(.*?)</script>", drawn, re.DOTALL)


def test_record_survives_json() -> None:
    record = diagnosed.study()
    assert UnitStudy.from_json(record.to_json()) == record
    assert str(record).count("site  function") == 2
    header, rows = record.table()
    assert header[:2] == ("network", "site")
    assert [row[0] for row in rows] == ["relu", "relu", "gelu", "gelu"]


@pytest.mark.parametrize("absent", ["torch", "sklearn"])
def test_missing_torch_or_scikit_learn_raises_with_the_extra(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ImportError, match=r'pip install "softgate\[compare\]"'):
        units(None)
    monkeypatch.setattr(reporting, "STUDIES", {"units": lambda run: units(run.model)})
    (missing,) = sg.report().missing
    made = build_section("units", Results({"units": missing}))
    assert made.failed
    assert "pip install &quot;softgate[compare]&quot;" in made.body_html


def test_most_used_counts_units_of_identified_functions() -> None:
    sites = [diagnosed.site("1", "relu", 4), diagnosed.site("2", "gelu", 8),
             diagnosed.site("3", "unknown", 99)]  # fmt: skip
    assert most_used(diagnosed.diagnosis(*sites)) == "gelu"
    assert most_used(diagnosed.diagnosis(sites[2])) is None


torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


MODEL = """
import torch
from torch import nn

def make():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 3))
    nn.init.constant_(model[0].bias[:4], -30.0)
    return model

def odd():
    return nn.Sequential(nn.Linear(5, 3), nn.ReLU())

def plain():
    return nn.Linear(4, 3)

def broken():
    raise RuntimeError("no weights here")
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with models and data."""
    (tmp_path / "units_models.py").write_text(MODEL, encoding="utf-8")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 4)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=rng.integers(0, 3, 300))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "units_models", raising=False)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.command, arguments, standalone_mode=False)


def never(run: Any) -> Any:
    raise AssertionError("a study ran before the mistake was reported")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--model", "units_models:make"), "give both"),
        (("--data", "data.npz"), "give both"),
        (("--model", "nowhere:make", "--data", "data.npz"), "there is no module 'nowhere'"),
        (("--model", "units_models:makes", "--data", "data.npz"), "has no 'makes'"),
        (("--model", "units_models:broken", "--data", "data.npz"), "no weights here"),
        (("--model", "units_models:make", "--data", "no.npz"), "there is no file"),
        (("--model", "units_models:odd", "--data", "data.npz"), "failed on data.npz"),
        (("--model", "units_models:make", "--data", "data.npz", "--records", "data.npz"), "omit"),
    ],
)
def test_wrong_models_are_reported_before_any_study(
    arguments: tuple[str, ...], expected: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "STUDIES", {"curves": never})
    result = invoke(*arguments)
    assert expected in str(result.exception), result.exception
    assert not (place / "report.html").exists()


def test_users_model_is_on_the_page_and_in_the_records(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "STUDIES", {"units": reporting.STUDIES["units"]})
    result = invoke(
        "--model", "units_models:make", "--data", "data.npz", "-o", "page.html", "-o", "page.json"
    )
    assert result.exception is None, result.exception
    text = (place / "page.html").read_text(encoding="utf-8")
    record = json.loads((place / "page.json").read_text(encoding="utf-8"))["units"]
    (watched,) = record["watched"]
    assert watched["title"] == "units_models:make"
    (site,) = watched["seen"]["sites"]
    assert (site["function"], site["inputs"], site["unit"]["dead"]) == ("gelu", 300, [0, 1, 2, 3])
    assert watched["seen"]["loss"] == "the loss"
    assert [item["replacement"] for item in record["replacements"]] == ["relu"]
    assert "Sequential with relu, without further training" in text
    assert "4 dead" in text
    assert [a["function"] for a in record["scan"]["activations"]] == ["gelu"]
    assert "units_models:make (torch): 1 gelu" in text
    again = reporting.read(place / "page.json")
    shown = {section.id: section for section in again.sections}["units"]
    assert not shown.failed
    assert "units_models:make" in shown.body_html


def test_python_takes_a_module_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "STUDIES", {"units": reporting.STUDIES["units"]})
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.SiLU())
    made = sg.report(model=model, data=[(torch.randn(50, 4), torch.randn(50, 8))] * 2)
    study = made.results.take("units", UnitStudy)
    assert study.scan is not None
    assert [(a.path, a.function, a.elements) for a in study.scan.activations] == [("1", "silu", 8)]
    assert study.watched[0].seen.sites[0].inputs == 100
    assert [item.replacement for item in study.replacements] == ["relu", "gelu"]
    assert not made.missing
    for wrong in ({"model": 3, "data": []}, {"model": model, "data": 3}):
        with pytest.raises(TypeError, match="expected a"):
            sg.report(**wrong)
    for half in ({"model": model}, {"data": []}, {"model": model, "data": []}):
        with pytest.raises(ValueError, match=r"give both|no batches"):
            sg.report(**half)


def test_model_without_activations(place: Path) -> None:
    loaded_model = load_user_model("units_models:plain", "data.npz")
    study = units(loaded_model)
    assert study.replacements == ()
    made = build_section("units", Results({"units": study}))
    assert "no activation was observed" in made.body_html


def test_batches_beyond_the_time_budget_are_left_out_with_a_note(place: Path) -> None:
    loaded_model = load_user_model("units_models:make", "data.npz", budget_s=1e-6)
    assert loaded_model is not None
    assert (loaded_model.limit, len(loaded_model.batches)) == (1, 10)
    study = units(loaded_model)
    assert study.watched[0].seen.steps == 1
    assert re.fullmatch(r"1 of 10 batches: all would take about \d+ s; .*", study.notes[0])
    assert "1 of 10 batches" in build_section("units", Results({"units": study})).body_html
    whole = load_user_model("units_models:make", "data.npz", budget_s=1e9)
    assert whole is not None
    assert replace(whole, loss=None).limit == 10


def test_digits_are_learnt_and_torch_state_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    from softgate.reporting.sections import units as digits

    monkeypatch.setattr(digits, "STEPS", 40)
    state, steps = torch.random.get_rng_state(), []
    torch.set_num_threads(2)
    study = units(None, lambda *step: steps.append(step))
    assert torch.get_num_threads() == 2
    assert torch.equal(torch.random.get_rng_state(), state)
    assert [step[0] for step in steps] == ["training with relu", "training with gelu"]
    for watched, function in zip(study.watched, ("relu", "gelu"), strict=True):
        assert [site.function for site in watched.seen.sites] == [function] * digits.LAYERS
        assert watched.seen.steps == 40
        assert watched.test_accuracy is not None
        assert watched.test_accuracy > 0.2  # guesses are right in a tenth
        assert pictured(watched.seen) == {"outputs", "units", "deaths", "gradients"}
    relu, gelu = (watched.seen for watched in study.watched)
    assert [finding.kind for finding in gelu.findings] == []
    assert "dead" in [finding.kind for finding in relu.findings]
    assert [(item.model, item.replacement) for item in study.replacements] == [
        ("network trained with relu", "gelu"), ("network trained with gelu", "relu"),
    ]  # fmt: skip
    assert all(
        effect.outputs_moved > 0 and effect.loss_before is not None for effect in study.replacements
    )


def pictured(seen: Diagnosis) -> set[str]:
    return {id.split("-")[2] for id in section(seen).charts}
