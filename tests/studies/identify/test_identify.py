"""Identification by values: every entry, frameworks' functions, and functions of no catalogue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers.activations import ACT2FN

import softgate as sg
from softgate.formula.formats import FORMATS
from softgate.lower import evaluation
from softgate.runtime.registry import activations
from softgate.studies.identify import UNKNOWN, Identification, identify
from softgate.studies.subjects import InvalidSubjectError, SubjectFailure

DTYPES = tuple(FORMATS)
Tensors = Callable[[torch.Tensor], torch.Tensor]


def found(function: Any, dtype: str = "float32", **keywords: Any) -> Identification:
    return identify(function, dtype=dtype, framework="torch", parameters=keywords)


EQUAL = {
    "celu": ("elu", {"alpha": 1.0}),
    "clip": ("hard_tanh", {"low": 0.0, "high": 1.0}),
    "prelu": ("leaky_relu", {"slope": 0.25}),
    "rrelu": ("leaky_relu", {"slope": 11 / 48}),
    "sparse_sigmoid": ("hard_sigmoid", {"width": 2.0}),
}
"""Entries with the values of another entry, which is the one reported."""


@pytest.mark.parametrize("name", list(activations()))
def test_every_entry_is_itself(name: str) -> None:
    function, parameters = EQUAL.get(name, (name, activations()[name].parameters))
    rounded = 2.0**-8 if name == "rrelu" else 0  # 11/48 is rounded to the digits that dtype shows
    for dtype in DTYPES:
        answer = identify(activations()[name], dtype=dtype)
        assert answer.function == function, dtype
        assert (answer.scale, answer.offset) == (1, 0), dtype
        assert answer.parameters == pytest.approx(parameters, rel=rounded, abs=0), dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (F.gelu, "gelu"),
        (lambda x: F.gelu(x, approximate="tanh"), "gelu_tanh"),
        (ACT2FN["gelu_new"], "gelu_tanh"),
        (ACT2FN["gelu_fast"], "gelu_tanh"),
        (ACT2FN["quick_gelu"], "gelu_sigmoid"),
        (F.silu, "silu"),
        (lambda x: x * torch.sigmoid(x), "silu"),
        (F.hardswish, "hard_swish"),
        (F.relu, "relu"),
        (lambda x: F.relu(x) ** 2, "squared_relu"),
        (F.mish, "mish"),
        (F.selu, "selu"),
        (torch.tanh, "tanh"),
        (torch.exp, "exponential"),
    ],
)
def test_frameworks_own(function: Tensors, name: str, dtype: str) -> None:
    answer = found(function, dtype)
    assert answer.function == name
    assert answer.confidence > 0.9
    assert answer.candidates[0].function == name
    assert answer.candidates[1].function != name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("function", "name", "parameters"),
    [
        (lambda x: F.leaky_relu(x, 0.2), "leaky_relu", {"slope": 0.2}),
        (lambda x: F.leaky_relu(x, 0.0105), "leaky_relu", {"slope": 0.0105}),
        (lambda x: F.elu(x, 0.5), "elu", {"alpha": 0.5}),
        (lambda x: F.celu(x, 2.0), "celu", {"alpha": 2.0}),
        (lambda x: x * torch.sigmoid(1.3 * x), "silu", {"beta": 1.3}),
        (lambda x: F.relu(x) + torch.log1p(torch.exp(-3 * x.abs())) / 3, "softplus", {"beta": 3}),
        (lambda x: F.softplus(x, 2.0, 3.0), "softplus", {"beta": 2.0, "threshold": 3.0}),
        (lambda x: F.hardtanh(x, -2, 3), "hard_tanh", {"low": -2.0, "high": 3.0}),
        (lambda x: F.hardshrink(x, 0.37), "hardshrink", {"threshold": 0.37}),
    ],
)
def test_parameters_are_found(
    function: Tensors, name: str, parameters: dict[str, float], dtype: str
) -> None:
    answer = found(function, dtype)
    assert (answer.function, answer.parameters) == (name, parameters)
    assert (answer.scale, answer.offset) == (1, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scale_and_offset_are_seen_through(dtype: str) -> None:
    answer = found(lambda x: 2 * F.gelu(x) + 1, dtype)
    assert (answer.function, answer.scale, answer.offset) == ("gelu", 2, 1)
    answer = found(lambda x: -3 * F.silu(x), dtype)
    assert (answer.function, answer.scale, answer.offset) == ("silu", -3, 0)
    answer = found(lambda x: F.gelu(x, approximate="tanh") - 0.25, dtype)
    assert (answer.function, answer.scale, answer.offset) == ("gelu_tanh", 1, -0.25)
    answer = found(lambda x: 1.3 * F.elu(x, 0.7) - 0.5, dtype)
    assert answer.function == "elu"
    assert answer.parameters["alpha"] == pytest.approx(0.7, rel=0.02)


@pytest.mark.parametrize("name", ["gelu", "silu", "relu"])
def test_a_scale_that_makes_results_subnormal(name: str) -> None:
    answer = found(lambda x: 0.001 * getattr(F, name)(x), "float16")
    assert (answer.function, answer.scale, answer.offset) == (name, 0.001, 0)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e-6, 1e-3, -0.1, 10.0, 1000.0, 1e5])
@pytest.mark.parametrize("name", ["gelu", "silu", "relu"])
def test_any_scale_is_seen_through(name: str, scale: float) -> None:
    function = getattr(F, name)
    answer = found(lambda x: scale * function(x))
    assert (answer.function, answer.offset) == (name, 0)
    assert answer.scale == pytest.approx(scale, rel=1e-6)


@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (2, 0), (2, 1), (-0.5, 3)])
@pytest.mark.parametrize(("beta", "threshold"), [(1.0, 5.0), (2.0, 5.0), (1.0, 0.5), (0.5, 2.0)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_threshold_is_seen_beside_a_scale(
    beta: float, threshold: float, scale: float, offset: float, dtype: str
) -> None:
    answer = found(lambda x: scale * F.softplus(x, beta, threshold) + offset, dtype)
    assert answer.function == "softplus"
    assert answer.parameters == {"beta": beta, "threshold": threshold}
    assert answer.scale == pytest.approx(scale, rel=1e-12)
    assert answer.offset == pytest.approx(offset, abs=1e-12)


def test_a_threshold_in_16_bits() -> None:
    """Where its step is larger than what results are rounded by, and only there."""
    stated = {"beta": 2.0, "threshold": 5.0}
    assert found(lambda x: F.softplus(x, 2.0, 5.0), "float16").parameters == stated
    assert found(lambda x: F.softplus(x, 2.0, 5.0), "bfloat16").parameters == {"beta": 2.0}
    assert found(lambda x: F.softplus(x, 2.0, 20.0), "float16").parameters == {"beta": 2.0}
    assert found(lambda x: F.softplus(x, 2.0, 20.0)).parameters == {"beta": 2.0}


@pytest.mark.parametrize(
    ("function", "name", "parameters", "scale", "offset"),
    [
        (lambda x: 2 * F.hardtanh(x, -2, 3), "hard_tanh", {"low": -2, "high": 3}, 2, 0),
        (lambda x: F.hardtanh(x, -2, 3) + 1, "hard_tanh", {"low": -2, "high": 3}, 1, 1),
        (lambda x: 2 * F.hardshrink(x, 0.1), "hardshrink", {"threshold": 0.1}, 2, 0),
        (lambda x: (x / 2 + 0.5).clamp(0, 1), "hard_sigmoid", {"width": 2}, 1, 0),
        (lambda x: x * torch.sigmoid(1.6 * x), "silu", {"beta": 1.6}, 1, 0),
    ],
    ids=["hard_tanh scaled", "hard_tanh shifted", "hardshrink", "hard_sigmoid", "silu"],
)  # fmt: skip
def test_parameters_beside_a_scale(
    function: Tensors, name: str, parameters: dict[str, float], scale: float, offset: float
) -> None:
    answer = found(function)
    assert (answer.function, answer.parameters) == (name, parameters)
    assert (answer.scale, answer.offset) == (scale, offset)


def test_constants_that_are_wrong_make_another_function() -> None:
    def off(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.044715 * x**3)))

    answer = found(off)
    assert answer.function == UNKNOWN
    assert 1e-4 < answer.max_difference < 1e-3
    assert {"gelu", "gelu_tanh"} & {c.function for c in answer.candidates[:2]}


def test_of_what_is_unknown_the_nearest_come_first() -> None:
    answer = found(lambda x: F.relu(x) + 1e-3 * torch.sin(1e4 * x))
    apart = [c.max_difference for c in answer.candidates]
    assert answer.function == UNKNOWN
    assert answer.max_difference == apart[0] < 0.005
    assert apart == pytest.approx(sorted(apart), rel=0.01)
    assert found(torch.zeros_like).confidence == 1


@pytest.mark.parametrize("function", [torch.sin, F.gelu, lambda x: 2 * F.softplus(x, 1.0, 5.0)])
def test_a_question_takes_little_work(function: Tensors, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue is evaluated once a process; a question evaluates what is promising."""
    found(function)
    calls = []
    evaluate = evaluation.evaluate_float64
    monkeypatch.setattr(evaluation, "evaluate_float64", lambda *a: calls.append(1) or evaluate(*a))
    found(function)
    assert 0 < len(calls) < 330


def test_a_threshold_that_float32_cannot_show_is_not_told_of() -> None:
    assert found(F.softplus).parameters == {"beta": 1.0}
    assert found(F.softplus, "float64").parameters == {"beta": 1.0, "threshold": 20.0}


def test_constants_of_fewer_digits_are_still_the_same_function() -> None:
    answer = found(ACT2FN["gelu_fast"], "float64")
    assert answer.function == "gelu_tanh"
    assert 1e-13 < answer.max_difference < 1e-11


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "function",
    [torch.sin, torch.cosh, lambda x: x**3, torch.ones_like, lambda x: x * float("nan"),
     lambda x: F.gelu(x) + 0.2 * torch.sin(x), lambda x: torch.where(x > 2, x + 1, F.silu(x))],
    ids=["sin", "cosh", "cube", "constant", "NaN", "gelu and a ripple", "silu with a step"],
)  # fmt: skip
def test_what_fits_nothing_is_unknown(function: Tensors, dtype: str) -> None:
    answer = found(function, dtype)
    assert answer.function == UNKNOWN
    assert answer.parameters == {}
    assert "unknown" in str(answer)


def test_infinite_results_fit_values_beyond_the_format_only() -> None:
    answer = found(lambda x: 2 * torch.exp(x), "float16")
    assert (answer.function, answer.scale, answer.offset) == ("exponential", 2, 0)
    assert found(lambda x: torch.where(x > 50, torch.inf, F.relu(x))).function == UNKNOWN


def test_a_special_case_may_be_asked_for() -> None:
    assert identify(sg.prelu, among=[sg.relu, sg.prelu]).function == "prelu"


def test_names_mean_nothing() -> None:
    def relu(x: torch.Tensor) -> torch.Tensor:
        return F.silu(x)

    assert found(relu).function == "silu"


def test_ones_own_formula_may_be_asked_for() -> None:
    @sg.activation
    def bump(f: Any, x: Any) -> Any:
        return x * f.exp(-x * x)

    mine = [*activations().values(), bump]
    assert identify(lambda x: x * np.exp(-x * x), among=mine).function == "bump"
    assert identify(lambda x: x * np.exp(-x * x)).function == UNKNOWN


def test_the_record_goes_through_json() -> None:
    answer = found(F.softplus, "float64")
    assert Identification.from_json(answer.to_json()) == answer
    fields = {"function", "parameters", "max_difference", "scale", "offset", "confidence"}
    assert fields | {"candidates"} <= set(json.loads(answer.to_json()))


def test_wrong_questions() -> None:
    with pytest.raises(ValueError, match="float8"):
        identify(np.tanh, dtype="float8")
    with pytest.raises(InvalidSubjectError, match="callable"):
        identify(3)  # type: ignore[arg-type]
    with pytest.raises(SubjectFailure, match="shape"):
        identify(lambda x: x[:3])
    with pytest.raises(SubjectFailure, match="ZeroDivisionError"):
        identify(lambda x: 1 / 0)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "softgate", "identify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_the_command(run_here: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run("torch.nn.functional:gelu", "--parameters", "approximate=tanh", "--json")
    assert (done.returncode, json.loads(done.stdout)["function"]) == (0, "gelu_tanh")
    done = run_here("identify", "numpy:sin")
    assert done.returncode == 1
    assert "unknown" in done.stdout
    for wrong in (["numpy:nothing"], ["no_such_module:f"], ["missing.onnx"], ["gleu"],
                  ["numpy:tanh", "--parameters", "x"]):  # fmt: skip
        done = run_here("identify", *wrong)
        assert done.returncode == 2, wrong
        assert done.stdout == ""
        assert "Traceback" not in done.stderr


def test_nodes_of_a_model(tmp_path: Path, run_here: Any) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [
        helper.make_node("Gelu", ["x"], ["a"], name="first", approximate="tanh"),
        helper.make_node(
            "QuickGelu", ["a"], ["b"], name="quick", domain="com.microsoft", alpha=1.0
        ),
        helper.make_node("PRelu", ["b", "slope"], ["c"], name="prelu"),
        helper.make_node("Add", ["c", "a"], ["y"], name="sum"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy"]
    slope = numpy_helper.from_array(np.float32([0.3]), "slope")
    graph = helper.make_graph(nodes, "several", ends[:1], ends[1:], [slope])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    file = tmp_path / "several.onnx"
    save(helper.make_model(graph, opset_imports=opsets, ir_version=9), str(file))
    assert identify(f"{file}:first").function == "gelu_tanh"
    assert identify(f"{file}:quick").function == "silu"
    assert identify(f"{file}:prelu").parameters == {"slope": 0.3}
    for wrong in ("sum", "missing"):
        with pytest.raises(InvalidSubjectError, match=wrong):
            identify(f"{file}:{wrong}")
    done = run_here("identify", str(file))
    assert done.returncode == 1
    assert UNKNOWN in done.stdout
    assert f"softgate scan {file}" in done.stderr


def test_a_call_that_hangs_ends_at_the_time_limit(tmp_path: Path, run_here: Any) -> None:
    file = tmp_path / "slow.py"
    file.write_text("import time\n\ndef f(x):\n    time.sleep(1000)\n")
    result = run_here("identify", f"{file}:f", "--time-limit", "5")
    assert result.returncode == 1
    assert "hung: a call with" in result.stderr


def test_elu_without_expm1() -> None:
    """TensorFlow's is exp(x) - 1, whose error near 0 is absolute."""
    for alpha in (1.0, 0.5):

        def elu(x: Any, alpha: float = alpha) -> Any:
            return np.where(x > 0, x, np.float32(alpha) * (np.exp(np.minimum(x, 0)) - 1))

        answer = identify(elu)
        assert (answer.function, answer.parameters) == ("elu", {"alpha": alpha})
