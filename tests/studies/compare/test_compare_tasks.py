"""Every task: descriptions, invalid settings, reproducible trials."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from compare_trials import SMALL, run, small, trial

from softgate.studies.compare.splits import Data, split, standardised
from softgate.studies.compare.tasks import Task, task, tasks
from softgate.studies.compare.tasks.task import Option
from softgate.studies.compare.trial import Outcome, TrainingResult, Trial, TrialEnvironment

pytestmark = pytest.mark.usefixtures("one_torch_thread")
FILED = {"mnist", "fashion-mnist"}


def test_every_task_without_files_has_a_small_form() -> None:
    assert set(tasks()) - FILED == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_a_trial_gives_the_same_bits_again_also_after_pickling(name: str) -> None:
    chosen = small(name)
    request = trial(chosen, seed=3)
    torch.manual_seed(1)
    first, times = chosen.trial_function()(request, lambda step, steps, loss: None)
    check_measured_in_full(request, first, times)
    torch.manual_seed(2)  # nothing outside of a trial decides it, and a trial changes nothing
    state = torch.get_rng_state()
    again = run(pickle.loads(pickle.dumps(chosen)), seed=3)
    assert again == first
    assert torch.equal(torch.get_rng_state(), state)
    assert run(chosen, seed=4).curve != first.curve


def check_measured_in_full(request: Trial, measured: TrainingResult, times: list[float]) -> None:
    """Check what was measured in a trial, and that it survives JSON."""
    assert measured.score is not None
    assert measured.loss is not None
    assert measured.validation_score == measured.curve[-1].validation_score
    assert [p.step for p in measured.curve][-1] == measured.steps == len(times)
    assert measured.parameters > 0
    assert measured.flops
    assert measured.dead is not None
    assert all(site.gradient for site in measured.sites)
    place = TrialEnvironment("here", "cpu", 1, "3", "2", "0")
    outcome = Outcome(request, "finished", "", measured, None, 1.0, place)
    read = Outcome.from_json(outcome.to_json())
    assert read == outcome
    assert read.trial.key == request.key


@pytest.mark.parametrize("name", SMALL)
def test_a_tuning_trial_never_sees_test_data(name: str) -> None:
    chosen = small(name)
    data = chosen.load()
    hidden = Data(data.train, data.validation, None, data.outputs)  # type: ignore[arg-type]
    quiet: Any = lambda step, steps, loss: None  # noqa: E731
    measured, _ = chosen.run(hidden, trial(chosen, role="tuning"), quiet)
    assert measured.score is None
    assert measured.loss is None
    assert measured.validation_loss is not None
    with pytest.raises(AttributeError):
        chosen.run(hidden, trial(chosen), quiet)


@pytest.mark.parametrize("name", SMALL)
def test_parts_share_no_example_and_are_the_same_each_time(name: str) -> None:
    chosen = small(name)
    data, again = chosen.load(), chosen.load()
    parts = [data.train, data.validation, data.test]
    assert torch.equal(data.test.x, again.test.x)
    assert min(map(len, parts)) > 0
    if name in ("digits", "mnist1d"):
        rows = [{row.numpy().tobytes() for row in part.x} for part in parts]
        assert not rows[0] & rows[1]
        assert not (rows[0] | rows[1]) & rows[2]
        shares = [torch.bincount(part.y, minlength=10) / len(part) for part in parts]
        assert torch.allclose(shares[0], shares[1], atol=0.01)
        assert data.train.x.mean(0).abs().max() < 1e-5
        spread = data.train.x.std(0, correction=0)
        assert torch.all((spread - 1).abs().lt(1e-4) | spread.eq(0))


@pytest.mark.parametrize("name", tasks())
def test_a_task_is_described_without_being_run(name: str) -> None:
    known = tasks()[name]
    assert known.name == name
    assert known.rates == tuple(sorted(known.rates))
    assert set(known.settings) == set(known.options)
    for option_name, option in known.options.items():
        assert option.about
        assert option.default is None or option.read(option_name, option.default) == option.default


@pytest.mark.parametrize("name", SMALL)
def test_arms_conditions_and_descriptions(name: str) -> None:
    chosen = task(name)
    assert chosen.describe()
    assert "\n" not in chosen.describe()
    labels = [label for label, _, _ in chosen.arms(["gelu", "relu"])]
    assert labels == (["gelu", "relu", "gelu→relu"] if name == "swap" else ["gelu", "relu"])
    conditions = [label for label, _ in chosen.conditions]
    depths = ["layers=8", "layers=16", "layers=32", "layers=48"]
    assert conditions == (depths if name == "deep" else [""])


def test_lists_of_settings_make_conditions() -> None:
    chosen = task("digits", settings={"dropout": [0, 0.5], "layers": "2,8"})
    assert chosen.conditions[1] == ("layers=2, dropout=0.5", {"layers": 2, "dropout": 0.5})
    assert len(chosen.conditions) == 4
    assert task("digits", settings={"init": "he,fitted"}).conditions[1][0] == "init=fitted"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("digit", {}, "did you mean 'digits'"),
        ("digits", {"epoch": 3}, "unknown setting of digits 'epoch'; did you mean 'epochs'"),
        ("digits", {"epochs": "many"}, "epochs = 'many': expected a whole number"),
        ("digits", {"epochs": 2.5}, "epochs = 2.5: expected a whole number"),
        ("digits", {"epochs": 0}, "epochs = 0: expected at least 1"),
        ("digits", {"epochs": True}, "epochs = True: expected a whole number"),
        ("digits", {"dropout": 1}, "expected at most 0.99"),
        ("digits", {"dropout": "nan"}, "dropout = 'nan': expected a number"),
        ("digits", {"layers": "8,8"}, "several different ones"),
        ("digits", {"layers": []}, "expected one value"),
        ("digits", {"init": "her"}, "unknown value of init 'her'; did you mean 'he'"),
        ("digits", {"same": "time"}, "needs seconds"),
        ("text", {"width": 10}, "width = 10 is not a multiple of heads = 4"),
        ("text", {"characters": 1000}, "the text has 1,000 characters: expected 1,320"),
        ("churn", {"target": "chrun"}, "unknown column 'chrun'; did you mean 'churn'"),
        ("mnist", {}, "needs the folder of its files: --data-dir"),
    ],
)
def test_invalid_names_and_values(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        task(name, settings=settings)


def test_files_for_tasks_that_take_none_and_files_that_are_not_there() -> None:
    with pytest.raises(ValueError, match=r"digits takes no data .* text, churn"):
        task("digits", data="table.csv")
    with pytest.raises(FileNotFoundError, match="no such file"):
        task("churn", data="no/such.csv")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        task("mnist", data_dir="no/such")


def test_a_missing_package_is_named() -> None:
    class Needy(type(tasks()["digits"])):  # type: ignore[misc]
        needs = ("torch", "no_such_package")

    with pytest.raises(ImportError, match=r'no_such_package: pip install "softgate\[compare\]"'):
        Needy(tasks()["digits"].settings).check()


def test_fingerprints_depend_on_data_versions_and_code(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from softgate.studies.compare import fingerprint

    file = tmp_path / "text.txt"
    file.write_text("To be or not to be. " * 200)
    first = task("text", data=file).fingerprint
    assert task("text", data=file).fingerprint == first
    file.write_text("To be or not to be? " * 200)
    assert task("text", data=file).fingerprint != first
    digits = task("digits").fingerprint
    monkeypatch.setattr(fingerprint.machine, "installed", lambda package: "0")
    assert task("digits").fingerprint != digits
    fingerprint.code.cache_clear()
    monkeypatch.setattr(fingerprint, "SOURCES", ())
    try:
        other = task("digits").fingerprint
    finally:
        fingerprint.code.cache_clear()
    assert other != digits


@pytest.mark.parametrize("module", ["catalogue/gelu", "studies/compare/trial_functions"])
def test_a_changed_module_changes_the_hash_of_the_code(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from softgate.studies.compare import fingerprint

    changed = fingerprint.PACKAGE / f"{module}.py"
    assert changed.exists()
    before, read = fingerprint.code(), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: read(file) + b"#" * (file == changed))
    assert fingerprint.code.__wrapped__() != before


@pytest.mark.parametrize("pattern", ["no_such_folder/**/*", "studies/compare/no_such_module"])
def test_a_pattern_without_a_module_raises(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from softgate.studies.compare import fingerprint

    monkeypatch.setattr(fingerprint, "SOURCES", (*fingerprint.SOURCES, pattern))
    with pytest.raises(FileNotFoundError, match=f"SOURCES has '{re.escape(pattern)}'"):
        fingerprint.code.__wrapped__()


def test_splits_are_stratified_and_statistics_are_of_the_first_part() -> None:
    labels = np.repeat([0, 1], [90, 10])
    first, second = split(labels, 0.2)
    assert sorted([*first, *second]) == list(range(100))
    assert labels[second].sum() == 2
    x = np.array([[1.0, 5.0], [3.0, 5.0]])
    a, b = standardised(x, np.array([[100.0, 7.0]]))
    assert a.tolist() == [[-1, 0], [1, 0]]
    assert b.tolist() == [[98, 0]]


def test_swap_replaces_in_every_block_and_reports_scores() -> None:
    chosen = small("swap", layers=2)
    swapped, saved = run(chosen, "gelu→relu"), run(chosen, "gelu")
    assert swapped.extra_metrics is not None
    assert saved.extra_metrics is not None
    before, after = "validation_loss_before_swap", "validation_loss_after_swap"
    unchanged = swapped.extra_metrics[before]
    assert unchanged == saved.extra_metrics[before] == saved.extra_metrics[after]
    assert swapped.extra_metrics[after] != swapped.extra_metrics[before]
    assert swapped.steps == saved.steps == run(chosen, "relu").steps
    assert swapped.curve[:2] == saved.curve[:2]
    assert 0 <= swapped.extra_metrics["dead_after_swap"] <= 1
    with pytest.raises(ValueError, match="swiglu cannot be swapped in"):
        chosen.arms(["gelu", "swiglu"])
    with pytest.raises(ValueError, match="expected two activations"):
        chosen.arms(["gelu"])


def test_text_maps_unknown_characters_to_one_code(tmp_path: Any) -> None:
    file = tmp_path / "text.txt"
    file.write_text("ab" * 400 + "aé" * 30, encoding="utf-8")
    chosen = task("text", data=file, settings={**SMALL["text"], "characters": None})
    data = chosen.load()
    assert data.outputs == 3
    assert int(data.test.y.min()) == 0
    assert torch.equal(data.train.x[0, 1:], data.train.y[0, :-1])
    assert str(file) in chosen.describe()
    file.write_bytes(b"\xff\xfe" * 500)
    with pytest.raises(ValueError, match="not text in UTF-8"):
        task("text", data=file)


def test_a_gated_activation_adds_a_norm_to_all_with_a_note() -> None:
    digits = task("digits")
    assert {chosen["norm"] for _, _, chosen in digits.arms(["gelu", "relu"])} == {"none"}
    assert {chosen["norm"] for _, _, chosen in digits.arms(["gelu", "swiglu"])} == {"all"}
    assert digits.notes(["gelu"]) == []
    assert "so all layers scale their inputs" in digits.notes(["gelu", "swiglu:beta=2.0"])[0]
    assert task("text").arms(["gelu", "swiglu"])[0] == ("gelu", "gelu", {})


def test_a_norm_of_gated_layers_alone_gives_a_note() -> None:
    gated = task("digits", settings={"norm": "gated"})
    assert gated.arms(["gelu", "swiglu"])[0] == ("gelu", "gelu", {})
    assert "may be due to the norm" in gated.notes(["gelu", "swiglu"])[0]
    assert task("digits", settings={"norm": "all"}).notes(["swiglu"]) == []
    with pytest.raises(ValueError, match="auto cannot be part of a list"):
        task("digits", settings={"norm": "auto,all"})


def test_options_read_text() -> None:
    assert Option(8, "").read("n", " 4 ") == 4
    assert Option(None, "", float).read("seconds", "none") is None
    assert Option("a,b", "", listable=False).read("target", "x,y") == "x,y"
    assert isinstance(tasks()["digits"], Task)
