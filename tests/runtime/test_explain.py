"""`explain` describes the code that runs for a call."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import pytest

import softgate as sg


@pytest.mark.parametrize(
    ("x", "keywords", "phrases"),
    [
        (np.zeros(4, np.float32), {}, ["the float32 kernel;", "input not copied", "1 thread"]),
        (np.zeros(4), {}, ["the float64 kernel;"]),
        (np.zeros(4, np.float32), {"arithmetic": "float64"}, ["float64 kernel, rounded once"]),
        (np.zeros(4, np.float32), {"quantity": "curvature"}, ["float64 kernel, rounded once"]),
        (np.zeros(4, np.float16), {}, ["a table of the 65,536 float16 results"]),
        (np.zeros(4, ml_dtypes.bfloat16), {"quantity": "backward"}, ["bfloat16 slopes in float32"]),
        (np.zeros(4, np.float16), {"activation": "relu"}, ["the float32 kernel, rounded once"]),
        (np.zeros((4, 4))[:, ::2], {}, ["copied in blocks: not contiguous"]),
        (np.zeros(4, ">f8"), {}, ["converted to float64 first"]),
        (np.zeros(33, np.uint8)[1:].view(np.float64), {}, ["copied in blocks: not aligned"]),
        ([1, 2], {}, ["float64[2]"]),
        (pd.Series([1.0, 2.0]), {}, ["gelu of float64[2]", "called by the Series"]),
        (np.zeros((4, 2)), {"activation": "prelu", "slope": np.ones(2)}, ["slope per element"]),
        (
            np.zeros(4, np.float16),
            {"activation": "elu", "alpha": np.ones(4)},
            ["correctly rounded"],
        ),
    ],
)
def test_paths(x: Any, keywords: dict[str, Any], phrases: list[str]) -> None:
    text = str(sg.explain(x, **keywords))
    for phrase in phrases:
        assert phrase in text


@pytest.mark.usefixtures("all_threads")
def test_threads_and_in_place() -> None:
    x = np.zeros(1 << 22, np.float32)
    explanation = sg.explain(x, sg.gelu, out=x)
    assert explanation.threads == 4
    assert explanation.memory == "in place"
    assert "up to 4 threads" in str(explanation)


def test_memory_is_what_happens() -> None:
    x = np.zeros(9, np.float32)
    for arguments, phrase in [
        ({"x": x[:4], "out": x[1:5]}, "copied first: it overlaps out"),
        (
            {"x": x[:4], "out": np.zeros(8, np.float32)[::2]},
            "copied in blocks: not contiguous",
        ),
        ({"x": x, "out": x.view()}, "in place"),
        ({"x": [1.0]}, "converted to an array first"),
        ({"x": np.arange(3)}, "converted to float64 first"),
        ({"x": np.zeros((2, 3)), "out": np.zeros((3, 2)).T}, "copied in blocks: not contiguous"),
        ({"x": x, "out": np.zeros(9)}, "result converted to out in blocks"),
    ]:
        assert phrase in sg.explain(arguments["x"], out=arguments.get("out")).memory
    with pytest.raises(TypeError, match="out is a str"):
        sg.explain(x, out="nonsense")
    with pytest.raises(TypeError, match="activation is an int"):
        sg.explain(x, 3)  # type: ignore[arg-type]


A = np.zeros((300, 400), np.float32)


@pytest.mark.parametrize(
    ("x", "keywords", "phrases"),
    [
        ((A, A + 1), {}, ["swiglu of float32[300, 400]: the float32 kernel; input not copied;"]),
        (A, {}, ["float32[300, 400]", "input not copied, row by row"]),
        (A.T, {}, ["input not copied;"]),
        (A[:, :2].copy(), {}, ["copied in blocks: not contiguous"]),
        ((A, A[:, :1]), {}, ["copied in blocks: broadcast, row by row"]),
        ((A, 2.0), {"arithmetic": "float64"}, ["the float64 kernel, rounded once to float32"]),
        ((A[:, ::2], A[:, ::2]), {}, ["copied in blocks: not contiguous"]),
        ((A, A + 1), {"out": A}, ["in place"]),
        (
            A.astype(np.float16),
            {"quantity": "backward"},
            ["swiglu.backward", "rounded once to float16"],
        ),
        (
            A,
            {"quantity": "curvature", "axis": 0, "gate": "second"},
            ["swiglu.curvature", "float64"],
        ),
        (A, {"beta": 1e-40}, ["the float64 kernel"]),
    ],
)
def test_paths_of_gated(x: Any, keywords: dict[str, Any], phrases: list[str]) -> None:
    for function in ("swiglu", sg.swiglu):
        text = str(sg.explain(x, function, **keywords))
        for phrase in phrases:
            assert phrase in text


def test_wrong_questions_about_gated() -> None:
    with pytest.raises(ValueError, match=r"unknown name 'swigl'; did you mean 'swiglu'"):
        sg.explain(A, "swigl")
    with pytest.raises(ValueError, match="unknown quantity 'area'"):
        sg.explain(A, "swiglu", quantity="area")
    with pytest.raises(TypeError, match="no parameter 'gamma'"):
        sg.explain(A, "swiglu", gamma=1.0)
    with pytest.raises(TypeError, match="with two operands"):
        sg.explain((A, A), "swiglu", axis=0)
    with pytest.raises(ValueError, match="odd length"):
        sg.explain(A[:, :3], "swiglu")


def test_wrong_questions() -> None:
    with pytest.raises(ValueError, match="unknown name 'gleu'; did you mean 'glu'"):
        sg.explain([1.0], "gleu")
    with pytest.raises(ValueError, match="unknown quantity 'area': choose from value"):
        sg.explain([1.0], "relu", quantity="area")
    with pytest.raises(TypeError, match="expected"):
        sg.explain("text", "relu")
