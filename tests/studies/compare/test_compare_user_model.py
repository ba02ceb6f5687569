"""A user's model, data and training loop, and errors in them."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from trained import execute, run_trial

from softgate.studies.compare.fingerprint import function_hash
from softgate.studies.compare.scripts import MAX_POINTS, ReportCallback, UserTrainingLoop
from softgate.studies.compare.store import Store
from softgate.studies.compare.trial import Diverged, Outcome, Trial
from softgate.studies.compare.user_model import PARTS, UserModel, examples

X = np.random.default_rng(0).normal(size=(60, 3))
CLASSES = (X[:, 0] > 0).astype(int)
NUMBERS = X @ [1.0, -2.0, 0.5]


def build(activation: Any) -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), activation, nn.Linear(4, 2))


def regress(activation: Any, width: int = 4) -> nn.Module:
    return nn.Sequential(nn.Linear(3, width), activation, nn.Linear(width, 1))


def quiet(*_: object) -> None:
    pass


def run(
    trainable: UserModel | UserTrainingLoop, activation: str = "gelu", seed: int = 0,
    role: str = "reported", lr: float = 0.01,
) -> Outcome:  # fmt: skip
    return run_trial(one(trainable, activation, seed, role, lr), trainable.trial_function(), quiet)


def one(
    trainable: UserModel | UserTrainingLoop,
    activation: str,
    seed: int,
    role: str = "reported",
    lr: float = 0.01,
) -> Trial:
    argument: Any = role
    return Trial(
        trainable.name, activation, activation, "", trainable.settings, lr, seed, argument,
        trainable.fingerprint,
    )  # fmt: skip


def test_a_users_model() -> None:
    user_model = UserModel(build, (X, CLASSES), epochs=3, batch=16, evaluations=3)
    result = run(user_model)
    assert (result.status, result.message) == ("finished", "")
    assert result.measured.score == pytest.approx(round(result.measured.score or 0, 12))
    assert result.measured.steps == 9
    assert len(result.measured.curve) == 3
    assert [site.units for site in result.measured.sites] == [4]
    assert user_model.measure.name == "test accuracy"
    assert [rest[0] for rest in user_model.arms(["relu"])] == ["relu"]
    assert user_model.notes(["gelu"]) == list(user_model.examples.notes)
    assert user_model.notes(["gelu", "swiglu"])[-1].startswith(
        "swiglu: gated, so build is given the fun"
    )
    assert repr(run(user_model).measured) == repr(result.measured)
    assert run(user_model, seed=1).measured.loss != result.measured.loss
    tuning = run(user_model, role="tuning").measured
    assert tuning.score is None
    assert tuning.validation_score == result.measured.validation_score


def test_all_activations_start_with_the_same_weights() -> None:
    seen = []

    def spied(activation: Any) -> nn.Module:
        model = build(activation)
        seen.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
        return model

    user_model = UserModel(spied, (X, CLASSES), epochs=1)
    for activation, seed in (("gelu", 0), ("elu:alpha=0.5", 0), ("gelu", 1)):
        assert run(user_model, activation, seed).status == "finished"
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])


def test_regression_targets() -> None:
    user_model = UserModel(regress, (X, NUMBERS), epochs=200, batch=36, evaluations=2)
    result = run(user_model, lr=0.02)
    assert user_model.measure.name == "test R²"
    assert (result.measured.score or 0) > 0.5
    lost = UserModel(regress, (X, NUMBERS), loss=nn.functional.l1_loss, epochs=1)
    assert (lost.measure.name, lost.measure.higher) == ("test loss", False)


def test_a_users_score() -> None:
    def worst(output: torch.Tensor, y: torch.Tensor) -> float:
        return float((output.squeeze(-1) - y).abs().max())

    user_model = UserModel(regress, (X, NUMBERS), score=worst, higher=False, epochs=1)
    assert (user_model.measure.name, user_model.measure.higher) == ("test worst", False)
    assert (run(user_model).measured.score or 0) > 0


@pytest.mark.parametrize(
    ("made", "data", "said"),
    [
        (regress, (X, CLASSES), r"outputs of shape \(2, 1\) .* expected \(2, 2\)"),
        (build, (X, NUMBERS), r"outputs of shape \(2, 2\) .* expected \(2,\)"),
        (lambda activation: None, (X, CLASSES), "build returned a NoneType"),
        (lambda activation: nn.Linear(5, 2), (X, CLASSES), "RuntimeError: mat1 and mat2"),
    ],
)
def test_models_that_do_not_fit(made: Callable[..., Any], data: Any, said: str) -> None:
    result = run(UserModel(made, data, epochs=1))
    assert result.status == "raised"
    assert re.search(said, result.message), result.message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (X, "expected \\(x, y\\)"),
        ((X, CLASSES[:-1]), "60 examples, y has 59"),
        ((X * np.nan, CLASSES), "holds NaN"),
        ((X, NUMBERS * np.inf), "y holds NaN"),
        ((X, np.zeros(60, int)), "one class only"),
        ((X[:5], CLASSES[:5]), "10 or more"),
        ({"test": (X, CLASSES)}, "no part 'train'"),
        ({"train": (X, CLASSES), "tests": (X, CLASSES)}, "did you mean 'test'"),
        ((np.array([["a"]] * 60), CLASSES), "holds text"),
        ((X, [object()] * 60), "expected an array"),
        ({"train": (X, CLASSES), "test": (X[:0], CLASSES[:0])}, "test is empty"),
    ],
)
def test_invalid_data(data: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        UserModel(build, data)


def test_invalid_settings() -> None:
    with pytest.raises(ValueError, match="epochs"):
        UserModel(build, (X, CLASSES), epoch=3)
    with pytest.raises(ValueError, match="needs seconds"):
        UserModel(build, (X, CLASSES), same="time")
    with pytest.raises(TypeError, match="expected a function"):
        UserModel(build, (X, CLASSES), loss="mse")  # type: ignore[arg-type]


def test_parts_share_no_example_and_are_always_the_same() -> None:
    rows = np.arange(60.0)[:, None]
    for y in (CLASSES, NUMBERS, np.array(["no", "yes"])[CLASSES]):
        result = examples((rows, y))
        assert [len(result.y[name]) for name in PARTS] == [36, 12, 12]
        together = np.concatenate([result.x[name][:, 0] for name in PARTS])
        assert sorted(together) == list(range(60))
        again = examples((torch.tensor(rows), y))
        assert again.content == result.content
        assert sum("were taken" in note for note in result.notes) == 2
    argument = {name: (X[i::3], CLASSES[i::3]) for i, name in enumerate(PARTS)}
    assert examples(argument).notes == ()
    dataset = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(CLASSES))
    assert examples(dataset).content == examples((X, CLASSES)).content
    rare = examples((rows, np.eye(60, dtype=int)[0]))
    assert "at random" in rare.notes[0]
    tokens = examples((rows.astype(int), CLASSES))
    assert tokens.x["train"].dtype == np.int64
    assert "numbered 0 to 1" in examples((rows, CLASSES + 4)).notes[0]


def test_function_hash_depends_on_code_and_values() -> None:
    source = "def f(x):\n    return helper(x) + {}\ndef helper(x):\n    return {} * x\n"

    def made(*numbers: int, before: str = "") -> Any:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(before + source.format(*numbers), names)
        return names["f"]

    first = function_hash(made(1, 2))
    assert function_hash(made(1, 2, before="\n\n# moved\n")) == first
    assert function_hash(made(2, 2)) != first
    assert function_hash(made(1, 3)) != first  # in a function that it calls
    assert function_hash(partial(regress, width=4)) != function_hash(partial(regress, width=5))
    keys = [
        UserModel(b, d).fingerprint for b, d in ((build, (X, CLASSES)), (build, (X + 1, CLASSES)))
    ]
    keys += [UserModel(regress, (X, NUMBERS)).fingerprint]
    assert len(set(keys)) == 3


def test_function_hash_is_the_same_in_every_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from softgate.studies.compare.fingerprint import function_hash\n"
        "KINDS = {'a', 'b', 'c', 'd'}\n"
        "class Kind: pass\n"
        "class Net(Kind):\n"
        "    size = 3\n"
        "    def __init__(self, act): self.act = act\n"
        "    def forward(self, x): return self.act(x) * len(KINDS)\n"
        "def build(activation): return [Net(activation) for _ in range(2)]\n"
        "print(function_hash(build))\n",
        encoding="utf-8",
    )
    messages = [
        subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert messages[0] == messages[1]


SCRIPT = """
import random
import torch
from nearby import FACTOR

def run(activation, seed, report, lr=0.1, validation=False, width=3, *, note="none"):
    value = float(activation(torch.tensor(1.0)))
    for step in range(1, 6):
        report(step, value / step, validation=1.0)
    drawn = random.random() + torch.rand(()).item()
    return {"score": drawn * FACTOR, "loss": torch.tensor(lr), "validation_score": 0.5,
            "width": width, "choosing": validation}

def bare(activation, seed, report):
    return seed

def broken(activation, seed, report):
    report(1, float("nan"))

def nothing(activation, seed, report):
    pass

def unscored(activation, seed, report):
    return {"loss": 1.0}

def needy(activation, seed, report, data):
    return 1.0

def odd(activation):
    return 1.0
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "nearby.py").write_text("FACTOR = 2\n", encoding="utf-8")
    file = tmp_path / "train.py"
    file.write_text(SCRIPT, encoding="utf-8")
    return file


def test_a_users_training_loop(script: Path) -> None:
    trainable = UserTrainingLoop(f"{script}:run", width="7", note="x")
    assert dict(trainable.settings) == {"width": 7, "note": "x"}
    assert trainable.rates
    path = list(sys.path)
    result = run(trainable, lr=0.5)
    assert sys.path == path
    assert (result.status, result.message) == ("finished", "")
    assert result.measured.loss == 0.5
    assert result.measured.extra_metrics == {"width": 7.0, "choosing": 0.0}
    assert [point.step for point in result.measured.curve] == [1, 2, 3, 4, 5]
    assert result.step_ms is not None
    tuning = run(trainable, role="tuning").measured
    assert (tuning.score, tuning.validation_score) == (None, 0.5)
    assert tuning.extra_metrics is not None
    assert tuning.extra_metrics["choosing"] == 1.0
    (other,) = execute([one(trainable, "gelu", 0, lr=0.5)], trainable, Store(None), jobs=1)
    assert repr(other.measured) == repr(result.measured)  # the first trial of its process, too


def test_scripts_with_few_reports(script: Path) -> None:
    assert run(UserTrainingLoop(f"{script}:bare"), seed=3).measured.score == 3.0
    assert UserTrainingLoop(f"{script}:bare").rates == ()
    assert (
        run(UserTrainingLoop(f"{script}:bare"), role="tuning", seed=3).measured.validation_score
        == 3.0
    )
    assert (
        run(UserTrainingLoop(f"{script}:broken")).message
        == "diverged at step 1: the loss is not finite"
    )
    assert run(UserTrainingLoop(f"{script}:nothing")).message == (
        "ValueError: run returned no score: expected a number, or a mapping with 'score'"
    )
    assert "expected a 'score'" in run(UserTrainingLoop(f"{script}:unscored")).message
    assert UserTrainingLoop(f"{script}:bare", higher="false", score="loss").measure.higher is False


@pytest.mark.parametrize(
    ("place", "settings", "said"),
    [
        ("gone.py:run", {}, "there is no file"),
        ("train.py:runs", {}, "defines no function 'runs'; it has: run, bare"),
        ("train.py:odd", {}, "but not seed, report"),
        ("train.py:needy", {}, "needs data: give it"),
        ("train.py:run", {"widht": "3"}, "did you mean 'width'"),
        ("train.py:bare", {"width": "3"}, "train.py:bare takes no argument of that name"),
        ("train.py:run", {"width": [3, 4]}, "expected a number"),
        ("train.py:run", {"higher": "maybe"}, "expected true or false"),
    ],
)
def test_invalid_scripts(
    script: Path, monkeypatch: pytest.MonkeyPatch, place: str, settings: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(script.parent)
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=said):
        UserTrainingLoop(place, **settings)


def test_script_fingerprints_depend_on_the_text(script: Path) -> None:
    first = UserTrainingLoop(str(script))
    assert UserTrainingLoop(str(script)).fingerprint == first.fingerprint
    (script.parent / "nearby.py").write_text("FACTOR = 3\n", encoding="utf-8")
    second = UserTrainingLoop(str(script))
    assert second.fingerprint != first.fingerprint
    with pytest.raises(ValueError, match=r"nearby\.py has changed"):
        first.trial_function()
    script.write_text("def run(:\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"train\.py, line 1"):
        UserTrainingLoop(str(script))
    script.unlink()  # as on another machine: the text has come along
    sys.modules.pop("nearby", None)
    score = run(second).measured.score
    assert score is not None
    assert 0 < score < 6


def test_long_curves_are_thinned() -> None:
    report = ReportCallback(quiet)
    for step in range(10_000):
        report(step, 1.0, validation=2.0)
    assert len(report.curve) <= MAX_POINTS
    assert report.curve[-1].step > 9_900
    assert all(point.train_loss == 1.0 for point in report.curve)
    with pytest.raises(Diverged, match="step 10000"):
        report(10_000, math.inf)
    with pytest.raises(TypeError, match="expected a number"):
        report(1, "0.5")  # type: ignore[arg-type]
    with pytest.raises(Diverged, match="score is not finite"):
        report.measured(math.nan, tuning=False)
