"""Every name in names.toml, asked of every framework that is installed.

Frameworks run in processes of their own (probe_names.py) that know nothing of softgate. Their
answers are held to the data both ways: what a line claims is what is computed, and what the
framework has is in the data.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from places import SUPPORT

import softgate as sg
from softgate.runtime.name_table import SOURCES, Name, Names
from softgate.runtime.registry import functions

FRAMEWORKS = {
    "torch": ("torch",),
    "keras": ("keras", "tensorflow"),
    "tensorflow": ("tensorflow",),
    "jax": ("jax",),
    "huggingface": ("transformers", "torch"),
    "timm": ("timm", "torch"),
    "onnx": ("onnx", "onnxruntime"),
}
"""Every source and what has to be installed to ask it."""

PROCESSES = [["torch", "huggingface"], ["tensorflow", "keras"], ["jax"], ["timm"], ["onnx"]]
"""The sources that one process asks, for which it imports a framework once."""

POINTS = np.random.default_rng(1606_08415).permutation(np.arange(-192, 192) / 16)
"""[-12, 12) with all corners, exact in every format; in no order, for gates take one half each."""

TOLERANCE = {"float64": 1e-7, "float32": 2e-6}
"""Of |f| + 1. The two nearest functions here, gelu and gelu_tanh, are 1.5e-4 apart. TensorFlow
keeps some constants and slopes in float32 whatever x is: that is 3e-8."""

VALUES = {
    "alpha": (0.5, 1.75),
    "b": (1.0, 9.0),
    "beta": (0.5, 2.0),
    "high": (0.5, 3.0),
    "lower": (0.0625, 0.25),
    "low": (-3.0, -0.5),
    "slope": (0.0625, 0.5),
    "threshold": (0.25, 1.5),
    "upper": (0.5, 0.75),
    "value": (-2.0, 3.0),
    "width": (4.0, 8.0),
}
"""What each of softgate's parameters is tried with."""

ARITHMETIC = (
    "Abs|Acosh?|Add|Asinh?|Atanh?|Ceil|Cosh?|Div|Erf|Exp|Floor|Log|Mul|Neg|Pow|Reciprocal|Round|"
    "Sign|Sinh?|Sqrt|Sub|Tan"
)
NO_ACTIVATIONS = {
    r"torch\.nn\.MultiheadAttention": "a layer with weights",
    r"torch\.nn\.functional\.\w*dropout\w*": "random, in training only",
    r"keras\.layers\.Activation": "a layer around any activation",
    r"jax\.nn\.log1mexp": "defined where x > 0 only",
    r".*(N|n)ormali(z|s)\w+|.*RMSNorm\w*|jax\.nn\.standardize": "made of a whole axis",
    rf"ai\.onnx\.({ARITHMETIC})": "arithmetic",
    r"ai\.onnx\.(CastLike|OptionalGetElement|Squeeze|Transpose)": "the same numbers",
    r"com\.microsoft\.Q\w+": "on quantised numbers",
    r"com\.microsoft\.GemmFastGelu": "a product of matrices",
    r"com\.microsoft\.SampleOp": "an example for writers of operators",
}
"""What turns arrays into arrays and still is no activation, and why."""

CUDA_ONLY = ("com.microsoft.BiasSplitGelu",)
"""Operators that onnxruntime does not have on CPUs."""

Answer = dict[str, Any]


def calls_of(record: Name) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each spelling as it is, each of its parameters with some values, each of its forms."""
    if record.path in CUDA_ONLY:
        return
    defaults = functions()[record.function].parameters if record.function else {}
    required = {name: defaults[record.takes[name]] for name in record.required}
    for path in (record.path, *record.also):
        yield path, required
    for parameter, ours in record.takes.items():
        for value in VALUES[ours.rpartition(".")[2].removeprefix("1/")]:
            yield record.path, required | {parameter: 1 / value if ours.startswith("1/") else value}
    for parameter, forms in record.forms.items():
        for value, _ in forms:
            yield record.path, {parameter: None if value == "None" else value}


def request(records: Names) -> dict[str, Any]:
    calls = [
        {"path": path, "parameters": parameters}
        for record in records
        if record.implemented
        for path, parameters in calls_of(record)
    ]
    paths = [path for record in records for path in (record.path, *record.also)]
    return {"points": POINTS.tolist(), "calls": calls, "paths": paths}


def meant(record: Name, parameters: dict[str, Any]) -> Any:
    return sg.get(record.path, source=record.source, **parameters)


def expected(record: Name, parameters: dict[str, Any]) -> np.ndarray:
    return np.asarray(meant(record, parameters)(POINTS))


def distance(result: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to |f| + 1; inf where shapes differ or something is NaN."""
    if result.shape != wanted.shape:
        return np.inf
    largest = np.max(np.abs(result - wanted) / (1 + np.abs(wanted)))
    return float(largest) if np.isfinite(largest) else np.inf


def problems(records: Names, answer: Answer) -> list[str]:
    """All that is wrong with the data, in the light of what a framework answered."""
    return [
        *wrong_functions(records, answer),
        *wrong_parameters(records, answer),
        *missing_names(records, answer),
    ]


def wrong_functions(records: Names, answer: Answer) -> Iterator[str]:
    answers = iter(answer["calls"])
    for record in records:
        if not record.implemented:
            continue
        for path, parameters in calls_of(record):
            result = next(answers)
            if "error" in result:
                yield f"{path} with {parameters}: {result['error']}"
                continue
            off = distance(np.asarray(result["values"]), expected(record, parameters))
            if not off <= TOLERANCE[answer["dtype"]]:
                yield f"{path} with {parameters} is {off:.1e} off {meant(record, parameters)}"


def wrong_parameters(records: Names, answer: Answer) -> Iterator[str]:
    """Names that do not exist, parameters that a line says nothing of, versions that are not so."""
    for record in records:
        for path in (record.path, *record.also):
            if isinstance(answer["parameters"][path], str):
                yield f"{path} does not exist: {answer['parameters'][path]}"
        theirs = answer["parameters"][record.path]
        listed_parameters = {*record.takes, *record.forms, *record.ignores}
        listed_parameters |= {"dim", "axis"} if record.gated else set()
        if (
            record.implemented
            and not isinstance(theirs, str)
            and not listed_parameters >= set(theirs)
        ):
            yield f"{record.path} takes {sorted(set(theirs) - listed_parameters)}: not in the data"
        versions = answer["versions"][record.path]
        first = [6] if record.path == "ai.onnx.Selu" else versions[:1]
        if [record.since] != (first or [None]):
            yield f"{record.path} is said to be since {record.since}: there are {versions}"


def missing_names(records: Names, answer: Answer) -> Iterator[str]:
    known = {path for record in records for path in (record.path, *record.also)}
    # With _ at the end it is PyTorch's spelling of the same in place.
    for path in (path.removesuffix("_") for path in answer["present"]):
        if path not in known and not any(re.fullmatch(p, path) for p in NO_ACTIVATIONS):
            yield f"{path} is not in the data"


def is_installed(source: str) -> bool:
    return all(find_spec(package) for package in FRAMEWORKS[source])


@pytest.mark.parametrize("sources", PROCESSES, ids="-".join)
def test_the_data_is_what_the_framework_computes(sources: list[str]) -> None:
    installed = [source for source in sources if is_installed(source)]
    if not installed:
        reason = f"{sources[0]} is not installed" + " (it brings torchvision)" * ("timm" in sources)
        pytest.skip(reason)
    requests = {source: request(sg.names(source)) for source in installed}
    environment = dict(os.environ)
    if installed == ["jax"]:
        from xla_once import quick_flags

        environment |= quick_flags()
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "probe_names.py")], env=environment,
        input=json.dumps(requests), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    assert list(answers) == installed
    result = [line for source in answers for line in problems(sg.names(source), answers[source])]
    assert not result, "\n".join(result)


def test_every_source_is_asked() -> None:
    assert set(FRAMEWORKS) == set(SOURCES) - {"softgate"}
    assert sorted(source for sources in PROCESSES for source in sources) == sorted(FRAMEWORKS)


# The checks above, checked: a framework that answers as the data says, and then one that does not.


@cache
def obedient(source: str) -> Answer:
    """The answer of a framework that has what the data says and nothing else."""
    records = sg.names(source)
    values = [
        {"values": expected(record, parameters).tolist()}
        for record in records
        if record.implemented
        for _, parameters in calls_of(record)
    ]
    paths = [path for record in records for path in (record.path, *record.also)]
    return {
        "dtype": "float32",
        "calls": values,
        "parameters": {path: [] for path in paths},
        "versions": {r.path: [r.since] if r.since else [] for r in records},
        "present": paths,
    }


def altered(records: Names, name: str, **changes: Any) -> Names:
    """The records with one line changed."""
    assert any(record.name == name for record in records)
    return Names(tuple(replace(r, **changes) if r.name == name else r for r in records))


@pytest.mark.parametrize("source", FRAMEWORKS)
def test_a_framework_that_obeys_passes(source: str) -> None:
    assert problems(sg.names(source), obedient(source)) == []


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("gelu", {"function": "gelu_tanh", "forms": {}}),
        ("silu", {"function": "gelu_sigmoid"}),
        ("leaky_relu", {"parameters": {"slope": 0.2}}),
        ("leaky_relu", {"parameters": {"slope": 0.0101}}),
        ("softplus", {"function": "squareplus", "takes": {}, "forms": {}}),
    ],
)
def test_a_wrong_line_is_caught(
    name: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = Names(tuple(record for record in sg.names("torch") if record.name == name))
    answer = obedient("torch") | {"calls": [{"values": expected(truth[0], {}).tolist()}] * 9}
    wrong = altered(truth, name, **changes)
    monkeypatch.setattr("softgate.runtime.lookup.catalogue_of_names", lambda: wrong)
    assert any("off" in problem for problem in wrong_functions(wrong, answer))


def test_other_mistakes_are_caught() -> None:
    records, answer = sg.names("onnx"), obedient("onnx")
    path = "ai.onnx.Gelu"
    unheard = answer | {"present": [*answer["present"], "ai.onnx.Wavelu"]}
    assert problems(records, unheard) == ["ai.onnx.Wavelu is not in the data"]
    gone = answer | {"parameters": answer["parameters"] | {path: "AttributeError: gone"}}
    assert problems(records, gone) == [f"{path} does not exist: AttributeError: gone"]
    more = answer | {"parameters": answer["parameters"] | {path: ["approximate", "sharpness"]}}
    assert problems(records, more) == [f"{path} takes ['sharpness']: not in the data"]
    later = answer | {"versions": answer["versions"] | {path: [21]}}
    assert problems(records, later) == [f"{path} is said to be since 20: there are [21]"]
    broken = answer | {"calls": [{"error": "no kernel"}, *answer["calls"][1:]]}
    assert len(problems(records, broken)) == 1


SAME = ({"celu", "elu"}, {"relu", "prelu(slope=0)"}, {"xielu", "xielu(eps=-1e-06)"})
"""Nearly or wholly the same: with alpha = 1, with Keras' first slope, with a tiny eps."""


def test_no_two_meanings_are_near_each_other() -> None:
    """The tolerance is far below the distance of any two functions that names mean."""
    meanings = {r.computes: expected(r, {}) for r in sg.names() if r.implemented}
    for (first_name, a), (other, b) in combinations(meanings.items(), 2):
        if a.shape == b.shape and {first_name, other} not in SAME:
            assert distance(a, b) > 50 * TOLERANCE["float32"], (first_name, other)


# The data by itself.


def test_each_name_stands_once_in_its_source() -> None:
    spelled = [(record.source, record.name) for record in sg.names()]
    assert len(spelled) == len(set(spelled))


def test_functions_are_softgates() -> None:
    known = functions()
    for record in sg.names():
        named = [function for forms in record.forms.values() for _, function in forms]
        assert {*named, record.function} <= {*known, None}, record
        assert record.implemented == (record.function is not None), record
        assert record.implemented or record.note, record


def test_the_gate_of_bias_split_gelu_is_the_second_half() -> None:
    """onnxruntime's BiasSplitGelu computes x[:, :d]*gelu(x[:, d:]), its bias added before."""
    x = np.random.default_rng(2).standard_normal((3, 8))
    result = sg.get("com.microsoft.BiasSplitGelu")(x)
    assert np.allclose(result, x[:, :4] * sg.gelu(x[:, 4:]), rtol=1e-14)
    assert np.array_equal(result, sg.geglu(x, gate="second"))
    (record,) = sg.names(name="bias_split_gelu")
    assert record.computes == 'geglu(gate="second")'
    assert "geglu(a, b) = a*gelu(b)" in sg.emit("BiasSplitGelu", "c", quantity="value")


def test_only_functions_over_an_axis_are_not_implemented() -> None:
    for record in sg.names():
        assert record.implemented or re.search("axis|channels of an image", record.note), record


def test_every_activation_is_called_so_in_softgate() -> None:
    for name, activation in functions().items():
        for alias in (name, *activation.entry.aliases):
            assert sg.get(alias, source="softgate") is activation
