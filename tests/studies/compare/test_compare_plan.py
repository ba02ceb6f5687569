"""Plans of trials: pairing by seed, separate tuning seeds, names of activations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import cloudpickle
import pytest

import softgate as sg
from softgate.studies.compare import trial_functions
from softgate.studies.compare.plan import (
    FIRST_TUNING_SEED,
    Arm,
    ComparisonPlan,
    Condition,
    read_seeds,
)
from softgate.studies.compare.published_experiments import preset
from softgate.studies.compare.request import ComparisonRequest, find_trainable
from softgate.studies.compare.run import PlannedComparison
from softgate.studies.compare.scripts import is_function
from softgate.studies.compare.statistics import attainable_p
from softgate.studies.compare.trial import (
    CurvePoint,
    Measure,
    Outcome,
    ProgressCallback,
    Setting,
    Status,
    TrainingResult,
    Trial,
    TrialEnvironment,
    TrialFunction,
)
from softgate.studies.compare.trial_functions import (
    PicklableFormula,
    TrainableWithFormulas,
    function,
    shown,
    trial_name,
)

HERE = TrialEnvironment("host", "cpu", 1, "3", "2", "0")


@dataclass(frozen=True)
class Hill:
    """A trainable that trains nothing."""

    name: str = "hill"
    fingerprint: str = "hill-1"
    measure: Measure = field(default_factory=lambda: Measure("height", higher=True))
    rates: tuple[float, ...] = (1e-3, 1e-2, 1e-1)
    default_activations: tuple[str, ...] = ("gelu", "relu")
    conditions: tuple[tuple[str, Mapping[str, Setting]], ...] = (("", {}),)
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"epochs": 3, "depth": 1})

    def arms(self, names: list[str]) -> list[tuple[str, str, Mapping[str, Setting]]]:
        return [(name, name, {}) for name in names]

    def describe(self) -> str:
        return "a hill"

    def notes(self, names: Sequence[str] = ()) -> list[str]:
        return ["it is steep"]

    def trial_function(self) -> TrialFunction:
        def run(trial: Trial, progress: ProgressCallback) -> tuple[TrainingResult, list[float]]:
            value = float(function(trial.activation)(1.0))
            return TrainingResult(score=value), []

        return run


ARMS = (Arm("gelu", "gelu"), Arm("relu", "relu"))
reported_seeds = partial(read_seeds, "seeds", first=0, minimum=1)
tuning_seeds = partial(read_seeds, "tuning_seeds", first=FIRST_TUNING_SEED, minimum=0)


def plan(**changed: object) -> ComparisonPlan:
    defaults = {
        "trainable": Hill(), "arms": ARMS, "conditions": (Condition(),),
        "seeds": reported_seeds(4), "tuning_seeds": tuning_seeds(2), "rates": (1e-3, 1e-2, 1e-1),
    }  # fmt: skip
    return ComparisonPlan(**{**defaults, **changed})


def ended(trial: Trial, score: float | None, status: Status = "finished") -> Outcome:
    return Outcome(trial, status, "", TrainingResult(validation_score=score), None, 1.0, HERE)


def test_activations_are_paired_by_seed() -> None:
    made = plan()
    trials = made.reported(made.choose(ended(planned, 0.5) for planned in made.tuning()))
    assert made.counts == (len(made.tuning()), len(trials)) == (12, 8)
    seen = {(trial.arm, trial.seed) for trial in trials}
    assert seen == {(arm, seed) for arm in ("gelu", "relu") for seed in range(4)}
    assert {item.role for item in trials} == {"reported"}
    assert len({entry.key for entry in [*trials, *made.tuning()]}) == 20


def test_tuning_never_sees_a_reported_seed() -> None:
    made = plan(seeds=reported_seeds(500), tuning_seeds=tuning_seeds(50))
    assert not {planned.seed for planned in made.tuning()} & set(made.seeds)
    assert {item.role for item in made.tuning()} == {"tuning"}
    with pytest.raises(ValueError, match="seed 3 is both a tuning and a reported seed"):
        plan(tuning_seeds=(3,))


def test_all_activations_are_tuned_with_the_same_rates_and_seeds() -> None:
    tried = {
        arm: {(item.lr, item.seed) for item in plan().tuning() if item.arm == arm}
        for arm in ("gelu", "relu")
    }
    assert tried["gelu"] == tried["relu"]
    assert len(tried["gelu"]) == 6


def test_each_activation_gets_its_best_rate() -> None:
    made = plan()
    best = {"gelu": 1e-2, "relu": 1e-1}
    outcomes = [ended(item, -abs(math.log(item.lr / best[item.arm]))) for item in made.tuning()]
    chosen = made.choose(outcomes)
    assert chosen == {("", "gelu"): 1e-2, ("", "relu"): 1e-1}
    assert {(planned.arm, planned.lr) for planned in made.reported(chosen)} == set(best.items())


def test_a_rate_that_diverged_is_not_chosen() -> None:
    made = plan()
    outcomes = [
        ended(item, None, "diverged") if item.lr == 1e-1 and item.seed % 2 else ended(item, item.lr)
        for item in made.tuning()
    ]
    assert set(made.choose(outcomes).values()) == {1e-2}


def test_rates_belong_to_a_condition() -> None:
    made = plan(conditions=(Condition("depth=1", {"depth": 1}), Condition("depth=9", {"depth": 9})))
    outcomes = [
        ended(item, item.lr if item.settings["depth"] == 9 else -item.lr) for item in made.tuning()
    ]
    chosen = made.choose(outcomes)
    assert chosen["depth=9", "gelu"] == 1e-1
    assert chosen["depth=1", "gelu"] == 1e-3
    for item in made.reported(chosen):
        assert item.condition == f"depth={item.settings['depth']}"


def test_more_seeds_only_add() -> None:
    few, many = plan(), plan(seeds=reported_seeds(9))
    chosen = {("", "gelu"): 1e-2, ("", "relu"): 1e-3}
    assert {item.key for item in few.reported(chosen)} < {
        planned.key for planned in many.reported(chosen)
    }
    assert few.tuning() == many.tuning()


def test_one_rate_is_not_tuned() -> None:
    made = plan(rates=(0.5,), tuning_seeds=())
    assert made.tuning() == []
    assert made.counts == (0, 8)
    assert {item.lr for item in made.reported(made.choose([]))} == {0.5}
    assert {planned.lr for planned in plan(rates=()).reported(plan(rates=()).choose([]))} == {0.0}


def test_settings_of_an_arm_override_the_condition() -> None:
    made = plan(
        arms=(Arm("gelu", "gelu"), Arm("gelu→relu", "gelu", {"depth": 7})),
        conditions=(Condition("epochs=1", {"epochs": 1}),),
    )
    settings = {item.arm: item.settings for item in made.tuning()}
    assert settings == {
        "gelu": {"epochs": 1, "depth": 1}, "gelu→relu": {"epochs": 1, "depth": 7},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"arms": (ARMS[0], ARMS[0])}, "'gelu' is given twice"),
        ({"arms": ()}, "no activation"),
        ({"seeds": (1, 1)}, "is given twice"),
        ({"seeds": ()}, "no seeds"),
        ({"rates": (1e-3, -1.0)}, "learning rate -1.0"),
        ({"rates": (1e-3, math.nan)}, "learning rate nan"),
        ({"rates": (1e-3, 1e-3)}, "is given twice"),
        ({"tuning_seeds": ()}, "no tuning seeds"),
    ],
)
def test_invalid_plans(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        plan(**changed)


@pytest.mark.parametrize("argument", [0, -1, [-1], [1.5], [2**32], [True]])
def test_invalid_seeds(argument: object) -> None:
    with pytest.raises(ValueError, match="seeds"):
        reported_seeds(argument)


@pytest.mark.parametrize("argument", ["4", True, None, 1.5])
def test_seeds_of_a_wrong_kind(argument: object) -> None:
    with pytest.raises(TypeError, match="expected a number of seeds"):
        reported_seeds(argument)


@sg.activation
def bump(f, x, a=1.0):
    return x * f.exp(-a * x * x)


def other_bump():
    @sg.activation(name="bump")
    def bump(f, x, a=1.0):
        return x * f.exp(-2 * a * x * x)

    return bump


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("gelu", "gelu"),
        ("gelu_new", "gelu_tanh"),
        ("elu:alpha=0.5", "elu:alpha=0.5"),
        ("elu:alpha=1", "elu"),
        (sg.elu.bind(alpha=0.5), "elu:alpha=0.5"),
        ("swiglu", "swiglu"),
        (sg.swiglu.bind(beta=2.0), "swiglu:beta=2.0"),
    ],
)
def test_names_are_the_same_for_the_same_function(argument: object, text: str) -> None:
    assert trial_name(argument) == (text, None)
    assert trial_name(function(text)) == (text, None)
    assert shown(text) == text


@pytest.mark.parametrize("argument", ["geluu", "elu:alpha", "elu:alpha=x", "elu:alpha=1,alpha=2"])
def test_unknown_names(argument: str) -> None:
    with pytest.raises((ValueError, TypeError), match=argument.partition(":")[0]):
        trial_name(argument)
    with pytest.raises(TypeError, match="expected a callable, or a name"):
        trial_name(3)


def test_a_formula_is_sent_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    text, formula = trial_name(bump.bind(a=0.5))
    assert formula is not None
    assert shown(text) == "bump:a=0.5"
    monkeypatch.setattr(trial_functions, "_registered", {})
    with pytest.raises(ValueError, match="was not sent"):
        function(text)
    trainable = cloudpickle.loads(cloudpickle.dumps(TrainableWithFormulas(Hill(), (formula,))))
    run = trainable.trial_function()
    trial = dataclasses.replace(plan().tuning()[0], activation=text)
    assert run(trial, lambda *_: None)[0].score == float(bump(1.0, a=0.5))


def test_another_formula_is_another_trial() -> None:
    keys = {PicklableFormula.of(item).key for item in (bump, bump.bind(a=3.0), other_bump())}
    assert len(keys) == 2
    assert {key.partition("#")[0] for key in keys} == {"bump"}


def study(**changed: object) -> PlannedComparison:
    return ComparisonRequest(
        **{"what": "digits", "activations": ["gelu", "relu"], **changed}
    ).plan()


def test_a_formula_beside_the_catalogue() -> None:
    made = study(activations=["gelu", bump, bump.bind(a=3.0)], baseline=bump)
    assert [arm.label for arm in made.plan.arms] == ["gelu", "bump", "bump:a=3.0"]
    assert made.baseline == "bump"
    assert "bump is x*exp(-a*x*x)" in made.plan.trainable.notes()
    with pytest.raises(ValueError, match="another function has that name"):
        study(activations=["gelu", bump, other_bump()])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"what": "digit"}, "did you mean 'digits'"),
        ({"settings": {"epoch": 3}}, "did you mean 'epochs'"),
        ({"activations": ["gelu"]}, "needs two"),
        ({"activations": ["gelu", "gelu"]}, "given twice"),
        ({"activations": ["gelu_tanh", "gelu_new"]}, "given twice"),
        ({"activations": ["gelu", "nonsense"]}, "nonsense"),
        ({"baseline": "tanh"}, "baseline 'tanh' is not trained"),
        ({"lr": 0.1, "rates": [0.1]}, "lr and rates"),
        ({"alpha": 1.5}, "alpha"),
        ({"pairs": "some"}, "pairs"),
        ({"seeds": 0}, "seeds = 0"),
        ({"what": lambda activation: None}, "no data"),
    ],
)
def test_invalid_requests(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        study(**changed)


def test_least_p_of_the_seeds() -> None:
    assert not study(seeds=5).attainable_p.enough
    assert study(seeds=6).attainable_p.enough
    many = study(activations=["gelu", "relu", "silu", "tanh"], pairs="all", seeds=6)
    assert many.attainable_p.comparisons == 6
    assert not many.attainable_p.enough


def test_a_preset_fills_in_what_is_not_given(tmp_path: Path) -> None:
    for part in ("train", "t10k"):  # looked for, and read only by a trial's fingerprint
        (tmp_path / f"{part}-images-idx3-ubyte").touch()
        (tmp_path / f"{part}-labels-idx1-ubyte").touch()
    arguments = {"what": "mnist", "preset": "gelu-paper-mnist", "data_dir": tmp_path}
    made = study(**arguments, activations=None)
    assert [arm.label for arm in made.plan.arms] == ["gelu", "relu", "elu"]
    assert [condition.label for condition in made.plan.conditions] == ["dropout=0", "dropout=0.5"]
    assert made.plan.rates == (1e-3, 1e-4, 1e-5)
    assert (len(made.plan.seeds), len(made.plan.tuning_seeds)) == (5, 1)
    assert made.plan.trainable.settings["epochs"] == 50
    other = study(**arguments, seeds=3, lr=0.5, settings={"epochs": 1}).plan
    assert (len(other.arms), len(other.seeds), other.rates) == (2, 3, (0.5,))
    assert (other.trainable.settings["epochs"], other.trainable.settings["layers"]) == (1, 8)
    with pytest.raises(ValueError, match="is for mnist and fashion-mnist, not 'digits'"):
        study(preset="gelu-paper-mnist")
    with pytest.raises(ValueError, match="did you mean 'gelu-paper-mnist'"):
        study(preset="gelu-paper")


def test_a_preset_adds_notes_to_the_record() -> None:
    """With another trainable, as only outcomes matter."""
    pytest.importorskip("scipy")
    made = PlannedComparison(
        plan(rates=(0.1,)), attainable_p(4), None, "baseline", preset("gelu-paper-mnist")
    )
    outcomes = [
        dataclasses.replace(
            ended(item, 0.5),
            measured=TrainingResult(score=0.5, curve=(CurvePoint(9, 0.1, None, None),)),
        )
        for item in made.plan.reported(made.plan.choose([]))
    ]
    notes = made.record(outcomes).notes
    assert notes[0] == "it is steep"
    assert notes[1].startswith("The paper (Hendrycks")
    assert "median training log loss of 4 runs" in notes[2]


def test_find_trainable() -> None:
    assert is_function("train.py:run")
    assert is_function("folder/train.py")
    assert is_function("package.train:run")
    assert not is_function("digits")
    with pytest.raises(TypeError, match="expected a task"):
        find_trainable(3)
    with pytest.raises(ValueError, match="data_dir"):
        find_trainable(lambda activation: None, ([1], [1]), data_dir=".")
    with pytest.raises(FileNotFoundError, match="missing"):
        find_trainable("missing.py:run")
    with pytest.raises(TypeError, match=r"For activations, use .* activations=\['gelu'\]"):
        find_trainable("digits", ["gelu"])
